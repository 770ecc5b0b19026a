"""C++ types of columns, and the structs that rows are in native code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headway.errors import UnsupportedError
from headway.model.schema import TIMESTAMP_COLUMN, DataType, Field, Schema
from headway.native.cpp_names import Names

UNDECLARED_STRING_BYTES = 128
"""room for a string whose length the query does not declare"""
LONGEST_STRING_BYTES = 65_535
"""room that a headway::Text can have"""

OWN_MEMBERS = ("each", "hash", "other", "self", "visit")
"""what structs of rows and keys call their functions and parameters: no column may"""

_SCALARS = {
    DataType.BOOLEAN: "bool",
    DataType.INT: "std::int32_t",
    DataType.BIGINT: "std::int64_t",
    DataType.FLOAT: "float",
    DataType.DOUBLE: "double",
    DataType.TIMESTAMP: "std::int64_t",
}


@dataclass(frozen=True, slots=True)
class ValueType:
    """A type of the query and, for a string, its longest length in bytes."""

    type: DataType
    length: int = 0

    @property
    def cpp(self) -> str:
        return cpp_type(self.type, self.length)

    @property
    def maybe(self) -> str:
        """The type of a column that may be NULL."""
        return f"headway::Maybe<{self.cpp}>"


def cpp_type(kind: DataType, length: int | None = None) -> str:
    """``double``, ``headway::Text<20>``, …; a string without a length gets the usual room."""
    if kind is not DataType.STRING:
        return _SCALARS[kind]
    return f"headway::Text<{text_room(UNDECLARED_STRING_BYTES if length is None else length)}>"


def text_room(length: int) -> int:
    """The room of a text of so many bytes; UnsupportedError where there cannot be so much."""
    if length > LONGEST_STRING_BYTES:
        raise UnsupportedError(
            f"native code holds strings of at most {LONGEST_STRING_BYTES} bytes",
            got=f"one of up to {length}",
            want="declare shorter columns, as in string(20)",
        )
    return max(length, 1)


def local_type(kind: DataType) -> str:
    """The type of a value while it is computed: strings are seen where they lie, not copied."""
    return "std::string_view" if kind is DataType.STRING else _SCALARS[kind]


def value_type(field: Field) -> ValueType:
    """The type of a declared column."""
    if field.type is not DataType.STRING:
        return ValueType(field.type)
    return ValueType(
        field.type, UNDECLARED_STRING_BYTES if field.length is None else text_room(field.length)
    )


@dataclass(frozen=True, slots=True)
class RowColumn:
    """A column of a row: its name in the query, its member in the struct, and its type."""

    name: str
    member: str
    type: ValueType

    @property
    def nullable(self) -> bool:
        return self.name != TIMESTAMP_COLUMN

    @property
    def cpp(self) -> str:
        return self.type.maybe if self.nullable else self.type.cpp


@dataclass(frozen=True, slots=True)
class RowStruct:
    """The struct of a stream's rows, the timestamp first."""

    name: str
    columns: tuple[RowColumn, ...]

    def column(self, name: str) -> RowColumn:
        return next(column for column in self.columns if column.name == name)

    @property
    def lengths(self) -> dict[str, int]:
        """The room of its strings."""
        return {
            column.name: column.type.length
            for column in self.columns
            if column.type.type is DataType.STRING
        }

    def declaration(self) -> str:
        """The text of the struct."""
        members = [f"    {column.cpp} {column.member};" for column in self.columns]
        return "\n".join([f"struct {self.name} {{", *members, "};"])


def row_struct(name: str, schema: Schema, lengths: Mapping[str, int] | None = None) -> RowStruct:
    """The struct of a schema. ``name`` is the C++ name of the type; ``lengths`` says how long
    computed strings can be, where that is known."""
    return columns_struct(name, schema.columns, lengths)


def columns_struct(
    name: str, fields: Iterable[Field], lengths: Mapping[str, int] | None = None
) -> RowStruct:
    """The struct of these columns alone."""
    names = Names([name, *OWN_MEMBERS])
    known = lengths or {}
    columns = []
    for field in fields:
        kind = value_type(field)
        if field.type is DataType.STRING and field.name in known:
            kind = ValueType(field.type, text_room(known[field.name]))
        columns.append(RowColumn(field.name, names.take(field.name), kind))
    return RowStruct(name, tuple(columns))
