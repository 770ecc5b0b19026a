"""Types of columns and schemas of streams.

Every tuple carries a sensing time in the column ``timestamp`` (the paper's t_p). It is part of
every stream and never declared. Any other column may be NULL, as in SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from headway.model.names import Name

TIMESTAMP_COLUMN = "timestamp"
ARRIVAL_COLUMN = "arrived_at"
VEHICLE_COLUMN = "vehicle"
RESERVED_COLUMNS = frozenset(
    {TIMESTAMP_COLUMN, ARRIVAL_COLUMN, VEHICLE_COLUMN, "window_start", "window_end"}
)


class DataType(StrEnum):
    """SQL types that both engines share, under Spark's names."""

    BOOLEAN = "boolean"
    INT = "int"
    BIGINT = "bigint"
    FLOAT = "float"
    DOUBLE = "double"
    STRING = "string"
    TIMESTAMP = "timestamp"

    @property
    def is_numeric(self) -> bool:
        return self in _NUMERIC_WIDTH

    @property
    def is_integral(self) -> bool:
        return self in (DataType.INT, DataType.BIGINT)


_NUMERIC_WIDTH = {DataType.INT: 0, DataType.BIGINT: 1, DataType.FLOAT: 2, DataType.DOUBLE: 3}
_BYTES = {
    DataType.BOOLEAN: 1,
    DataType.INT: 4,
    DataType.BIGINT: 8,
    DataType.FLOAT: 4,
    DataType.DOUBLE: 8,
    DataType.TIMESTAMP: 8,
}
DEFAULT_STRING_BYTES = 32
_TYPE_NAMES = frozenset(kind.value for kind in DataType)

_FIELD_TYPE = re.compile(
    r"\s*(?P<type>[a-z]+)\s*(?:\(\s*(?P<length>\d{1,5})\s*\))?\s*(?:\[(?P<unit>[^\[\]]{1,20})\])?\s*"
)
FIELD_FORM = (
    "a type (boolean, int, bigint, float, double, string(N), timestamp) "
    "and, where it has one, a unit in brackets, such as 'double [m/s]'"
)


def wider(left: DataType, right: DataType) -> DataType:
    """The numeric type that holds both, as Spark widens: an integer and a float give a double."""
    if DataType.FLOAT in (left, right) and (left.is_integral or right.is_integral):
        return DataType.DOUBLE
    return max(left, right, key=_NUMERIC_WIDTH.__getitem__)


@dataclass(frozen=True, slots=True)
class Field:
    """A column: its name, its type, its unit of measure and, for a string, its longest length."""

    name: Name
    type: DataType
    unit: str | None = None
    length: int | None = None

    @property
    def size_bytes(self) -> int:
        """Bytes on the wire, at most."""
        if self.type is DataType.STRING:
            return DEFAULT_STRING_BYTES if self.length is None else self.length
        return _BYTES[self.type]

    def describe(self) -> str:
        """The form :func:`parse_field` reads."""
        length = f"({self.length})" if self.length is not None else ""
        unit = f" [{self.unit}]" if self.unit else ""
        return f"{self.type.value}{length}{unit}"

    def same_shape(self, other: Field) -> bool:
        """Whether tuples of both may share a stream (string lengths may differ)."""
        return (self.name, self.type, self.unit) == (other.name, other.type, other.unit)


def parse_field(name: str, text: str) -> Field:
    """``parse_field('speed', 'double [m/s]')``; ValueError when the text is no field."""
    match = _FIELD_TYPE.fullmatch(text)
    if match is None or match["type"] not in _TYPE_NAMES:
        raise ValueError(f"{text!r} is not the type of a column: write {FIELD_FORM}")
    data_type = DataType(match["type"])
    length = int(match["length"]) if match["length"] else None
    if length is not None and data_type is not DataType.STRING:
        raise ValueError(f"{text!r}: only a string has a length")
    return Field(name, data_type, match["unit"], length)


@dataclass(frozen=True, slots=True)
class Schema:
    """The declared columns of a stream; ``timestamp`` is there besides them, always."""

    fields: tuple[Field, ...]

    @property
    def columns(self) -> tuple[Field, ...]:
        """All columns, the sensing time first."""
        return (Field(TIMESTAMP_COLUMN, DataType.TIMESTAMP), *self.fields)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    @property
    def size_bytes(self) -> int:
        """Bytes of one tuple on a bus."""
        return sum(field.size_bytes for field in self.columns)

    def find(self, name: str) -> Field | None:
        """The column of that name, ``timestamp`` included."""
        return next((field for field in self.columns if field.name == name), None)

    def same_shape(self, other: Schema) -> bool:
        return len(self.fields) == len(other.fields) and all(
            mine.same_shape(theirs) for mine, theirs in zip(self.fields, other.fields, strict=True)
        )

    def describe(self) -> str:
        return ", ".join(f"{field.name} {field.describe()}" for field in self.fields)


def schema(columns: Mapping[str, str] | Iterable[Field] = (), /, **more: str) -> Schema:
    """``schema(speed='double [m/s]', id='int')``: a schema from columns' textual types."""
    if isinstance(columns, Mapping):
        fields = [parse_field(name, text) for name, text in columns.items()]
    else:
        fields = list(columns)
    fields += [parse_field(name, text) for name, text in more.items()]
    return Schema(tuple(fields))
