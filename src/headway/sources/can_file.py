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

import yaml

from headway.errors import DataError, Place, Problem
from headway.model.schema import Schema
from headway.sources.can import CanDecoder
from headway.sources.can_logs import find_logs, read_frames
from headway.sources.can_mapping import CanMapping
from headway.sources.record import Record, parse_time, unreadable

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
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise unreadable(path, error) from None
    if not isinstance(data, dict):
        raise _wrong(path, "", "a mapping", data)
    return _path(path, data, "log"), mapping_of(data, path)


def mapping_of(data: Mapping[str, Any], path: Path) -> CanMapping:
    """What the keys say; ``path`` is the file they stand in. DataError if one is wrong."""
    if unknown := [str(key) for key in data if key not in KEYS]:
        raise _wrong(path, unknown[0], f"one of {', '.join(KEYS)}", unknown[0])
    columns = data.get("columns")
    if not isinstance(columns, dict) or not all(isinstance(v, str) for v in columns.values()):
        raise _wrong(path, "columns", "a signal for each column", columns)
    messages = data.get("messages", ["*"])
    messages = messages if isinstance(messages, list) else [messages]
    bus, vehicle = data.get("bus"), data.get("vehicle")
    if bus is not None and type(bus) is not int:
        raise _wrong(path, "bus", "a whole number", bus)
    try:
        start = parse_time(str(data.get("start", 0)))
    except ValueError:
        raise _wrong(path, "start", "a time, ISO 8601 or microseconds", data["start"]) from None
    return CanMapping(
        dbc=_path(path, data, "dbc"),
        columns=tuple((str(column), signal) for column, signal in columns.items()),
        messages=tuple(str(message) for message in messages),
        bus=bus,
        vehicle=None if vehicle is None else str(vehicle),
        start=start,
    )


def _path(path: Path, data: Mapping[str, Any], key: str) -> Path:
    value = data.get(key)
    if not isinstance(value, str):
        raise _wrong(path, key, "a path", value)
    return path.parent / value


def _wrong(path: Path, at: str, want: str, got: object) -> DataError:
    place = Place(str(path))
    return DataError(
        Problem("not right", place=place, at=at, got=f"{got!r:.80}", want=f"want {want}")
    )
