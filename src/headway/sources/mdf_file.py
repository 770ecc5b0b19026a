"""A source in an ASAM MDF 4 measurement: a YAML file ``NAME.yaml`` says which channels.

    mdf: drive.mf4
    columns: {v: VehicleSpeed, gear: Gear}   # channels of one group, sampled together
    group: CAN 1              # its name, comment or number; only where several have the channels
    vehicle: KA-HW-1          # optional
    start: 2026-01-01T00:00Z  # instead of the measurement's own start; optional

A sample marked invalid is NULL. A string column gets the text of a channel with a table of texts,
a column of numbers its number. Channels of different groups have clocks of their own: they are
sources of their own, which a query joins.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from headway.errors import DataError, Place, Problem
from headway.model.schema import Schema
from headway.sources import optional
from headway.sources.mdf_blocks import check_whole
from headway.sources.mdf_groups import find_group
from headway.sources.mdf_samples import cells
from headway.sources.pointer import Pointer
from headway.sources.record import Record, unreadable

KEYS = ("mdf", "columns", "group", "vehicle", "start")
RECORDS = 65_536
"""read at a time"""


def read_mdf(pointer: Pointer, schema: Schema) -> Iterator[Record]:
    """The samples in order of time; the file and the channels are checked at once. ``number``
    counts samples."""
    pointer.only(KEYS)
    path, channels = pointer.file("mdf"), pointer.all_columns(schema, "channel")
    start, vehicle = pointer.time("start"), pointer.text("vehicle")
    check_whole(path)
    with _measurement(path) as measurement:
        group = find_group(measurement, channels, pointer.data.get("group"), Place(str(path)))
        for field, channel in zip(schema.fields, channels, strict=True):
            samples = _samples(measurement, channel, group, 0, 1)
            cells(samples, field, channel, path, 0)  # refuses what cannot be such a column
        if start is None:
            start = round(measurement.header.start_time.timestamp() * 1e6)
    return _records(path, schema, channels, group, start, vehicle)


def _records(
    path: Path, schema: Schema, channels: list[str], group: int, start: int, vehicle: str | None
) -> Iterator[Record]:
    with _measurement(path) as measurement:
        count = int(measurement.groups[group].channel_group.cycles_nr)
        for first in range(0, count, RECORDS):
            piece = [_samples(measurement, name, group, first, RECORDS) for name in channels]
            seconds = measurement.get_master(group, record_offset=first, record_count=RECORDS)
            wanted = min(RECORDS, count - first)
            if any(len(one.samples) != wanted for one in piece) or len(seconds) != wanted:
                what = f"has {first + len(seconds):,} of the {count:,} samples it tells of"
                raise DataError(Problem(what, place=Place(str(path)), at=f"group {group}"))
            times = (np.rint(seconds * 1e6).astype(np.int64) + start).tolist()
            columns = [
                cells(one, field, channel, path, first)
                for one, field, channel in zip(piece, schema.fields, channels, strict=True)
            ]
            rows = zip(times, *columns, strict=True)
            for number, row in enumerate(rows, start=first + 1):
                yield Record(row[0], vehicle, row, number)


@contextmanager
def _measurement(path: Path) -> Iterator[Any]:
    """asammdf lets out whatever a damaged file makes it trip over."""
    asammdf = optional.needed("asammdf", "asammdf", extra="mdf", reading="MDF files")
    try:
        measurement = asammdf.MDF(path)
    except Exception as error:  # noqa: BLE001
        what = f"cannot be read as an MDF file ({type(error).__name__})"
        raise unreadable(path, error, what) from None
    try:
        yield measurement
    finally:
        measurement.close()


def _samples(measurement: Any, channel: str, group: int, first: int, count: int) -> Any:
    return measurement.get(
        channel,
        group=group,
        raw=True,
        ignore_invalidation_bits=True,
        record_offset=first,
        record_count=count,
    )
