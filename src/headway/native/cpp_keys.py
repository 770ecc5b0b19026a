"""Keys of joins, groups and the like as C++ structs: compared as SQL compares keys, hashed, and
saved column by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headway.model.schema import DataType
from headway.native.cpp_names import Names
from headway.native.cpp_text import listed
from headway.native.cpp_types import OWN_MEMBERS, RowColumn, RowStruct, ValueType


@dataclass(frozen=True)
class KeyStruct:
    """The struct of a key; its columns are in the order of the query's."""

    name: str
    columns: tuple[RowColumn, ...]

    def lines(self) -> list[str]:
        members = [column.member for column in self.columns]
        other = "other" if members else "/*other*/"
        tests = [f"headway::key_equal({member}, other.{member})" for member in members]
        hashed = "headway::KEY_HASH_START"
        for member in members:
            hashed = f"headway::key_hash({hashed}, {member})"
        lines = [f"struct {self.name} {{"]
        lines += [f"  {column.cpp} {column.member};" for column in self.columns]
        if members:
            lines.append("")
        lines += [f"  std::uint64_t hash() const {{ return {hashed}; }}"]
        if len(lines[-1]) > 100:
            lines[-1:] = ["  std::uint64_t hash() const {", *_steps(members), "  }"]
        lines += [f"  bool operator==(const {self.name}& {other}) const {{"]
        lines += _and(tests)
        lines += ["  }"]
        if members:
            lines += each_lines(members)
        return [*lines, "};"]

    def fill(self, row: RowStruct, columns: Sequence[str], key: str, given: str) -> list[str]:
        """Statements that make the key of a row, equal keys as equal values."""
        parts = []
        for column, name in zip(self.columns, columns, strict=True):
            source = row.column(name)
            place = f"{given}.{source.member}"
            if source.type != column.type:
                room = column.type.length
                place = f"headway::maybe_text<{room}>({place}.known, {place}.value.view())"
            parts.append(f"headway::key_value({place})")
        return listed(f"{key} = {{", parts, "};", indent=4)


def _steps(members: Sequence[str]) -> list[str]:
    return [
        "    std::uint64_t hash = headway::KEY_HASH_START;",
        *(f"    hash = headway::key_hash(hash, {member});" for member in members),
        "    return hash;",
    ]


def _and(tests: Sequence[str]) -> list[str]:
    if not tests:
        return ["    return true;"]
    joined = " &&\n           ".join(tests)
    return f"    return {joined};".splitlines()


def each_lines(members: Sequence[str], indent: int = 2) -> list[str]:
    """The member by which a snapshot finds the parts of a struct."""
    space = " " * indent
    visits = f" &&\n{2 * space}       ".join(f"visit(self.{member})" for member in members)
    return [
        f"{space}template <class Self, class Visit>",
        f"{space}static bool each(Self& self, Visit& visit) {{",
        *f"{2 * space}return {visits};".splitlines(),
        f"{space}}}",
    ]


def key_struct(name: str, sides: Sequence[tuple[RowStruct, Sequence[str]]]) -> KeyStruct:
    """The key of rows of one or two layouts, named as in the first; a text has room for the longest
    of them."""
    names = sides[0][1]
    taken = Names([name, *OWN_MEMBERS])
    columns = []
    for place, column_name in enumerate(names):
        found = [row.column(columns_of[place]) for row, columns_of in sides]
        kind = found[0].type
        if kind.type is DataType.STRING:
            kind = ValueType(kind.type, max(one.type.length for one in found))
        columns.append(RowColumn(column_name, taken.take(found[0].member), kind))
    return KeyStruct(name, tuple(columns))
