"""Streams as Parquet: read piece by piece, written with the schema's own types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from headway.errors import DataError, Place
from headway.model.schema import ARRIVAL_COLUMN, VEHICLE_COLUMN, DataType, Field, Schema
from headway.model.user_operator import Row
from headway.sources import source_records

# ---------------------------------------------------------------- reading

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
NOT_PARQUET = "cannot be read as Parquet (is the file complete?)"


class ParquetFormat(source_records.RecordingFormat):
    """See :func:`read_parquet`."""

    name = "parquet"
    summary = "Apache Parquet"

    def read(self, path: Path, schema: Schema) -> Iterator[source_records.Record]:
        return read_parquet(path, schema)


def read_parquet(path: Path, schema: Schema) -> Iterator[source_records.Record]:
    """The rows of the file as they stand; its columns and their types are checked at once.

    A column may be narrower than its field (an int for a double). Times may have any unit and zone
    (none: UTC), or be whole microseconds; none may be finer than a microsecond.
    """
    file, fields = open_parquet(path, schema)
    batches = _batches(path, file, [field.name for field in fields])
    return batch_records(path, batches, fields, len(schema.columns))


def read_parquet_columns(path: Path, schema: Schema) -> dict[str, Any]:
    """All columns of the file that a stream has, whole, as Arrow arrays of the fields' own types;
    times are whole microseconds. The same checks as in :func:`read_parquet`."""
    file, fields = open_parquet(path, schema)
    try:
        with file:
            table = file.read([field.name for field in fields])
    except (pa.ArrowException, OSError) as error:
        raise source_records.unreadable(path, error, NOT_PARQUET) from None
    return {
        field.name: _of_its_type(path, table.column(field.name), field).combine_chunks()
        for field in fields
    }


def open_parquet(
    path: Path | str, schema: Schema, content: BinaryIO | None = None
) -> tuple[Any, list[Field]]:
    """The file of pyarrow, and the columns of it that a stream has; their types are checked.
    ``content`` is read where ``path`` is only what messages call it."""
    try:
        file = pq.ParquetFile(path if content is None else content)
    except (pa.ArrowException, OSError) as error:
        raise source_records.unreadable(path, error, NOT_PARQUET) from None
    there = {column.name: column.type for column in file.schema_arrow}
    fields = source_records.wanted_fields(path, schema, file.schema_arrow.names)
    if wrong := [field for field in fields if not _fits(there[field.name], field.type)]:
        raise source_records.wrong_types(path, wrong, there)
    return file, fields


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


def batch_records(
    path: Path | str, batches: Iterable[Any], fields: list[Field], width: int
) -> Iterator[source_records.Record]:
    """The tuples of Arrow's record batches; the first ``width`` of the fields are the schema's."""
    names = [field.name for field in fields]
    arrival = names.index(ARRIVAL_COLUMN) if ARRIVAL_COLUMN in names else 0
    vehicle = names.index(VEHICLE_COLUMN) if VEHICLE_COLUMN in names else None
    number = 0
    for batch in batches:
        columns = [_values(path, batch.column(field.name), field) for field in fields]
        rows = zip(*columns[:width], strict=True)
        nobody: list[Any] = [None] * len(batch)
        owners = nobody if vehicle is None else columns[vehicle]
        for row, arrived_at, owner in zip(rows, columns[arrival], owners, strict=True):
            number += 1
            if arrived_at is None:
                raise source_records.unknown_arrival(path, number)
            yield source_records.Record(arrived_at, owner, row, number)


def _batches(path: Path, file: Any, columns: list[str]) -> Iterator[Any]:
    try:
        with file:
            yield from file.iter_batches(batch_size=BATCH_ROWS, columns=columns)
    except (pa.ArrowException, OSError) as error:
        raise source_records.unreadable(path, error, NOT_PARQUET) from None


def _of_its_type(path: Path | str, column: Any, field: Field) -> Any:
    """A column in its field's type, times as microseconds."""
    target = ARROW_TYPES[field.type]
    try:
        if field.type is DataType.TIMESTAMP:
            target = pa.int64()
            if pa.types.is_timestamp(column.type):
                column = column.cast(pa.timestamp("us", tz=column.type.tz))
        return column.cast(target)
    except pa.ArrowInvalid as error:
        raise source_records.not_fitting(path, field, error) from None


def _values(path: Path | str, column: Any, field: Field) -> list[Any]:
    """A column's values as Python's own, times as microseconds."""
    column = _of_its_type(path, column, field)
    if column.null_count or field.type is DataType.STRING:
        values: list[Any] = column.to_pylist()
    else:
        values = column.to_numpy(zero_copy_only=False).tolist()
    return values


# ---------------------------------------------------------------- writing


def arrow_schema(fields: list[Field]) -> Any:
    """The same columns for Arrow."""
    return pa.schema([(field.name, ARROW_TYPES[field.type]) for field in fields])


class StreamWriter:
    """Writes one stream; the file appears under its name when it is complete.

    ``arrival`` and ``vehicle`` say whether those columns are written besides the schema's.
    """

    def __init__(
        self, path: Path, schema: Schema, *, arrival: bool = True, vehicle: bool = False
    ) -> None:
        self._path = path
        self._part = path.with_name(path.name + ".part")
        extras = [source_records.ARRIVAL_FIELD] * arrival + [source_records.VEHICLE_FIELD] * vehicle
        self._extras = [field.name for field in extras]
        self._fields = [*schema.columns, *extras]
        self._schema = arrow_schema(self._fields)
        self._rows: list[Row] = []
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = pq.ParquetWriter(self._part, self._schema)
        except OSError as error:
            raise source_records.unreadable(path, error, "cannot be written") from None

    def write(self, row: Row, arrived_at: int | None = None, vehicle: str | None = None) -> None:
        extra = {ARRIVAL_COLUMN: arrived_at, VEHICLE_COLUMN: vehicle}
        self._rows.append((*row, *(extra[name] for name in self._extras)))
        if len(self._rows) >= BATCH_ROWS:
            self._flush()

    def _flush(self) -> None:
        if not self._rows:
            return
        columns = zip(*self._rows, strict=True)
        arrays = [
            self._array(list(values), field)
            for values, field in zip(columns, self._fields, strict=True)
        ]
        self._rows = []
        try:
            self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))
        except OSError as error:
            raise source_records.unreadable(self._path, error, "cannot be written") from None

    def _array(self, values: list[Any], field: Field) -> Any:
        try:
            return pa.array(values, ARROW_TYPES[field.type])
        except (pa.ArrowException, OverflowError, UnicodeError) as error:
            raise DataError(
                f"a value is not of its column's type: {error}",
                place=Place(str(self._path)),
                at=field.name,
                want=f"want {field.describe()}",
            ) from None

    def close(self) -> None:
        """Completes the file."""
        self._flush()
        try:
            self._writer.close()
            self._part.replace(self._path)
        except OSError as error:
            raise source_records.unreadable(self._path, error, "cannot be written") from None

    def __enter__(self) -> StreamWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self.close()
        finally:
            with suppress(OSError):  # a full disk has been told
                self._writer.close()
            self._part.unlink(missing_ok=True)
