"""C++ as text: literals, tables and lines of at most 100 columns, laid out as clang-format would in
Google's style."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from headway.native.cpp_body import folded
from headway.native.cpp_names import identifier, string_literal

COLUMNS = 100
"""the longest line"""


def quoted(text: str) -> str:
    """A C++ string literal."""
    return string_literal(text)


def number(value: int) -> str:
    """A whole number as a constant of 64 bits; long ones with marks between thousands."""
    if value == -(1 << 63):
        return "INT64_MIN"
    return f"{value:_}".replace("_", "'")


def truth(value: bool) -> str:
    return "true" if value else "false"


def listed(opening: str, items: Sequence[str], closing: str, *, indent: int = 0) -> list[str]:
    """``opening a, b, c closing`` on one line if it fits, else the items after each other, filled
    up to the right border."""
    space = " " * indent
    whole = f"{space}{opening}{', '.join(items)}{closing}"
    if len(whole) <= COLUMNS and "\n" not in whole:
        return [whole]
    lines = [f"{space}{opening}"]
    line = ""
    for place, item in enumerate(items):
        part = item if place + 1 == len(items) else f"{item},"
        if line and len(line) + 1 + len(part) > COLUMNS:
            lines.append(line)
            line = ""
        line = f"{line} {part}" if line else f"{space}    {part}"
    # The closing bracket stands behind the last item, as clang-format has it.
    if len(line) + len(closing) > COLUMNS:
        lines.append(line)
        line = f"{space}   "
    return [*lines, line + closing]


@dataclass(slots=True)
class Fields:
    """The value of a struct, field by field: ``{/*name=*/value, …}``."""

    values: list[tuple[str, str]] = field(default_factory=list)

    def lines(self, *, indent: int, end: str = ",") -> list[str]:
        space = " " * indent
        named = [f"/*{name}=*/{value}" for name, value in self.values]
        whole = f"{space}{{{', '.join(named)}}}{end}"
        if len(whole) <= COLUMNS and len(named) <= 4:
            return [whole]
        inner = [line for one in named for line in folded(f"{one},", indent + 4)]
        return [f"{space}{{", *inner, f"{space}}}{end}"]


def fields(**values: str) -> Fields:
    """In the order of the struct's fields."""
    return Fields(list(values.items()))


class Constants:
    """Parts of the names of tables, in capitals: of two names that would be alike, one gets a
    number. The same name gives the same part again."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}

    def __call__(self, name: str) -> str:
        if name not in self._given:
            base = unused = constant_name(name)
            count, taken = 1, set(self._given.values())
            while unused in taken:
                count += 1
                unused = f"{base}_{count}"
            self._given[name] = unused
        return self._given[name]


def constant_name(name: str) -> str:
    """A name of the query in capitals; not unlike that of every other (see
    :class:`Constants`)."""
    return identifier(name).strip("_").upper()


def table(kind: str, name: str, rows: Iterable[Fields | str]) -> list[str]:
    """A constant array; nothing where there are no rows."""
    found = list(rows)
    if not found:
        return []
    texts = [row for row in found if isinstance(row, str)]
    if len(texts) == len(found):
        return listed(f"constexpr {kind} {name}[] = {{", texts, "};")
    lines = [f"constexpr {kind} {name}[] = {{"]
    for row in found:
        lines += row.lines(indent=4) if isinstance(row, Fields) else [f"    {row},"]
    return [*lines, "};"]


def span_of(name: str, count: int) -> str:
    """A view of such an array, or of none."""
    return f"headway::span({name})" if count else "{}"
