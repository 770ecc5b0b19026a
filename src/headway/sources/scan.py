"""What is in a recording: read through once, before anything runs.

It finds what no single file shows: whether all tuples name a vehicle or none does, and whether
there is anything at all. Times must fit the engine's clock of 64 bits of nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from headway.errors import DataError, FileError, Place, Problem
from headway.model.query import Source
from headway.model.schema import ARRIVAL_COLUMN, TIMESTAMP_COLUMN, VEHICLE_COLUMN
from headway.sources.record import Record
from headway.sources.recordings import READERS, find_file

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
    files = {source.name: (find_file(folder, source.name), source) for source in sources}
    contents = Contents(dict.fromkeys(files, 0))
    begin = FARTHEST
    nameless: Problem | None = None
    for name, (path, source) in files.items():
        for record in READERS[path.suffix](path, source.schema):
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
        got = f"only empty files: {', '.join(path.name for path, _ in files.values())}"
        raise FileError(Problem("there is nothing to run", place=Place(str(folder)), got=got))
    if nameless is not None and len(contents.by_vehicle) > 1:
        raise DataError(nameless)
    contents.begin = begin
    return contents


def _check_times(path: Path, record: Record) -> None:
    times = {ARRIVAL_COLUMN: record.arrived_at, TIMESTAMP_COLUMN: record.row[0]}
    for column, time in times.items():
        if time is not None and not -FARTHEST <= time <= FARTHEST:
            raise DataError(
                Problem(
                    "a time beyond the engine's clock",
                    place=Place(str(path), record.number),
                    at=column,
                    got=f"{time} (microseconds)",
                    want="a time between the years 1828 and 2112",
                )
            )
