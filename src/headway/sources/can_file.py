"""A source of a recording that stands in a CAN log: a YAML file ``NAME.can`` says how.

    log: drive.blf            # or a folder of NumPy arrays, or a folder of logs
    dbc: radar.dbc
    bus: 1                    # without it: all
    messages: [TRACK_A_*]     # names with * and ?, or addresses; without it: all
    columns: {distance: LONG_DIST, track: frame.address}
    vehicle: KA-HW-1          # optional
    start: 2026-01-01T00:00Z  # added to the times of a log that counts from zero; optional

Paths are relative to the file. Frames that cannot be decoded are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from headway.model.schema import Schema
from headway.sources.can import CanDecoder
from headway.sources.can_logs import find_logs, read_frames
from headway.sources.can_mapping import CanMapping
from headway.sources.pointer import Pointer, load_pointer
from headway.sources.record import Record

KEYS = ("log", "dbc", "bus", "messages", "columns", "vehicle", "start")


def read_can(path: Path, schema: Schema) -> Iterator[Record]:
    """The tuples of the logs, which are read by name; the files and the mapping are checked at
    once. ``number`` counts frames over all logs."""
    logs, mapping = load_can_file(path)
    return read_logs(find_logs(logs), CanDecoder(mapping, schema))


def read_logs(logs: list[Path], decoder: CanDecoder) -> Iterator[Record]:
    vehicle = decoder.mapping.vehicle
    for log in logs:
        before = decoder.counts.frames
        for number, row in decoder.rows(read_frames(log)):
            yield Record(row[0], vehicle, row, before + number)


def load_can_file(path: Path) -> tuple[Path, CanMapping]:
    """The log and the mapping of a ``.can`` file; FileError or DataError."""
    pointer = load_pointer(path)
    return pointer.file("log"), mapping_of(pointer.data, path)


def mapping_of(data: Mapping[str, Any], path: Path) -> CanMapping:
    """What the keys say; ``path`` is the file they stand in. DataError if one is wrong."""
    pointer = Pointer(path, data)
    pointer.only(KEYS)
    messages = data.get("messages", ["*"])
    messages = messages if isinstance(messages, list) else [messages]
    bus = data.get("bus")
    if bus is not None and type(bus) is not int:
        raise pointer.wrong("bus", "a whole number", bus)
    return CanMapping(
        dbc=pointer.file("dbc"),
        columns=tuple(pointer.columns().items()),
        messages=tuple(str(message) for message in messages),
        bus=bus,
        vehicle=pointer.text("vehicle"),
        start=pointer.time("start") or 0,
    )
