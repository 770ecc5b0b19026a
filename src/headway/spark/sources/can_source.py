"""The data source ``headway_can``: recorded CAN logs with a DBC, as a batch or as a stream.

    spark.dataSource.register(CanSource)
    spark.read.format("headway_can").options(
        path="drives", dbc="radar.dbc", bus="1", messages="TRACK_A_*",
        columns="distance=LONG_DIST, track=frame.address",
    ).schema("timestamp timestamp, distance double, track int, vehicle string, position bigint")

Without ``.schema()`` signals are doubles. ``position`` is the frame's number in its log. A log is
split into tasks where that can be done without reading it (NumPy arrays). With ``quarantine`` (a
folder), logs that cannot be read and frames that cannot be decoded are named and counted there;
without it the former end the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import LongType, StringType, StructField, StructType

from headway.errors import DataError, InputError, Problem
from headway.model.schema import TIMESTAMP_COLUMN, VEHICLE_COLUMN, DataType, Field, Schema
from headway.sources import can_log
from headway.sources.parquet_file import ARROW_TYPES
from headway.sources.pointer_file import Pointer
from headway.spark.lowering.frames import POSITION_COLUMN, SPARK
from headway.spark.sources.checked_files import Quarantine, QuarantineEntry, entry_of

# ---------------------------------------------------------------- options and schemas

_KINDS = {kind: name for name, kind in SPARK.items()}


@dataclass(frozen=True)
class CanOptions:
    """``label`` is the name of the source in quarantine."""

    path: Path
    mapping: can_log.CanMapping
    quarantine: Quarantine | None = None
    label: str = "can"
    logs_per_batch: int | None = None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> CanOptions:
        """Reads path, dbc, bus, messages, columns, vehicle, start, quarantine, label and
        maxFilesPerTrigger; DataError where one is missing or wrong."""
        if missing := [key for key in ("path", "dbc", "columns") if not options.get(key)]:
            raise DataError(Problem(f"the option {key!r} is missing") for key in missing)
        data: dict[str, object] = {key: options[key] for key in can_log.KEYS if options.get(key)}
        data["columns"] = dict(_pair(one) for one in _listed(options["columns"]))
        data["messages"] = _listed(options.get("messages") or "*")
        if "bus" in data:
            data["bus"] = _number("bus", options["bus"])
        folder, most = options.get("quarantine"), options.get("maxFilesPerTrigger")
        return cls(
            path=Path(options["path"]).absolute(),
            mapping=can_log.mapping_of(Pointer(Path.cwd() / "options", data)),
            quarantine=Quarantine(Path(folder).absolute()) if folder else None,
            label=options.get("label") or "can",
            logs_per_batch=_number("maxFilesPerTrigger", most) if most else None,
        )


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _pair(text: str) -> tuple[str, str]:
    column, equals, signal = text.partition("=")
    return column.strip(), signal.strip() if equals else column.strip()


def _number(name: str, text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise DataError(
            f"the option {name!r} is wrong", got=repr(text), want="want a whole number"
        ) from None


def default_schema(mapping: can_log.CanMapping) -> StructType:
    """timestamp, a double for each signal, vehicle, position."""
    kinds = [can_log.FRAME_TYPES.get(signal, DataType.DOUBLE) for _, signal in mapping.columns]
    names = [column for column, _ in mapping.columns]
    return StructType(
        [
            StructField(TIMESTAMP_COLUMN, SPARK[DataType.TIMESTAMP]),
            *(StructField(n, SPARK[kind]) for n, kind in zip(names, kinds, strict=True)),
            StructField(VEHICLE_COLUMN, StringType()),
            *([] if POSITION_COLUMN in names else [StructField(POSITION_COLUMN, LongType())]),
        ]
    )


def headway_schema(schema: StructType) -> Schema:
    """The fields that signals are decoded into; DataError for types that Headway does not have."""
    around = (TIMESTAMP_COLUMN, VEHICLE_COLUMN, POSITION_COLUMN)
    fields = [field for field in schema.fields if field.name not in around]
    if odd := [field for field in fields if field.dataType not in _KINDS]:
        raise DataError(
            Problem(
                "no signal has this type",
                at=field.name,
                got=field.dataType.simpleString(),
                want=f"want one of {', '.join(kind.value for kind in SPARK)}",
            )
            for field in odd
        )
    return Schema(tuple(Field(field.name, _KINDS[field.dataType]) for field in fields))


# ---------------------------------------------------------------- the data source


FRAMES_PER_TASK = 1 << 18
ROWS = 1 << 14


def register(spark: SparkSession) -> None:
    spark.dataSource.register(CanSource)


class CanSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "headway_can"

    def schema(self) -> StructType:
        return default_schema(CanOptions.of(self.options).mapping)

    def reader(self, schema: StructType) -> DataSourceReader:
        return CanReader(CanOptions.of(self.options), headway_schema(schema), schema.names)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        return CanStream(CanOptions.of(self.options), headway_schema(schema), schema.names)


class CanPart(InputPartition):
    """Frames ``start`` to ``end`` of a log."""

    def __init__(self, log: str, start: int = 0, end: int | None = None) -> None:
        super().__init__(None)
        self.log, self.start, self.end = log, start, end


class CanReader(DataSourceReader):
    def __init__(self, options: CanOptions, schema: Schema, names: list[str]) -> None:
        self.options, self.schema, self.names = options, schema, names
        can_log.CanDecoder(options.mapping, schema)  # what is wrong with the mapping shows here

    def partitions(self) -> Sequence[InputPartition]:
        return parts_of([str(log) for log in can_log.find_logs(self.options.path)], self.options)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, CanPart)
        return read_part(partition, self.options, self.schema, self.names)


class CanStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Its offset is the names of the logs that were read: each is read once, as a whole, and a
    batch that is repeated reads the same ones. Logs must be complete when they appear (rename
    them), and stay."""

    def __init__(self, options: CanOptions, schema: Schema, names: list[str]) -> None:
        self.options, self.schema, self.names = options, schema, names
        self._target: list[str] | None = None
        can_log.CanDecoder(options.mapping, schema)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._target = self._found()

    def _found(self) -> list[str]:
        try:
            return [log.name for log in can_log.find_logs(self.options.path)]
        except InputError:  # none yet
            return []

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return {"logs": 0, "names": ""}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        most = self.options.logs_per_batch
        return ReadAllAvailable() if most is None else ReadMaxFiles(most)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        before = _names(start)
        found = self._found() if self._target is None else self._target
        fresh = sorted(set(found) - set(before))
        if isinstance(limit, ReadMaxFiles):
            fresh = fresh[: limit.max_files]
        names = [*before, *fresh]
        return {"logs": len(names), "names": "/".join(names)}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        fresh = _names(end)[len(_names(start)) :]
        return parts_of([str(self.options.path / name) for name in fresh], self.options)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, CanPart)
        return read_part(partition, self.options, self.schema, self.names)


def _names(offset: dict[str, Any]) -> list[str]:
    """A file's name has no '/' in it; an offset of Spark's Python sources has no lists."""
    return str(offset["names"]).split("/") if offset["names"] else []


def parts_of(logs: list[str], options: CanOptions) -> list[InputPartition]:
    parts: list[InputPartition] = []
    for log in logs:
        try:
            count = can_log.count_frames(Path(log))
        except InputError:  # the task says so
            count = None
        if count is None or count <= FRAMES_PER_TASK:
            parts.append(CanPart(log))
        else:
            starts = range(0, count, FRAMES_PER_TASK)
            parts += [CanPart(log, first, min(first + FRAMES_PER_TASK, count)) for first in starts]
    return parts


def read_part(
    part: CanPart, options: CanOptions, schema: Schema, names: list[str]
) -> Iterator[Any]:
    """Arrow batches of the part's tuples; a log that cannot be read gives none of them."""
    decoder = can_log.CanDecoder(options.mapping, schema)
    rows = decoder.rows(can_log.read_frames(Path(part.log), part.start, part.end))
    quarantine = options.quarantine
    if quarantine is None:
        yield from _batches(rows, options, schema, names)
        return
    try:
        batches = list(_batches(rows, options, schema, names))
    except InputError as error:
        quarantine.add(entry_of(options.label, part.log, error))
        return
    _name_frames(quarantine, part, options.label, decoder)
    yield from batches


def _batches(
    rows: Iterator[tuple[int, Any]], options: CanOptions, schema: Schema, names: list[str]
) -> Iterator[Any]:
    kinds = {field.name: ARROW_TYPES[field.type] for field in schema.columns}
    while piece := list(islice(rows, ROWS)):
        numbers, tuples = zip(*piece, strict=True)
        cells = zip(*tuples, strict=True)
        columns = {
            name: pa.array(column, kinds[name]) for name, column in zip(kinds, cells, strict=True)
        }
        columns.setdefault(POSITION_COLUMN, pa.array(numbers, pa.int64()))
        columns[VEHICLE_COLUMN] = pa.array([options.mapping.vehicle] * len(piece), pa.string())
        yield pa.RecordBatch.from_pydict({name: columns[name] for name in names})


def _name_frames(
    quarantine: Quarantine, part: CanPart, label: str, decoder: can_log.CanDecoder
) -> None:
    refused = decoder.counts.undecodable
    name = part.log if part.end is None else f"{part.log}:{part.start}-{part.end}"
    if refused:
        quarantine.add(QuarantineEntry(label, name, str(decoder.counts), sum(refused.values())))
    else:
        quarantine.release(label, name)
