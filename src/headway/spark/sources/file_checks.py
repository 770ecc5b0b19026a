"""New files looked at before anything reads them: a footer each, in the tasks where there are many.

What breaks its schema is quarantined here, with the words of the vehicle engine's readers; texts
are checked by the task that reads them, because only all of a text says whether it is sound.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headway.errors import InputError
from headway.spark.session.python_workers import enter
from headway.spark.sources.checked_files import (
    CheckedFiles,
    QuarantineEntry,
    entry_of,
    parquet_tables,
)
from headway.spark.sources.input_files import PARQUET
from headway.spark.sources.parquet_footers import (
    Footer,
    Reading,
    ending,
    footer_bytes,
    footer_of,
    read_parquet_files,
)
from headway.spark.storage.file_stores import file_store
from headway.spark.storage.locations import Location

AT_ONCE = 256
"""files of a source that are looked at together"""
BY_DRIVER = 64
"""that are not worth a job of Spark's: a footer takes a millisecond"""
_THREADS = 8
_END_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class GivenFile:
    """``modified`` in milliseconds since the epoch."""

    source: str
    location: Location
    size: int
    modified: int


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """``sound``: it is read. Texts have no footer."""

    file: GivenFile
    footer: Footer | None
    sound: bool


@dataclass(frozen=True)
class FileChecks:
    """``checked`` by source says what happens to files and tuples that do not fit. ``values``:
    what footers leave open is looked up too; a batch finds it in the tuples."""

    spark: SparkSession
    checked: Mapping[str, CheckedFiles]
    slots: Callable[[], int]
    values: bool = True

    def each(self, queues: Mapping[str, Iterable[GivenFile]]) -> dict[str, Iterator[CheckedFile]]:
        """In their order; the next ones are looked at when they are asked for."""
        return {name: self._each(self.checked[name], iter(queue)) for name, queue in queues.items()}

    def _each(self, checked: CheckedFiles, queue: Iterator[GivenFile]) -> Iterator[CheckedFile]:
        while some := list(islice(queue, AT_ONCE)):
            held = checked.held([one.location.text for one in some])
            fresh = [one for one in some if one.location.text not in held]
            found = dict(zip(fresh, self._footers(checked, fresh), strict=True))
            for one in some:
                footer = found.get(one)
                if isinstance(footer, QuarantineEntry):
                    checked.leave_out(footer)
                    footer = None
                    yield CheckedFile(one, None, sound=False)
                else:
                    yield CheckedFile(one, footer, sound=one in found)

    def _footers(
        self, checked: CheckedFiles, files: Sequence[GivenFile]
    ) -> Sequence[Footer | QuarantineEntry | None]:
        if not files or files[0].location.suffix != PARQUET:
            return [None] * len(files)
        if not files[0].location.is_local:
            with ThreadPoolExecutor(_THREADS) as threads:
                return list(threads.map(lambda one: self._elsewhere(checked, one), files))
        paths = [one.location.text for one in files]
        if len(files) <= BY_DRIVER:
            return [look_at(checked, path, self.values) for path in paths]
        return self._by_tasks(checked, paths)

    def _by_tasks(
        self, checked: CheckedFiles, paths: Sequence[str]
    ) -> list[Footer | QuarantineEntry | None]:
        search, values = tuple(sys.path), self.values

        def look(batches: Iterator[Any]) -> Iterator[Any]:
            enter(search)
            for batch in batches:
                places = batch.column("id").to_pylist()
                told = [_packed(look_at(checked, paths[place], values)) for place in places]
                yield pa.RecordBatch.from_pydict({"id": places, "told": told})

        tasks = max(1, min(self.slots(), math.ceil(len(paths) / BY_DRIVER)))
        rows = self.spark.range(0, len(paths), 1, tasks)
        found = rows.mapInArrow(look, "id bigint, told string").collect()
        return [_unpacked(row["told"]) for row in sorted(found, key=lambda row: int(row["id"]))]

    def _elsewhere(self, checked: CheckedFiles, one: GivenFile) -> Footer | QuarantineEntry:
        """On another file system: the last bytes are fetched."""
        store = file_store(one.location, self.spark)
        name = one.location.text
        try:
            end = store.read_end(one.location, min(one.size, _END_BYTES))
            if len(end) >= 8 and footer_bytes(end) > len(end):
                end = store.read_end(one.location, min(one.size, footer_bytes(end)))
            return footer_of(name, checked.source, ending(one.size, end), values=self.values)
        except InputError as error:
            return _refused(checked, name, error)

    def damaged(self, files: Sequence[GivenFile]) -> set[GivenFile]:
        """Those of which not all can be read, now quarantined; reads everything."""
        found = set()
        for name, checked in self.checked.items():
            mine = [one for one in files if one.source == name]
            if not mine:
                continue
            locations = [one.location for one in mine]
            checked.read(self.spark, locations, self.slots()).write.format("noop").mode(
                "append"
            ).save()
            held = checked.held([one.text for one in locations])
            found |= {one for one in mine if one.location.text in held}
        return found


def look_at(checked: CheckedFiles, path: str, values: bool) -> Footer | QuarantineEntry:
    """A local file's footer, or why it is left out; tuples that do not fit are listed."""
    source, rejected = checked.source, checked.rejected
    try:
        footer = footer_of(Path(path), source, values=values)
        if footer.misfits and rejected is not None:
            for _ in rejected.sorted_out(source, path, parquet_tables(Path(path), source.schema)):
                pass
    except InputError as error:
        return _refused(checked, path, error)
    return footer


def read_checked(
    spark: SparkSession,
    checked: CheckedFiles,
    files: Iterable[CheckedFile],
    tasks: int,
    *,
    placed: bool = True,
) -> list[DataFrame]:
    """The tuples of a source's sound files: Parquet by Spark's own reader, the files that want the
    same columns together; the rest by Python in so many tasks. ``placed``: their places in the
    files are wanted."""
    ways: dict[Reading, list[Location]] = {}
    by_python: list[Location] = []
    for one in files:
        if one.footer is None or one.footer.reading is None:
            by_python.append(one.file.location)
        else:
            ways.setdefault(one.footer.reading, []).append(one.file.location)
    parts = [
        read_parquet_files(spark, locations, checked.source.schema, reading, placed=placed)
        for reading, locations in ways.items()
    ]
    return parts + ([checked.read(spark, by_python, tasks)] if by_python else [])


def _refused(checked: CheckedFiles, name: str, error: InputError) -> QuarantineEntry:
    if checked.quarantine is None:
        raise error
    return entry_of(checked.source.name, name, error)


def _packed(found: Footer | QuarantineEntry) -> str:
    return json.dumps([type(found).__name__, asdict(found)])


def _unpacked(text: str) -> Footer | QuarantineEntry:
    kind, data = json.loads(text)
    if kind == QuarantineEntry.__name__:
        return QuarantineEntry(**data)
    if data["reading"] is not None:
        data["reading"] = tuple((name, how) for name, how in data["reading"])
    return Footer(**data)
