"""Parquet, read piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headway.errors import DataError, Place, Problem
from headway.model.schema import ARRIVAL_COLUMN, VEHICLE_COLUMN, DataType, Field, Schema
from headway.sources.record import Record, unknown_arrival, unreadable, wanted_fields

BATCH_ROWS = 8192
ARROW_TYPES = {
    DataType.BOOLEAN: pa.bool_(),
    DataType.INT: pa.int32(),
    DataType.BIGINT: pa.int64(),
    DataType.FLOAT: pa.float32(),
    DataType.DOUBLE: pa.float64(),
    DataType.STRING: pa.string(),
    DataType.TIMESTAMP: pa.timestamp("us", tz="UTC"),
}
_NOT_PARQUET = "cannot be read as Parquet (is the file complete?)"


def read_parquet(path: Path, schema: Schema) -> Iterator[Record]:
    """The rows of the file as they stand; its columns and their types are checked at once.

    A column may be narrower than its field (an int for a double). Times may have any unit and zone
    (none: UTC), or be whole microseconds; none may be finer than a microsecond.
    """
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise unreadable(path, error, _NOT_PARQUET) from None
    there = {column.name: column.type for column in file.schema_arrow}
    fields = wanted_fields(path, schema, there)
    wrong = [field for field in fields if not _fits(there[field.name], field.type)]
    if wrong:
        raise DataError(
            Problem(
                "a column has the wrong type",
                place=Place(str(path)),
                at=field.name,
                got=str(there[field.name]),
                want=f"want {field.describe()}",
            )
            for field in wrong
        )
    return _records(path, file, fields, len(schema.columns))


def _fits(kind: Any, wanted: DataType) -> bool:
    """Whether every value of an Arrow type is one of ours (a time's fineness shows later)."""
    types = pa.types
    if types.is_null(kind):
        return True
    if types.is_dictionary(kind):
        kind = kind.value_type
    whole = bool(types.is_integer(kind))
    match wanted:
        case DataType.BOOLEAN:
            return bool(types.is_boolean(kind))
        case DataType.INT:
            return whole and (kind.bit_width < 32 or kind == pa.int32())
        case DataType.BIGINT:
            return whole and kind != pa.uint64()
        case DataType.FLOAT:
            return (whole and kind.bit_width <= 16) or kind in (pa.float16(), pa.float32())
        case DataType.DOUBLE:
            return (whole and kind.bit_width <= 32) or bool(types.is_floating(kind))
        case DataType.STRING:
            return kind in (pa.string(), pa.large_string(), pa.string_view())
        case DataType.TIMESTAMP:
            return bool(types.is_timestamp(kind)) or kind == pa.int64()


def _records(path: Path, file: Any, fields: list[Field], width: int) -> Iterator[Record]:
    names = [field.name for field in fields]
    arrival = names.index(ARRIVAL_COLUMN) if ARRIVAL_COLUMN in names else 0
    vehicle = names.index(VEHICLE_COLUMN) if VEHICLE_COLUMN in names else None
    number = 0
    for batch in _batches(path, file, names):
        columns = [_values(path, batch.column(field.name), field) for field in fields]
        rows = zip(*columns[:width], strict=True)
        nobody: list[Any] = [None] * len(batch)
        owners = nobody if vehicle is None else columns[vehicle]
        for row, arrived_at, owner in zip(rows, columns[arrival], owners, strict=True):
            number += 1
            if arrived_at is None:
                raise unknown_arrival(path, number)
            yield Record(arrived_at, owner, row, number)


def _batches(path: Path, file: Any, columns: list[str]) -> Iterator[Any]:
    try:
        with file:
            yield from file.iter_batches(batch_size=BATCH_ROWS, columns=columns)
    except (pa.ArrowException, OSError) as error:
        raise unreadable(path, error, _NOT_PARQUET) from None


def _values(path: Path, column: Any, field: Field) -> list[Any]:
    """A column's values as Python's own, times as microseconds."""
    target = ARROW_TYPES[field.type]
    try:
        if field.type is DataType.TIMESTAMP:
            target = pa.int64()
            if pa.types.is_timestamp(column.type):
                column = column.cast(pa.timestamp("us", tz=column.type.tz))
        column = column.cast(target)
    except pa.ArrowInvalid as error:
        raise DataError(
            Problem(
                f"a value does not fit its column: {error}",
                place=Place(str(path)),
                at=field.name,
                want=f"want {field.describe()}",
            )
        ) from None
    if column.null_count or field.type is DataType.STRING:
        values: list[Any] = column.to_pylist()
    else:
        values = column.to_numpy(zero_copy_only=False).tolist()
    return values
