"""A source in an ASAM MDF 4 measurement: a YAML file ``NAME.yaml`` says which channels.

    mdf: drive.mf4
    columns: {v: VehicleSpeed, gear: Gear}   # channels of one group, sampled together
    group: CAN 1              # its name, comment or number; only where several have the channels
    vehicle: KA-HW-1          # optional
    start: 2026-01-01T00:00Z  # instead of the measurement's own start; optional

A sample marked invalid is NULL. A string column gets the text of a channel with a table of texts, a
column of numbers its number. Channels of different groups have clocks of their own: they are
sources of their own, which a query joins.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from headway.errors import DataError, FileError, HeadwayError, Place, Problem
from headway.model.schema import DataType, Field, Schema
from headway.sources import source_records
from headway.sources.pointer_file import Pointer
from headway.sources.source_records import Record, unreadable

# ---------------------------------------------------------------- whether the file is whole
# A measurement that was cut short (power lost, copy interrupted) may still open and give fewer
# samples than were taken, so it is looked at before it is read: every block that another one points
# to must lie inside. All blocks of MDF 4 begin alike: an identification ``##XX``, four bytes, the
# block's length, the number of its links, and the links, each the place of another block or 0 (ASAM
# MDF 4.1, 4.2).

_HEAD = struct.Struct("<4s4xQQ")
_FIRST = 64
"""where the header block stands, behind the identification"""


def check_whole(path: Path) -> None:
    """FileError when it is no MDF 4, was not finished, or lacks a part."""
    try:
        with path.open("rb") as file:
            _check_identification(path, file.read(_FIRST))
            _check_blocks(path, file)
    except OSError as error:
        raise unreadable(path, error) from None


def _check_identification(path: Path, start: bytes) -> None:
    name, version = start[:8].rstrip(), start[8:16].rstrip(b" \0")
    if name == b"UnFinMF":
        what = "was not finished by the tool that wrote it (its mark is 'UnFinMF')"
        raise _bad(path, what, want="let that tool finalise it")
    if name != b"MDF" or len(start) < _FIRST:
        raise _bad(path, "is no MDF file", got=f"{start[:16]!r}")
    if not version.startswith(b"4."):
        what = "is not MDF 4"
        raise _bad(path, what, got=f"version {version.decode('latin-1')}", want="convert it")


def _check_blocks(path: Path, file: BinaryIO) -> None:
    size = path.stat().st_size
    seen: set[int] = set()
    waiting = [_FIRST]
    while waiting:
        at = waiting.pop()
        if at == 0 or at in seen:
            continue
        seen.add(at)
        if at + _HEAD.size > size:
            raise _short(path, at, size)
        file.seek(at)
        head = file.read(_HEAD.size)
        name, length, links = _HEAD.unpack(head)
        if not name.startswith(b"##") or length < _HEAD.size + 8 * links:
            raise _bad(path, f"is damaged: there is no block at byte {at:,}", got=repr(name))
        if at + length > size:
            raise _short(path, at, size)
        waiting += struct.unpack(f"<{links}Q", file.read(8 * links))


def _short(path: Path, at: int, size: int) -> FileError:
    return _bad(
        path,
        f"is cut short: a block that should be at byte {at:,} is not whole",
        got=f"{size:,} bytes",
        want="copy it again, or let the tool that wrote it repair it",
    )


def _bad(path: Path, what: str, *, got: str = "", want: str = "") -> FileError:
    return FileError(what, place=Place(str(path)), got=got, want=want)


# ---------------------------------------------------------------- samples as cells


_BITS = {DataType.INT: 31, DataType.BIGINT: 63}


def cells(signal: Any, field: Field, channel: str, path: Path, first: int) -> list[Any]:
    """Values of the column's type, None where the sample is invalid or not a number.

    DataError where a sample is not such a value; ``first`` is the number of samples before these.
    """
    values = signal.physical().samples
    # A table of texts: numbers are what is behind it.
    if field.type is not DataType.STRING and values.dtype.kind in "SUO":
        values = signal.samples
    _check_kind(values, field, channel, path)
    absent = np.zeros(len(values), bool)
    if signal.invalidation_bits is not None:
        absent |= np.asarray(signal.invalidation_bits, bool)
    if values.dtype.kind == "f":
        absent |= np.isnan(values)
    if field.type is DataType.STRING:
        found = [_text(value) for value in values.tolist()]
    else:
        found = _numbers(values, field, ~absent, channel, path, first).tolist()
    return [None if gone else value for gone, value in zip(absent.tolist(), found, strict=True)]


def _check_kind(values: Any, field: Field, channel: str, path: Path) -> None:
    kinds = "SUObiuf" if field.type is DataType.STRING else "biuf"
    if values.ndim != 1 or values.dtype.kind not in kinds or field.type is DataType.TIMESTAMP:
        raise DataError(
            f"channel {channel!r} cannot be {field.describe()}",
            place=Place(str(path)),
            at=field.name,
            got=f"{values.dtype} of {values.ndim} dimensions",
        )


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _numbers(values: Any, field: Field, there: Any, channel: str, path: Path, first: int) -> Any:
    if field.type is DataType.DOUBLE:
        return values.astype(np.float64)
    if field.type is DataType.FLOAT:
        with np.errstate(over="ignore"):  # infinity, as everywhere
            return values.astype(np.float32).astype(np.float64)
    with np.errstate(invalid="ignore"):
        if field.type is DataType.BOOLEAN:
            fits = (values == 0) | (values == 1)
        else:
            limit = 2.0 ** _BITS[field.type]
            fits = (values == np.rint(values)) & (values >= -limit) & (values < limit)
        wrong = np.flatnonzero(there & ~fits)
        if len(wrong):
            raise DataError(
                "a sample is not a value of its column",
                place=Place(str(path), first + int(wrong[0]) + 1),
                at=f"{field.name} ({channel})",
                got=str(values[wrong[0]]),
                want=f"want {field.describe()}",
            )
        return np.where(there, values, 0).astype(
            bool if field.type is DataType.BOOLEAN else np.int64
        )


# ---------------------------------------------------------------- the channel group


TIME = 1
"""the synchronisation type of a master channel that holds time (ASAM MDF 4.1, CNBLOCK)"""


def find_group(measurement: Any, channels: Sequence[str], wanted: Any, place: Place) -> int:
    """The number of the one group that has them all and a clock; DataError where there is none."""
    if unknown := [name for name in channels if name not in measurement.channels_db]:
        there = ", ".join(sorted(measurement.channels_db)[:30])
        raise DataError(
            Problem(f"there is no channel {name!r}", place=place, got=there) for name in unknown
        )
    having = [{group for group, _ in measurement.channels_db[name]} for name in channels]
    found = sorted(set.intersection(*having)) if having else range(len(measurement.groups))
    if wanted is not None:
        found = [
            group for group in found if str(wanted) in (str(group), *_names(measurement, group))
        ]
    if len(found) != 1:
        raise _not_one(measurement, channels, wanted, list(found), place)
    _check_clock(measurement, found[0], place)
    return found[0]


def _not_one(
    measurement: Any, channels: Sequence[str], wanted: Any, found: list[int], place: Place
) -> DataError:
    listed = ", ".join(channels)
    if found:
        got = ", ".join(_told(measurement, group) for group in found)
        return DataError(
            f"several groups have {listed}", place=place, got=got, want="say which: 'group:'"
        )
    got = "; ".join(
        f"{name} in {', '.join(_told(measurement, g) for g, _ in measurement.channels_db[name])}"
        for name in channels
    )
    what = (
        f"no group has {listed} together" if wanted is None else f"no group {wanted} has {listed}"
    )
    want = "a source takes channels that were sampled together: make sources of their own"
    return DataError(what, place=place, got=got, want=want)


def _names(measurement: Any, group: int) -> list[str]:
    block = measurement.groups[group].channel_group
    return [name for name in (block.acq_name, block.comment) if name]


def _told(measurement: Any, group: int) -> str:
    names = _names(measurement, group)
    return f"{group} ({names[0]:.40})" if names else str(group)


def _check_clock(measurement: Any, group: int, place: Place) -> None:
    master = measurement.masters_db.get(group)
    kind = None if master is None else measurement.groups[group].channels[master].sync_type
    if kind != TIME:
        got = "no master channel" if kind is None else f"a master channel of type {kind}"
        what = f"group {_told(measurement, group)} has no times"
        raise DataError(what, place=place, got=got, want="want a master channel of time")


# ---------------------------------------------------------------- the source


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
                raise DataError(what, place=Place(str(path)), at=f"group {group}")
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
    asammdf = source_records.needed("asammdf", "asammdf", extra="mdf", reading="MDF files")
    with path.open("rb") as file:
        try:
            measurement = asammdf.MDF(file)
            try:
                _check_channels(path, measurement)
                yield measurement
            finally:
                measurement.close()
        except HeadwayError:
            raise
        except Exception as error:  # noqa: BLE001
            _let_go(error)
            what = f"cannot be read as an MDF file ({type(error).__name__})"
            raise unreadable(path, error, what) from None


_IN_NO_RECORD = {3, 6}
"""types of channels that are computed, not recorded"""


def _check_channels(path: Path, measurement: Any) -> None:
    """What reads samples out of records, in C, asks no more whether they are there."""
    for group in measurement.groups:
        bits = 8 * group.channel_group.samples_byte_nr
        for channel in group.channels:
            end = 8 * channel.byte_offset + channel.bit_offset + channel.bit_count
            if channel.channel_type not in _IN_NO_RECORD and end > bits:
                what = f"is damaged: channel {channel.name!r} lies outside of its records"
                raise _bad(path, what, got=f"{end:,} of {bits:,} bits")


def _let_go(error: Exception) -> None:
    """What asammdf had half made when it gave up would complain on standard error when it goes."""
    trace = error.__traceback__
    while trace is not None:
        made = trace.tb_frame.f_locals.get("self")
        if made is not None and hasattr(made, "_closed") and hasattr(made, "_tempfile"):
            made._closed = True
            made._tempfile.close()
        trace = trace.tb_next


def _samples(measurement: Any, channel: str, group: int, first: int, count: int) -> Any:
    return measurement.get(
        channel,
        group=group,
        raw=True,
        ignore_invalidation_bits=True,
        record_offset=first,
        record_count=count,
    )
