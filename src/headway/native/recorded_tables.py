"""A recording of Parquet files for the native engine: read whole, taken apart by vehicle, and
handed over as tables. No tuple of it becomes an object of Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.engine.results import VehicleRun
from headway.model.query import Source
from headway.model.schema import ARRIVAL_COLUMN, TIMESTAMP_COLUMN, VEHICLE_COLUMN
from headway.native.arriving_rows import ArrivingTable, arriving_table
from headway.native.native_engine import NativeEngine
from headway.sources import source_records
from headway.sources.parquet_file import read_parquet_columns
from headway.sources.recordings import (
    FARTHEST,
    Contents,
    find_file,
    out_of_order,
    scan_recording,
)

PARQUET = ".parquet"


def all_parquet(folder: Path, sources: Sequence[Source]) -> bool:
    """Whether the recording can be read so."""
    found = (find_file(folder, source.name) for source in sources)
    return all(path.suffix == PARQUET and path.is_file() for path in found)


def scan_tables(folder: Path, sources: Sequence[Source]) -> Contents:
    """Like :func:`headway.sources.recordings.scan_recording`, for a recording that is
    :func:`all_parquet`. Where anything is wrong, that function says what, and where."""
    contents = Contents({})
    begins: list[int] = []
    for source in sources:
        counted = _counted(find_file(folder, source.name), source)
        if counted is None:
            return scan_recording(folder, sources)
        contents.tuples[source.name] = sum(counted.owners.values())
        begins += counted.begin
        for vehicle, count in counted.owners.items():
            contents.by_vehicle[vehicle] = contents.by_vehicle.get(vehicle, 0) + count
    if not begins or (None in contents.by_vehicle and len(contents.by_vehicle) > 1):
        return scan_recording(folder, sources)
    contents.begin = min(begins)
    return contents


class _Counted(NamedTuple):
    """A file's tuples by vehicle, and the first arrival, where there is one."""

    owners: dict[str | None, int]
    begin: list[int]


def _counted(path: Path, source: Source) -> _Counted | None:
    """None where a time is missing, or beyond the engine's clock."""
    found = read_parquet_columns(path, source.schema)
    arrived = found.get(ARRIVAL_COLUMN, found[TIMESTAMP_COLUMN])
    if arrived.null_count:
        return None
    for times in (arrived, found[TIMESTAMP_COLUMN]):
        limits = pc.min_max(times).as_py()
        least, most = limits["min"], limits["max"]
        if least is not None and not (least >= -FARTHEST and most <= FARTHEST):
            return None
    if not len(arrived):
        return _Counted({}, [])
    owners: dict[str | None, int] = {None: len(arrived)}
    if VEHICLE_COLUMN in found:
        counts = found[VEHICLE_COLUMN].value_counts()
        owners = {one["values"].as_py(): one["counts"].as_py() for one in counts}
    return _Counted(owners, [pc.min(arrived).as_py()])


def replay_tables(
    folder: Path,
    sources: Sequence[Source],
    contents: Contents,
    make_engine: Callable[[], NativeEngine],
) -> Iterator[VehicleRun]:
    """Like :func:`headway.engine.engine.replay`, for a recording that is :func:`all_parquet`."""
    read = {source.name: _read(find_file(folder, source.name), source) for source in sources}
    for vehicle in contents.vehicles:
        tables = {name: one.of_vehicle(vehicle) for name, one in read.items()}
        yield VehicleRun(vehicle, make_engine().run_tables(tables))


@dataclass(frozen=True)
class _SourceTable:
    """The columns of one file in the order of its vehicles; ``begins`` are the places at which each
    of ``vehicles`` begins, then the end; ``numbers`` the rows' own places in the file."""

    path: Path
    columns: Sequence[Any]
    arrived: Any
    numbers: Any
    begins: Sequence[int]
    vehicles: dict[str | None, int]

    def of_vehicle(self, vehicle: str | None) -> ArrivingTable:
        place = self.vehicles.get(vehicle)
        first, end = (0, 0) if place is None else self.begins[place : place + 2]
        times = self.arrived[first:end]
        early = np.flatnonzero(times[1:] < times[:-1])
        if len(early):
            wrong = int(early[0]) + 1
            number = int(self.numbers[first + wrong]) + 1
            raise out_of_order(self.path, number, int(times[wrong]), int(times[wrong - 1]))
        parts = [column.slice(first, end - first) for column in self.columns]
        return arriving_table(parts, pa.array(times))


def _read(path: Path, source: Source) -> _SourceTable:
    found = read_parquet_columns(path, source.schema)
    columns = [found[field.name] for field in source.schema.columns]
    arrived = found.get(ARRIVAL_COLUMN, found[TIMESTAMP_COLUMN])
    if arrived.null_count:
        unknown = np.flatnonzero(arrived.is_null().to_numpy(zero_copy_only=False))
        raise source_records.unknown_arrival(path, int(unknown[0]) + 1)
    times = arrived.to_numpy(zero_copy_only=False)
    numbers = np.arange(len(times))
    owners = found.get(VEHICLE_COLUMN)
    if owners is None:
        return _SourceTable(path, columns, times, numbers, [0, len(times)], {None: 0})
    coded = owners.dictionary_encode()
    names = [*coded.dictionary.to_pylist(), None]
    codes = coded.indices.fill_null(len(names) - 1).to_numpy(zero_copy_only=False)
    order = np.argsort(codes, kind="stable")
    begins = np.searchsorted(codes[order], np.arange(len(names) + 1)).tolist()
    return _SourceTable(
        path,
        [column.take(pa.array(order)) for column in columns],
        times[order],
        order,
        begins,
        {name: place for place, name in enumerate(names)},
    )
