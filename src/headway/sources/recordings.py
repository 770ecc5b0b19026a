"""Recordings: a folder with one file per source, read in order of arrival.

A source is ``NAME.parquet``, ``NAME.csv`` or ``NAME.jsonl``, or a file that says where it is in a
file of another kind: ``NAME.can`` in a CAN log (:mod:`headway.sources.can_log`), ``NAME.yaml`` in
an ASAM MDF 4 measurement or in an MCAP file (:mod:`headway.sources.mdf_file`,
:mod:`headway.sources.mcap_file`). A folder ``NAME`` holds such files of one kind, whose tuples are
taken in order of arrival, those of one instant in the order of the files' names; a folder
``NAME.parquet`` is what Spark writes.

Columns: ``timestamp`` (the sensing time), ``arrived_at`` (when it reached the vehicle; without that
column a tuple arrives when it is sensed), ``vehicle`` (a string, for recordings of a fleet), and
the fields of the source's schema. Other columns are ignored. Files are read piece by piece, so each
must be in order of arrival; with a vehicle chosen, only that vehicle's tuples must be.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from headway.errors import DataError, FileError, InputError, Place, Problem
from headway.extensions import ExtensionObjects
from headway.model.query import Source
from headway.model.schema import ARRIVAL_COLUMN, TIMESTAMP_COLUMN, VEHICLE_COLUMN, Schema
from headway.model.user_operator import Row
from headway.sources.source_records import Record, RecordingFormat

FORMATS: ExtensionObjects[RecordingFormat] = ExtensionObjects(
    "headway.sources",
    what="recording format",
    base="headway.sources.source_records:RecordingFormat",
    own={
        "parquet": "headway.sources.parquet_file:ParquetFormat",
        "csv": "headway.sources.csv_file:CsvFormat",
        "jsonl": "headway.sources.jsonl_file:JsonLinesFormat",
        "can": "headway.sources.can_log:CanFormat",
        "yaml": "headway.sources.pointer_file:PointedFormat",
    },
)
"""how a source's file may end, without the dot, and who reads it"""


def suffixes() -> tuple[str, ...]:
    """How the file of a source may end. None of the readers is loaded."""
    return tuple(f".{name}" for name in FORMATS.names)


def read_file(path: Path, schema: Schema) -> Iterator[Record]:
    """The tuples as they stand in a file, by its format's reader."""
    return FORMATS[path.suffix[1:]].read(path, schema)


class RecordedArrival(NamedTuple):
    """A tuple reaches the vehicle; ``arrived_at`` in microseconds since the epoch."""

    arrived_at: int
    source: str
    row: Row
    vehicle: str | None


def read_recording(
    folder: Path, sources: Iterable[Source], vehicle: str | None = None
) -> Iterator[RecordedArrival]:
    """All tuples in order of (arrival, the sources' order, place in the file).

    ``vehicle`` leaves out the tuples of others. FileError when a file is missing or unreadable, at
    once; DataError when one does not have the form its source promises.
    """
    listed = list(sources)
    return merged(
        listed,
        [read_source(folder, source, vehicle) for source in listed],
    )


def merged(
    sources: Sequence[Source], streams: Sequence[Iterable[Record]]
) -> Iterator[RecordedArrival]:
    """The sources' records, each in order of arrival, as one stream in that order; ties go by the
    sources' order."""
    numbered = [_numbered(place, records) for place, records in enumerate(streams)]
    names = [source.name for source in sources]
    found = numbered[0] if len(numbered) == 1 else heapq.merge(*numbered)
    return (RecordedArrival(at, names[place], row, owner) for at, place, _, row, owner in found)


def find_file(folder: Path, name: str) -> Path:
    """The file of a source in a recording, or its folder of files."""
    if not folder.is_dir():
        raise FileError("there is no such folder", place=Place(str(folder)))
    found = [path for suffix in suffixes() if (path := folder / f"{name}{suffix}").exists()]
    if not found and (folder / name).is_dir():
        return folder / name
    if not found:
        there = sorted(path.name for path in folder.iterdir())
        raise FileError(
            f"no file for source {name!r}",
            place=Place(str(folder)),
            got=", ".join(there[:20]) or "an empty folder",
            want=f"write {', '.join(name + suffix for suffix in suffixes())}",
        )
    if len(found) > 1:
        raise FileError(
            f"several files for source {name!r}",
            place=Place(str(folder)),
            got=", ".join(path.name for path in found),
            want="keep one of them",
        )
    return found[0]


def source_files(folder: Path, name: str) -> list[Path]:
    """The files of a source in a recording: one, or in order of name those in its folder."""
    found = find_file(folder, name)
    if not found.is_dir():
        return [found]
    there = sorted(path for path in found.iterdir() if not path.name.startswith(("_", ".")))
    known = {path.suffix for path in there} & set(suffixes())
    if len(known) != 1:
        raise FileError(
            f"files of several kinds for source {name!r}"
            if known
            else f"no file for source {name!r}",
            place=Place(str(found)),
            got=", ".join(path.name for path in there[:20]) or "an empty folder",
            want=f"files of one kind of {', '.join(suffixes())}",
        )
    return [path for path in there if path.suffix in known]


def read_source(folder: Path, source: Source, vehicle: str | None = None) -> Iterator[Record]:
    """The tuples of a source in arrival order, each file of which is."""
    files = source_files(folder, source.name)
    streams = [read_stream(path, source.schema, vehicle) for path in files]
    return streams[0] if len(streams) == 1 else heapq.merge(*streams, key=_arrived_at)


def _arrived_at(record: Record) -> int:
    return record.arrived_at


def read_stream(path: Path, schema: Schema, vehicle: str | None = None) -> Iterator[Record]:
    """The tuples of one file in arrival order; opens it and checks its columns at once."""
    records = read_file(path, schema)
    if vehicle is not None:
        records = (record for record in records if record.vehicle == vehicle)
    return _ordered(path, records)


def _ordered(path: Path, records: Iterator[Record]) -> Iterator[Record]:
    before: Record | None = None
    for record in records:
        if before is not None and record.arrived_at < before.arrived_at:
            raise out_of_order(path, record.number, record.arrived_at, before.arrived_at)
        before = record
        yield record


def out_of_order(path: Path, number: int, arrived_at: int, before: int) -> DataError:
    return DataError(
        "a tuple arrives before the one in front of it",
        place=Place(str(path), number),
        at=ARRIVAL_COLUMN,
        got=f"{arrived_at} after {before} (microseconds)",
        want="sort the file by arrival, stably",
    )


_Numbered = tuple[int, int, int, Row, str | None]


def _numbered(place: int, records: Iterable[Record]) -> Iterator[_Numbered]:
    for number, (arrived_at, vehicle, row, _) in enumerate(records):
        yield arrived_at, place, number, row, vehicle


# ---------------------------------------------------------------- what is in it
# A recording is read through once before anything runs. That finds what no single file shows:
# whether all tuples name a vehicle or none does, and whether there is anything at all. Times must
# fit the engine's clock of 64 bits of nanoseconds.


FARTHEST = 4_500_000_000_000_000
"""Microseconds from the epoch, either way: the years 1827 to 2112."""


@dataclass(slots=True)
class Contents:
    """Tuples by source and by vehicle. ``begin`` is the first arrival, in microseconds."""

    tuples: dict[str, int]
    by_vehicle: dict[str | None, int] = field(default_factory=dict)
    begin: int = 0

    @property
    def count(self) -> int:
        return sum(self.tuples.values())

    @property
    def vehicles(self) -> list[str | None]:
        """In the order of their names; [None] when the recording is of one, unnamed."""
        return sorted(self.by_vehicle, key=lambda vehicle: vehicle or "")

    @property
    def named(self) -> bool:
        """Whether tuples say of which vehicle they are."""
        return None not in self.by_vehicle


def scan_recording(folder: Path, sources: Iterable[Source]) -> Contents:
    """Counts a recording's tuples; FileError or DataError when it cannot be run."""
    files = [(source, path) for source in sources for path in source_files(folder, source.name)]
    got = f"only empty files: {', '.join(path.name for _, path in files[:20])}"
    return count_records(
        ((source.name, path, read_file(path, source.schema)) for source, path in files),
        FileError("there is nothing to run", place=Place(str(folder)), got=got),
    )


def count_records(
    streams: Iterable[tuple[str, Path | str, Iterable[Record]]], nothing: InputError
) -> Contents:
    """Of sources: the name, what messages call it, its tuples. ``nothing`` is raised where there is
    no tuple, DataError where times or vehicles cannot be."""
    contents = Contents({})
    begin = FARTHEST
    nameless: Problem | None = None
    for name, path, records in streams:
        contents.tuples.setdefault(name, 0)
        for record in records:
            begin = min(begin, record.arrived_at)
            _check_times(path, record)
            if record.vehicle is None and nameless is None:
                nameless = Problem(
                    "a tuple without a vehicle, in a recording with vehicles",
                    place=Place(str(path), record.number),
                    at=VEHICLE_COLUMN,
                    want=f"give every tuple of every file its {VEHICLE_COLUMN!r}, or none",
                )
            contents.tuples[name] += 1
            found = contents.by_vehicle
            found[record.vehicle] = found.get(record.vehicle, 0) + 1
    if not contents.count:
        raise nothing
    if nameless is not None and len(contents.by_vehicle) > 1:
        raise DataError(nameless)
    contents.begin = begin
    return contents


def _check_times(path: Path | str, record: Record) -> None:
    times = {ARRIVAL_COLUMN: record.arrived_at, TIMESTAMP_COLUMN: record.row[0]}
    for column, time in times.items():
        if time is not None and not -FARTHEST <= time <= FARTHEST:
            raise DataError(
                "a time beyond the engine's clock",
                place=Place(str(path), record.number),
                at=column,
                got=f"{time} (microseconds)",
                want="a time between the years 1828 and 2112",
            )
