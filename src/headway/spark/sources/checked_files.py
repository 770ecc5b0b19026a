"""Files read in tasks, each whole or not at all; what breaks its schema is kept out and named.

Every kind of file is read by the vehicle engine's readers or, Parquet, by the same library in
columns; so a cell means the same on both engines, and so does what is refused, and why. Spark's own
readers of text would turn a bad cell into NULL; here it is named by file and line. A task reads a
whole file: many files are read side by side.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

from headway.engine.ingest import Ingest
from headway.engine.result_tables import SideRow, side_row, side_rows_table
from headway.errors import FileError, InputError
from headway.model.quantities import MICROSECOND
from headway.model.query import Source
from headway.model.schema import (
    ARRIVAL_COLUMN,
    TIMESTAMP_COLUMN,
    VEHICLE_COLUMN,
    DataType,
    Field,
    Schema,
)
from headway.sources import source_records
from headway.sources.parquet_file import ARROW_TYPES, NOT_PARQUET, read_parquet
from headway.sources.recordings import read_file
from headway.spark.lowering.frames import POSITION_COLUMN, SPARK
from headway.spark.session.python_workers import enter
from headway.spark.side_files import parquet_bytes
from headway.spark.sources.input_files import PARQUET
from headway.spark.storage.locations import Location
from headway.spark.storage.small_files import SmallFiles

# ---------------------------------------------------------------- quarantine
# Each bad file has one JSON file in the folder, written by whichever task or process meets it
# first. The input itself stays where it is, because a stream that is replayed must find it. A
# stream also asks the folder first, so a file that was left out once stays out, however often its
# micro-batch is repeated. A local folder on a cluster must be one that all machines see.

FOLDER = "_quarantine"
"""beside the outputs; Spark and Headway overlook names with '_' when they read"""


@dataclass(frozen=True)
class QuarantineEntry:
    """``input`` is a file, or what else broke: a Kafka partition's messages."""

    source: str
    input: str
    reason: str
    count: int = 1
    """of messages or frames; 1 for a file"""
    at: float = 0.0
    """when, seconds since the epoch"""


class Quarantine:
    """A folder of entries; it may be copied to tasks."""

    def __init__(
        self, folder: Path | Location, spark: SparkSession | None = None, mark: str = ""
    ) -> None:
        """A session is needed for URIs only; ``mark`` stands in the names of its files."""
        self.files = SmallFiles(Location.of(folder), spark, mark)

    def add(self, entry: QuarantineEntry) -> None:
        stamped = QuarantineEntry(**{**asdict(entry), "at": entry.at or round(time.time(), 3)})
        text = json.dumps(asdict(stamped), indent=2) + "\n"
        self.files.put(_name(entry.source, entry.input, ".json"), text.encode())

    def holds(self, source: str, name: str) -> bool:
        return self.files.holds(_name(source, name, ".json"))

    def release(self, source: str, name: str) -> None:
        """The input has been mended."""
        self.files.remove(_name(source, name, ".json"))

    def entries(self) -> list[QuarantineEntry]:
        """By source and input; what cannot be read as an entry is not one."""
        found = []
        for name in self.files.names():
            if name.endswith(".json"):
                with contextlib.suppress(FileError, ValueError, TypeError):
                    found.append(QuarantineEntry(**json.loads(self.files.read(name))))
        return sorted(found, key=lambda entry: (entry.source, entry.input))


def _name(source: str, name: str, suffix: str) -> str:
    """Of the file about an input."""
    digest = hashlib.sha256(f"{source}\n{name}".encode()).hexdigest()[:12]
    return f"{source}-{digest}{suffix}"


def entry_of(source: str, name: str, error: InputError) -> QuarantineEntry:
    """The first problem, and how many there are more; not where, the entry says that already."""
    first = error.problems[0]
    more = f" (and {len(error.problems) - 1} more)" if len(error.problems) > 1 else ""
    return QuarantineEntry(source, name, f"{first}{more}")


def notes(entries: Iterable[QuarantineEntry], most: int = 20) -> tuple[str, ...]:
    """For people: a line for each source, then its inputs and their reasons."""
    by_source: dict[str, list[QuarantineEntry]] = {}
    for entry in entries:
        by_source.setdefault(entry.source, []).append(entry)
    lines = []
    for source, found in by_source.items():
        lines.append(f"source {source!r}: {len(found)} left out (quarantined)")
        lines += [f"  {entry.reason}" for entry in found[:most]]
        if len(found) > most:
            lines.append(f"  and {len(found) - most} more")
    return tuple(lines)


# ---------------------------------------------------------------- rejected tuples
# Tuples that do not fit their schema are the vehicle engine's ``rejected``: no timestamp, a string
# longer than declared. Each file of a stream's input that has such tuples gets one file in the
# folder, named after it; read again, by another query or after a restart, it gives the same one.


class Rejected:
    """A folder that the tasks write into; it may be copied to them."""

    def __init__(self, folder: Path | Location, spark: SparkSession | None = None) -> None:
        """A session is needed for URIs only."""
        self.files = SmallFiles(Location.of(folder), spark)
        self._counted: dict[str, int] = {}

    def sorted_out(self, source: Source, name: str, tables: Iterator[Any]) -> Iterator[Any]:
        """The tuples of the file called ``name`` that fit; the others are written when all have
        been seen."""
        ingest = Ingest(source)
        rows: list[SideRow] = []
        owners: list[str | None] = []
        for table in tables:
            wrong = misfits(table, source.schema)
            if wrong is None:
                yield table
                continue
            bad = table.filter(wrong)
            names = [column.name for column in source.schema.columns]
            cells = (_plain(bad.column(name)) for name in names)
            times = _plain(bad.column(ARRIVAL_COLUMN))
            for at, row in zip(times, zip(*cells, strict=True), strict=True):
                ingest.offer(row, 0)
                rows += [
                    side_row(at * MICROSECOND, dropped, source.schema)
                    for dropped in ingest.take_side()
                ]
            owners += bad.column(VEHICLE_COLUMN).to_pylist()
            yield table.filter(pc.invert(wrong))
        if rows:
            owner = pa.array([name or "" for name in owners], pa.string())
            listed = side_rows_table(rows).append_column(VEHICLE_COLUMN, owner)
            self.files.put(_name(source.name, name, PARQUET), parquet_bytes(listed))

    def counts(self) -> dict[str, int]:
        """How many tuples are listed by now, by source."""
        found: dict[str, int] = {}
        for name in self.files.names():
            if not name.endswith(PARQUET):
                continue
            if name not in self._counted:
                self._counted[name] = self._rows(name)
            source = name.rpartition("-")[0]
            if self._counted[name]:
                found[source] = found.get(source, 0) + self._counted[name]
        return found

    def _rows(self, name: str) -> int:
        at = self.files.folder / name
        given = at.path if at.is_local else pa.BufferReader(self.files.read(name))
        return int(pq.read_metadata(given).num_rows)


def misfits(table: Any, schema: Schema) -> Any:
    """A mask of the tuples that do not fit; None if all do. What the types leave open only."""
    wrong = pc.is_null(table.column(TIMESTAMP_COLUMN))
    for one in schema.fields:
        if one.length is not None:
            long = pc.greater(pc.binary_length(table.column(one.name)), one.length)
            wrong = pc.or_(wrong, pc.fill_null(long, False))
    return wrong if pc.any(wrong).as_py() else None


def _plain(column: Any) -> list[Any]:
    """As the engine has them: times are microseconds."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    values: list[Any] = column.to_pylist()
    return values


# ---------------------------------------------------------------- reading


Batches = Iterator[Any]
PARQUET_ROWS, TEXT_ROWS = 1 << 16, 1 << 13
"""in a batch"""
SMALL_BYTES = 64 << 20


def text_schema(schema: Schema) -> StructType:
    """What the tasks give: the columns of :func:`text_tables` and :func:`parquet_tables`."""
    position = [] if POSITION_COLUMN in schema.names else [StructField(POSITION_COLUMN, LongType())]
    return StructType(
        [
            *(StructField(field.name, SPARK[field.type]) for field in schema.columns),
            StructField(ARRIVAL_COLUMN, TimestampType()),
            StructField(VEHICLE_COLUMN, StringType()),
            *position,
        ]
    )


@dataclass(frozen=True)
class CheckedFiles:
    """Files read in tasks by Python: the tuples of those that are sound."""

    source: Source
    quarantine: Quarantine | None
    """without it a file that breaks its schema ends the run"""
    rejected: Rejected | None = None
    """without it tuples that do not fit go on with the others"""
    remember: bool = True
    """whether a file that was left out before stays out: streams do"""

    def read(self, spark: SparkSession, files: Sequence[Location], tasks: int) -> DataFrame:
        """The tuples of these files; a task reads a whole file, ``tasks`` are at work at most.
        Local ones are read where they lie, piece by piece; of others Spark brings the content."""
        paths, search = [file.text for file in files], tuple(sys.path)

        def read_paths(batches: Batches) -> Batches:
            enter(search)
            for batch in batches:
                for place in batch.column("id").to_pylist():
                    yield from self.tables(Path(paths[place]))

        def read_contents(batches: Batches) -> Batches:
            enter(search)
            for batch in batches:
                for path, content in zip(*(c.to_pylist() for c in batch.columns), strict=True):
                    yield from self._content(Location.of(path), content)

        schema = text_schema(self.source.schema)
        if all(file.is_local for file in files):
            count = max(1, min(tasks, len(files)))
            return spark.range(0, len(files), 1, count).mapInArrow(read_paths, schema)
        contents = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        found = contents.load([file.spark_path for file in files]).select("path", "content")
        return found.mapInArrow(read_contents, schema)

    def _content(self, file: Location, content: bytes) -> Batches:
        """By a file of the task's own, because the readers of the vehicle engine want one."""
        with TemporaryDirectory(prefix="headway-") as folder:
            copy = Path(folder) / file.name
            copy.write_bytes(content)
            yield from self.tables(copy, file.text)

    def tables(self, path: Path, name: str | None = None) -> Batches:
        """The tuples of a file that messages call ``name``; none if it goes to quarantine."""
        name = name or str(path)
        source, quarantine = self.source.name, self.quarantine
        if quarantine is None:
            return self._fitting(name, self._read(path, name))
        if self.remember and quarantine.holds(source, name):
            return iter(())
        try:
            tables = self._checked(path, name)
        except InputError as error:
            quarantine.add(entry_of(source, name, error))
            return iter(())
        if not self.remember:
            quarantine.release(source, name)
        return self._fitting(name, tables)

    def held(self, names: Iterable[str]) -> set[str]:
        """Those that were left out before and stay out."""
        if self.quarantine is None or not self.remember:
            return set()
        return {name for name in names if self.quarantine.holds(self.source.name, name)}

    def leave_out(self, entry: QuarantineEntry) -> None:
        assert self.quarantine is not None
        self.quarantine.add(entry)

    def _fitting(self, name: str, tables: Batches) -> Batches:
        return tables if self.rejected is None else self.rejected.sorted_out(
            self.source, name, tables
        )  # fmt: skip

    def _read(self, path: Path, name: str) -> Batches:
        read = parquet_tables if path.suffix == PARQUET else text_tables
        with _called(path, name):
            yield from read(path, self.source.schema)

    def _checked(self, path: Path, name: str) -> Batches:
        """Nothing of a file may go on before all of it is known to be sound: a small one waits in
        memory, a large one is read twice."""
        try:
            small = path.stat().st_size <= SMALL_BYTES
        except OSError as error:
            raise source_records.unreadable(path, error) from None
        if small:
            return iter(list(self._read(path, name)))
        for _ in self._read(path, name):
            pass
        return self._read(path, name)


@contextlib.contextmanager
def _called(path: Path, name: str) -> Iterator[None]:
    """Errors about ``path`` are about the file called ``name``, of which it is a copy."""
    try:
        yield
    except InputError as error:
        if str(path) == name:
            raise
        raise type(error)(
            replace(one, place=replace(one.place, file=name)) if one.place else one
            for one in error.problems
        ) from None


def text_tables(path: Path, schema: Schema) -> Batches:
    """The tuples of a CSV or JSON-lines file, or of what a pointer names; DataError or FileError
    where it stops being one."""
    kinds = [ARROW_TYPES[field.type] for field in schema.columns]
    kinds += [ARROW_TYPES[DataType.TIMESTAMP], pa.string(), pa.int64()]
    names = [field.name for field in schema.columns]
    names += [ARRIVAL_COLUMN, VEHICLE_COLUMN, POSITION_COLUMN]
    records = read_file(path, schema)
    while piece := list(islice(records, TEXT_ROWS)):
        rows = [(*one.row, one.arrived_at, one.vehicle, one.number) for one in piece]
        columns = zip(*rows, strict=True)
        arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
        table = dict(zip(names[:-1], arrays[:-1], strict=True))
        if POSITION_COLUMN not in schema.names:
            table[POSITION_COLUMN] = arrays[-1]
        yield pa.RecordBatch.from_pydict(table)


def parquet_tables(path: Path, schema: Schema) -> Batches:
    """A file in columns: the schema's, ``arrived_at``, ``vehicle`` and the row's place, from 1."""
    read_parquet(path, schema)  # the same checks of the columns, and the same words
    number = 1
    try:
        with pq.ParquetFile(path) as file:
            there = file.schema_arrow.names
            extra = [name for name in (ARRIVAL_COLUMN, VEHICLE_COLUMN) if name in there]
            names = [*(field.name for field in schema.columns), *extra]
            for batch in file.iter_batches(batch_size=PARQUET_ROWS, columns=names):
                yield _table(path, batch, schema, number)
                number += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        raise source_records.unreadable(path, error, NOT_PARQUET) from None


def _table(path: Path, batch: Any, schema: Schema, number: int) -> Any:
    there = batch.schema.names
    columns = {f.name: _cast(path, batch.column(f.name), f) for f in schema.columns}
    arrival = source_records.ARRIVAL_FIELD if ARRIVAL_COLUMN in there else schema.columns[0]
    arrived = _cast(path, batch.column(arrival.name), arrival)
    if arrived.null_count:
        raise source_records.unknown_arrival(
            path, number + pc.index(pc.is_null(arrived), True).as_py()
        )
    owner = pa.nulls(batch.num_rows, pa.string())
    if VEHICLE_COLUMN in there:
        owner = _cast(path, batch.column(VEHICLE_COLUMN), source_records.VEHICLE_FIELD)
    columns |= {ARRIVAL_COLUMN: arrived, VEHICLE_COLUMN: owner}
    if POSITION_COLUMN not in schema.names:
        columns[POSITION_COLUMN] = pa.array(np.arange(number, number + batch.num_rows))
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
        raise source_records.not_fitting(path, field, error) from None
