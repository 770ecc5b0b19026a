"""Files as a stream: Spark says which are new; each piece of them is checked, then read by Spark.

Spark's own file source keeps the account of what has been taken, file by file. What it would read
for a micro-batch is looked up in its plan, and computed only where that is quickest: one source, a
few small files, all as its schema says. Else a piece is a batch of its own over the files that are
sound. So a file that is damaged or does not fit is left out before anything reads it, and how much
is read at a time, and by how many tasks, is decided anew for every piece.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headway.model.query import Source
from headway.spark.sources.checked_files import CheckedFiles, Quarantine, Rejected, text_schema
from headway.spark.sources.file_checks import CheckedFile, FileChecks, GivenFile, read_checked
from headway.spark.sources.input_files import PARQUET, Files
from headway.spark.sources.intake import IntakePiece, Limits, Pace
from headway.spark.sources.parquet_footers import read_schema, tuples
from headway.spark.storage.locations import Location

BYTES_PER_SLOT = 64 << 20
"""of files in a piece: a task of a query with state has its part of them in memory"""
MOST_LISTED = 1000
"""files of a source in a micro-batch of Spark's; the pieces are smaller"""
SMALL_BYTES = 4 << 20
"""what Spark's own plan of the micro-batch is good enough for"""
_BYTES_PER_TASK = 256 << 10
_FILES_PER_TASK = 4
_MOST_BYTES_PER_TASK = 32 << 20
_LISTED_BY_JOB = "spark.sql.sources.parallelPartitionDiscovery.threshold"
"""more files than that Spark looks up by a job, which takes longer for local ones"""
_BINARY = "path string, modificationTime timestamp, length bigint, content binary"


class FileIntake:
    """The files of all sources of one streaming query, whose session is its own. ``quarantine``
    gets what is left out of folders; a source of one file has nothing to go on with."""

    def __init__(
        self,
        spark: SparkSession,
        files: Sequence[Files],
        quarantine: Quarantine,
        rejected: Rejected | None,
        limits: Limits,
    ) -> None:
        self._spark, self._files, self._limits = spark, files, limits
        self._checked = {
            one.source.name: CheckedFiles(one.source, quarantine if one.several else None, rejected)
            for one in files
        }
        self._checks = FileChecks(spark, self._checked, lambda: limits.slots_of(spark))
        self._pace = Pace(limits.max_rate)
        self._empty = {
            one.source.name: spark.createDataFrame([], text_schema(one.source.schema))
            for one in files
        }
        if all(one.folder.is_local for one in files):
            spark.conf.set(_LISTED_BY_JOB, str(MOST_LISTED * len(files)))
        self._direct = len(files) == 1 and files[0].suffix == PARQUET
        counted = zip(files, self._listed(), strict=True)
        streams = [self._stream(one, most) for one, most in counted]
        self.stream: DataFrame = reduce(DataFrame.union, streams)

    def close(self) -> None:
        """Nothing waits any longer."""
        self._pace.close()

    # ---------------------------------------------------------------- what Spark's query reads

    def _listed(self) -> list[int]:
        """How many files of each source Spark takes at a time: as the sources were cut, so that
        none runs ahead of the others."""
        if self._limits.files_per_batch is not None:
            return [self._limits.files_per_batch] * len(self._files)
        counts = [max(1, len(one.entries(self._spark))) for one in self._files]
        return [math.ceil(MOST_LISTED * count / max(counts)) for count in counts]

    def _stream(self, files: Files, most: int) -> DataFrame:
        reader = self._spark.readStream.option("maxFilesPerTrigger", most)
        reader = reader.option("pathGlobFilter", _escaped(files))
        folder = files.folder.spark_path
        if self._direct:
            data = reader.schema(read_schema(files.source.schema)).parquet(folder)
            return tuples(data, files.source.schema)
        return reader.format("binaryFile").schema(_BINARY).load(folder).select("path")

    # ---------------------------------------------------------------- pieces

    def pieces(self, batch: DataFrame, number: int, mark: int = 0) -> Iterator[IntakePiece]:
        del number
        scan = scanned(batch)
        given = self._given(scan)
        if not given and not mark:
            yield IntakePiece(self._empty, 1, last=True)
            return
        found = in_step(self._checks.each(self._queues(given)), self._sources)
        for _ in range(mark):
            next(found, None)
        done = mark
        for some in cut(found, self._room):
            done += len(some)
            last = done == len(given)
            self._pace.wait(sum(self._rows(one) for one in some))
            all_at_once = self._direct and last and len(some) == len(given)
            plan = Planned(batch, scan.partitions) if all_at_once else None
            yield self._piece(some, done, last, plan)

    @property
    def _sources(self) -> dict[str, Source]:
        return {one.source.name: one.source for one in self._files}

    def _given(self, scan: Scan) -> list[GivenFile]:
        """In the order in which Spark took them."""
        found = {}
        for path, size, modified in scan.files:
            location = Location.of(path)
            for files in self._files:
                if files.holds(location):
                    found[location] = GivenFile(files.source.name, location, size, modified)
        return sorted(found.values(), key=lambda one: (one.modified, one.location))

    def _queues(self, given: Sequence[GivenFile]) -> dict[str, deque[GivenFile]]:
        queues: dict[str, deque[GivenFile]] = {one.source.name: deque() for one in self._files}
        for one in given:
            queues[one.source].append(one)
        return queues

    def _room(self) -> Room:
        """As many slots as there are now."""
        most = self._limits.bytes_per_batch or BYTES_PER_SLOT * self._limits.slots_of(self._spark)
        return Room(most, self._limits.files_per_batch, self._pace.rows_at_once, self._rows)

    def _rows(self, one: CheckedFile) -> float:
        if one.footer is not None:
            return one.footer.rows
        return one.file.size / text_width(self._sources[one.file.source])

    def _piece(
        self, some: Sequence[CheckedFile], mark: int, last: bool, plan: Planned | None
    ) -> IntakePiece:
        slots = self._limits.slots_of(self._spark)
        sound = [one for one in some if one.sound]
        spread = Spread.of(sound, slots)
        spread.set(self._spark)
        mended, plain = self._mended(some, mark, last), self._plain(sound)
        if plan is not None and plan.is_right(some, spread):
            return IntakePiece({self._files[0].source.name: plan.data}, mark, last, mended, plain)
        sources = {}
        for files in self._files:
            mine = [one for one in sound if one.file.source == files.source.name]
            sources[files.source.name] = self._read(files, mine, spread)
        return IntakePiece(sources, mark, last, mended, plain)

    def _plain(self, sound: Sequence[CheckedFile]) -> dict[str, tuple[str, ...]] | None:
        """As :attr:`IntakePiece.files`."""
        for one in sound:
            if one.footer is None or one.footer.misfits or not one.file.location.is_local:
                return None
        return {
            files.source.name: tuple(
                str(one.file.location.path) for one in sound if one.file.source == files.source.name
            )
            for files in self._files
        }

    def _read(self, files: Files, some: Sequence[CheckedFile], spread: Spread) -> DataFrame:
        checked = self._checked[files.source.name]
        parts = read_checked(self._spark, checked, some, spread.slots)
        if not parts:
            return self._empty[files.source.name]
        data = reduce(DataFrame.union, parts)
        if self._limits.spread and spread.few_large:
            data = data.repartition(spread.slots)
        return data

    def _mended(
        self, some: Sequence[CheckedFile], mark: int, last: bool
    ) -> Callable[[], IntakePiece | None]:
        """The piece without files that turn out to be damaged when all of them is read."""

        def without_damaged() -> IntakePiece | None:
            damaged = self._checks.damaged([one.file for one in some if one.sound])
            if not damaged:
                return None
            rest = [one if one.file not in damaged else replace(one, sound=False) for one in some]
            return self._piece(rest, mark, last, None)

        return without_damaged


def _escaped(files: Files) -> str:
    """A pattern for Spark; the name of one file stands for itself."""
    if files.several:
        return files.pattern
    return "".join(f"\\{one}" if one in "[]{}*?\\" else one for one in files.pattern)


@dataclass(frozen=True)
class Scan:
    """What a micro-batch would read: files (path, bytes, modified in ms), by so many tasks."""

    files: Sequence[tuple[str, int, int]]
    partitions: int


def scanned(batch: DataFrame) -> Scan:
    """By its plan; nothing is read."""
    found: dict[str, tuple[str, int, int]] = {}
    partitions = 0
    leaves = batch._jdf.queryExecution().analyzed().collectLeaves()
    nodes = [leaves.apply(place) for place in range(leaves.size())]
    waiting: list[Any] = [node.rdd() for node in nodes if _is_a(node, "LogicalRDD")]
    while waiting:
        data = waiting.pop()
        if _is_a(data, "FileScanRDD"):
            parts = data.filePartitions()
            partitions += parts.size()
            for place in range(parts.size()):
                for file in parts.apply(place).files():
                    path = file.toPath().toString()
                    if path not in found:
                        found[path] = path, file.fileSize(), file.modificationTime()
            continue
        before = data.dependencies()
        waiting += [before.apply(place).rdd() for place in range(before.size())]
    return Scan(list(found.values()), partitions)


def _is_a(java: Any, name: str) -> bool:
    return str(java.getClass().getSimpleName()) == name


# ---------------------------------------------------------------- which files next, and how many


def in_step(
    queues: Mapping[str, Iterator[CheckedFile]], sources: Mapping[str, Source]
) -> Iterator[CheckedFile]:
    """The files of all sources, so that they advance together: next is always the source that has
    come least far. What a file does not say of its times follows from the rate of its source."""
    reached = dict.fromkeys(queues, -math.inf)
    while queues:
        name = min(queues, key=lambda one: reached[one])
        one = next(queues[name], None)
        if one is None:
            queues = {other: rest for other, rest in queues.items() if other != name}
            continue
        reached[name] = _reached(one, reached[name], sources[name])
        yield one


def _reached(one: CheckedFile, before: float, source: Source) -> float:
    if not one.sound:
        return before
    if one.footer is not None and one.footer.end is not None:
        return max(before, one.footer.end)
    rows = one.file.size / text_width(source) if one.footer is None else one.footer.rows
    began = 0.0 if before == -math.inf else before
    per_second = source.rate.per_second if source.rate is not None else 1.0
    return began + rows / per_second * 1e6


def text_width(source: Source) -> int:
    """Bytes of a tuple in a text, roughly."""
    return 20 + 10 * len(source.schema.fields)


@dataclass
class Room:
    """What a piece may hold; at least one file always goes in."""

    bytes: float
    files_of_each: int | None
    rows: float | None
    rows_of: Callable[[CheckedFile], float]

    def __post_init__(self) -> None:
        self._files: dict[str, int] = {}

    def takes(self, one: CheckedFile) -> bool:
        """Whether it fits; if so, it is in."""
        first = not self._files
        self.bytes -= one.file.size if one.sound else 0
        mine = self._files[one.file.source] = self._files.get(one.file.source, 0) + 1
        if self.rows is not None:
            self.rows -= self.rows_of(one) if one.sound else 0
        full = self.bytes < 0 or (self.rows is not None and self.rows < 0)
        return first or not (full or (self.files_of_each or mine) < mine)


def cut(files: Iterator[CheckedFile], room: Callable[[], Room]) -> Iterator[list[CheckedFile]]:
    """Piece by piece; ``room`` is asked before each."""
    some: list[CheckedFile] = []
    left = room()
    for one in files:
        if not left.takes(one):
            yield some
            some, left = [], room()
            left.takes(one)
        some.append(one)
    if some:
        yield some


@dataclass(frozen=True)
class Spread:
    """How the reading of a piece is shared out: small ones by few tasks, because a task costs
    milliseconds; large ones by all slots, more tasks than that where each would take long."""

    slots: int
    bytes: int
    files: int
    splits: int
    """that Spark can make: row groups of Parquet"""

    @classmethod
    def of(cls, files: Sequence[CheckedFile], slots: int) -> Spread:
        splits = sum(one.footer.row_groups if one.footer else 1 for one in files)
        return cls(max(1, slots), sum(one.file.size for one in files), len(files), splits)

    @property
    def tasks(self) -> int:
        wanted = max(
            math.ceil(self.bytes / _BYTES_PER_TASK), math.ceil(self.files / _FILES_PER_TASK)
        )
        return max(1, min(self.slots, wanted))

    @property
    def few_large(self) -> bool:
        """Whether slots would have nothing to do for long while others read."""
        return self.splits * 2 <= self.slots and self.bytes > self.splits * _MOST_BYTES_PER_TASK

    def set(self, spark: SparkSession) -> None:
        """For what this session plans from now on."""
        spark.conf.set("spark.sql.files.minPartitionNum", str(self.tasks))
        spark.conf.set("spark.sql.files.openCostInBytes", str(_BYTES_PER_TASK // 8))
        spark.conf.set("spark.sql.files.maxPartitionBytes", str(_MOST_BYTES_PER_TASK))


@dataclass(frozen=True)
class Planned:
    """All files of a micro-batch as Spark has planned to read them."""

    data: DataFrame
    partitions: int

    def is_right(self, files: Sequence[CheckedFile], spread: Spread) -> bool:
        """Whether it gives the right tuples, and nothing is gained by planning anew."""
        return (
            all(one.sound and one.footer and one.footer.reading == () for one in files)
            and spread.bytes <= SMALL_BYTES
            and spread.tasks < 2 * self.partitions
        )
