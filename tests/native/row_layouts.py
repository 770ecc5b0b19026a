"""Layouts of row structs as a C++ compiler makes them, for tests that have none at hand."""

from __future__ import annotations

from headway.model.schema import DataType, Field, Schema
from headway.native.arrow_rows import ColumnLayout, RowLayout

SIZES = {
    DataType.BOOLEAN: 1,
    DataType.INT: 4,
    DataType.BIGINT: 8,
    DataType.TIMESTAMP: 8,
    DataType.FLOAT: 4,
    DataType.DOUBLE: 8,
}
UNDECLARED = 128


def layout_of(schema: Schema) -> RowLayout:
    """Of ``struct { int64_t timestamp; Maybe<T> ...; }``."""
    columns = [ColumnLayout(DataType.TIMESTAMP, 0, None)]
    end = 8
    for field in schema.fields:
        size, alignment, capacity = _of_value(field)
        offset = _up(end, alignment)
        columns.append(ColumnLayout(field.type, offset, offset + size, capacity))
        end = offset + _up(size + 1, alignment)
    return RowLayout(_up(end, 8), tuple(columns))


def _of_value(field: Field) -> tuple[int, int, int]:
    if field.type is DataType.STRING:
        capacity = UNDECLARED if field.length is None else field.length
        return _up(2 + capacity, 2), 2, capacity
    return SIZES[field.type], SIZES[field.type], 0


def _up(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment
