"""Files read in tasks, each as a whole or not at all: one that breaks its schema is quarantined.

Every kind of file is read by the vehicle engine's readers or, Parquet, by the same library in
columns; so what is refused, and why, is the same on both engines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headway.errors import DataError, InputError, Place, Problem
from headway.model.query import Source
from headway.model.schema import ARRIVAL_COLUMN, VEHICLE_COLUMN, DataType, Field, Schema
from headway.sources.parquet_file import ARROW_TYPES, read_parquet
from headway.sources.record import ARRIVAL_FIELD, VEHICLE_FIELD, unknown_arrival, unreadable
from headway.spark.lowering.frame import POSITION_COLUMN
from headway.spark.sources.quarantine import Quarantine, entry_of
from headway.spark.sources.rejected import Rejected
from headway.spark.text_files import file_tables, local_path

Batches = Iterator[Any]
PARQUET = ".parquet"
ROWS = 1 << 16
SMALL_BYTES = 64 << 20


@dataclass(frozen=True)
class CheckedFiles:
    """For ``mapInArrow``: rows with a column ``path`` -> the tuples of the files that are sound."""

    source: Source
    quarantine: Quarantine | None
    """without it a file that breaks its schema ends the run"""
    rejected: Rejected | None = None
    """without it tuples that do not fit go on with the others"""
    remember: bool = True
    """whether a file that was left out before stays out: streams do"""

    def reader(self) -> Callable[[Batches], Batches]:
        def read(batches: Batches) -> Batches:
            for batch in batches:
                for path in batch.column("path").to_pylist():
                    yield from self.tables(local_path(path))

        return read

    def tables(self, path: Path) -> Batches:
        name, source, quarantine = str(path), self.source.name, self.quarantine
        if quarantine is None:
            return self._fitting(path, self._read(path))
        if self.remember and quarantine.holds(source, name):
            return iter(())
        try:
            tables = self._checked(path)
        except InputError as error:
            quarantine.add(entry_of(source, name, error))
            return iter(())
        if not self.remember:
            quarantine.release(source, name)
        return self._fitting(path, tables)

    def _fitting(self, path: Path, tables: Batches) -> Batches:
        return tables if self.rejected is None else self.rejected.sorted_out(
            self.source, path, tables
        )  # fmt: skip

    def _read(self, path: Path) -> Batches:
        read = parquet_tables if path.suffix == PARQUET else file_tables
        return read(path, self.source.schema)

    def _checked(self, path: Path) -> Batches:
        """Nothing of a file may go on before all of it is known to be sound: a small one waits in
        memory, a large one is read twice."""
        try:
            small = path.stat().st_size <= SMALL_BYTES
        except OSError as error:
            raise unreadable(path, error) from None
        if small:
            return iter(list(self._read(path)))
        for _ in self._read(path):
            pass
        return self._read(path)


def sound_parquet(
    paths: list[Path], source: str, schema: Schema, quarantine: Quarantine
) -> list[Path]:
    """Those whose footers say that they are complete and have the columns; the rest is
    quarantined. Reads footers only."""
    sound = []
    for path in paths:
        try:
            read_parquet(path, schema)
        except InputError as error:
            quarantine.add(entry_of(source, str(path), error))
        else:
            quarantine.release(source, str(path))
            sound.append(path)
    return sound


def parquet_tables(path: Path, schema: Schema) -> Batches:
    """A file in columns: the schema's, ``arrived_at``, ``vehicle`` and the row's place, from 1."""
    read_parquet(path, schema)  # the same checks of the columns, and the same words
    number = 1
    try:
        with pq.ParquetFile(path) as file:
            there = file.schema_arrow.names
            extra = [name for name in (ARRIVAL_COLUMN, VEHICLE_COLUMN) if name in there]
            names = [*(field.name for field in schema.columns), *extra]
            for batch in file.iter_batches(batch_size=ROWS, columns=names):
                yield _table(path, batch, schema, number)
                number += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        raise unreadable(path, error, "cannot be read as Parquet (is the file complete?)") from None


def _table(path: Path, batch: Any, schema: Schema, number: int) -> Any:
    there = batch.schema.names
    columns = {f.name: _cast(path, batch.column(f.name), f) for f in schema.columns}
    arrival = ARRIVAL_FIELD if ARRIVAL_COLUMN in there else schema.columns[0]
    arrived = _cast(path, batch.column(arrival.name), arrival)
    if arrived.null_count:
        raise unknown_arrival(path, number + pc.index(pc.is_null(arrived), True).as_py())
    owner = pa.nulls(batch.num_rows, pa.string())
    if VEHICLE_COLUMN in there:
        owner = _cast(path, batch.column(VEHICLE_COLUMN), VEHICLE_FIELD)
    columns |= {ARRIVAL_COLUMN: arrived, VEHICLE_COLUMN: owner}
    if POSITION_COLUMN not in schema.names:
        columns[POSITION_COLUMN] = pa.array(range(number, number + batch.num_rows), pa.int64())
    return pa.RecordBatch.from_pydict(columns)


def _cast(path: Path, column: Any, field: Field) -> Any:
    """Times: without a zone UTC, or whole microseconds; none finer than a microsecond."""
    try:
        if field.type is not DataType.TIMESTAMP:
            return column.cast(ARROW_TYPES[field.type])
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("us", tz=column.type.tz)).cast(pa.int64())
        return column.cast(pa.int64()).cast(ARROW_TYPES[DataType.TIMESTAMP])
    except pa.ArrowException as error:
        raise DataError(
            Problem(
                f"a value does not fit its column: {error}",
                place=Place(str(path)),
                at=field.name,
                want=f"want {field.describe()}",
            )
        ) from None
