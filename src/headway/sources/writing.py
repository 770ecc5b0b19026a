"""Writes streams as Parquet, with the schema's own types."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headway.errors import DataError, Place, Problem
from headway.model.schema import ARRIVAL_COLUMN, VEHICLE_COLUMN, Field, Schema
from headway.model.user_operator import Row
from headway.sources.parquet_file import ARROW_TYPES, BATCH_ROWS
from headway.sources.record import ARRIVAL_FIELD, VEHICLE_FIELD, unreadable


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
        extras = [ARRIVAL_FIELD] * arrival + [VEHICLE_FIELD] * vehicle
        self._extras = [field.name for field in extras]
        self._fields = [*schema.columns, *extras]
        self._schema = arrow_schema(self._fields)
        self._rows: list[Row] = []
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = pq.ParquetWriter(self._part, self._schema)
        except OSError as error:
            raise unreadable(path, error, "cannot be written") from None

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
        self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))

    def _array(self, values: list[Any], field: Field) -> Any:
        try:
            return pa.array(values, ARROW_TYPES[field.type])
        except (pa.ArrowException, OverflowError, UnicodeError) as error:
            raise DataError(
                Problem(
                    f"a value is not of its column's type: {error}",
                    place=Place(str(self._path)),
                    at=field.name,
                    want=f"want {field.describe()}",
                )
            ) from None

    def close(self) -> None:
        """Completes the file."""
        self._flush()
        self._writer.close()
        self._part.replace(self._path)

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
            self._writer.close()
            self._part.unlink(missing_ok=True)
