"""A source in a recorded CAN log: a YAML file ``NAME.can`` says how its frames become tuples.

    log: drive.blf            # or a folder of NumPy arrays, or a folder of logs
    dbc: radar.dbc
    bus: 1                    # without it: all
    messages: [TRACK_A_*]     # names with * and ?, or addresses; without it: all
    columns: {distance: LONG_DIST, track: frame.address}
    vehicle: KA-HW-1          # optional
    start: 2026-01-01T00:00Z  # added to the times of a log that counts from zero; optional

Paths are relative to the file. A frame that was asked for and cannot be decoded is counted under
its address and a reason, and left out; nothing is guessed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile
from zlib import error as DeflateError

import numpy as np

from headway.errors import DataError, FileError, Place, Problem
from headway.expressions.kernels import f32
from headway.model.schema import DataType, Field, Schema
from headway.model.user_operator import Row
from headway.sources import source_records
from headway.sources.pointer_file import Pointer, load_pointer
from headway.sources.source_records import Record, RecordingFormat, unreadable

# ------------------------------------------------- what is asked for, and what became of the frames

OF_FRAME = ("frame.address", "frame.bus", "frame.message")
"""what a column may hold besides a signal; no signal has a dot in its name"""
FRAME_TYPES = dict(zip(OF_FRAME, (DataType.INT, DataType.INT, DataType.STRING), strict=True))


@dataclass(frozen=True)
class CanMapping:
    """``columns`` are (column, signal). ``messages`` are names with ``*`` and ``?``, or addresses;
    ``start`` (microseconds) is added to every time, for logs that count from zero."""

    dbc: Path
    columns: tuple[tuple[str, str], ...]
    messages: tuple[str, ...] = ("*",)
    bus: int | None = None
    vehicle: str | None = None
    start: int = 0


class Undecodable(NamedTuple):
    bus: int
    address: int
    message: str
    """as the DBC calls it, '' where it does not know the address"""
    reason: str


@dataclass
class FrameCounts:
    """``rows`` + ``other`` (buses and messages not asked for) + all ``undecodable`` = ``frames``"""

    frames: int = 0
    rows: int = 0
    other: int = 0
    undecodable: Counter[Undecodable] = field(default_factory=Counter)

    def __str__(self) -> str:
        told = [f"{self.frames:,} frames: {self.rows:,} rows, {self.other:,} not asked for"]
        for one, count in sorted(self.undecodable.items(), key=lambda item: (-item[1], item[0])):
            name = f"{one.message} " if one.message else ""
            told.append(f"{count:,} of {name}{one.address:#x} on bus {one.bus}: {one.reason}")
        return "; ".join(told)


# ---------------------------------------------------------------- frames
# What python-can reads (.asc, .blf, .csv, .log, .trc), and folders in the layout of comma2k19, with
# NumPy arrays ``t``, ``address``, ``data`` and ``src``.


SUFFIXES = (".asc", ".blf", ".csv", ".log", ".trc")
ARRAYS = ("t", "address", "data", "src")
ARRAY_FILE = ".npz"
LARGEST_STANDARD = 0x7FF
_PIECE = 8192


class CanFrame(NamedTuple):
    """``number`` counts from 1 in its log. ``remark`` says why there is nothing to decode."""

    number: int
    microseconds: int
    bus: int
    address: int
    data: bytes
    extended: bool
    remark: str = ""


def needed(module: str, package: str) -> Any:
    """A package of the extra ``can``, or EnvironmentMissing."""
    return source_records.needed(module, package, extra="can", reading="CAN logs")


def is_log(path: Path) -> bool:
    return is_array_log(path) or (path.is_file() and path.suffix.lower() in SUFFIXES)


def is_array_log(path: Path) -> bool:
    if path.suffix.lower() == ARRAY_FILE:
        return path.is_file()
    return path.is_dir() and all((path / name).is_file() for name in ARRAYS)


def find_logs(path: Path) -> list[Path]:
    """The log itself, or all logs directly in a folder, by name; FileError if there is none."""
    if is_log(path):
        return [path]
    if path.is_dir():
        found = sorted(p for p in path.iterdir() if not p.name.startswith((".", "_")) and is_log(p))
        if found:
            return found
    kinds = ", ".join(sorted((*SUFFIXES, ARRAY_FILE)))
    want = f"a file of {kinds}, or a folder with {', '.join(ARRAYS)}"
    raise FileError("there is no CAN log", place=Place(str(path)), want=want)


def count_frames(path: Path) -> int | None:
    """How many frames a log has, where that is known without reading it."""
    return len(_arrays(path)["t"]) if is_array_log(path) else None


def read_frames(path: Path, start: int = 0, end: int | None = None) -> Iterator[CanFrame]:
    """The frames ``start`` to ``end`` (from 0, without ``end``); FileError if unreadable."""
    if is_array_log(path):
        return _from_arrays(path, start, end)
    return (frame for frame in _from_file(path) if start < frame.number <= (end or frame.number))


def _arrays(path: Path) -> dict[str, Any]:
    try:
        if path.is_dir():
            arrays = {n: np.load(path / n, mmap_mode="r", allow_pickle=False) for n in ARRAYS}
        else:
            # NumPy leaves a file open that it opened itself and finds damaged.
            with path.open("rb") as file, np.load(file, allow_pickle=False) as packed:
                arrays = {name: packed[name] for name in ARRAYS}
    except (OSError, ValueError, EOFError, KeyError, BadZipFile, DeflateError) as error:
        raise unreadable(path, error) from None
    kinds = "".join(arrays[name].dtype.kind for name in ARRAYS)
    lengths = {array.shape for array in arrays.values()}
    if kinds not in ("fiSi", "fuSu", "fiSu", "fuSi") or len(lengths) != 1:
        got = ", ".join(f"{name} {a.dtype} {a.shape}" for name, a in arrays.items())
        what = "is not a CAN log of arrays of one length"
        raise FileError(what, place=Place(str(path)), got=got)
    return arrays


def _from_arrays(path: Path, start: int, end: int | None) -> Iterator[CanFrame]:
    arrays = _arrays(path)
    count = len(arrays["t"]) if end is None else min(end, len(arrays["t"]))
    for first in range(start, count, _PIECE):
        piece = slice(first, min(first + _PIECE, count))
        times = np.rint(arrays["t"][piece] * 1e6).astype(np.int64).tolist()
        addresses, buses = arrays["address"][piece].tolist(), arrays["src"][piece].tolist()
        data = arrays["data"][piece].tolist()  # NumPy takes zeros at the end away
        rows = zip(times, buses, addresses, data, strict=True)
        for number, (at, bus, address, content) in enumerate(rows, start=first + 1):
            extended = address > LARGEST_STANDARD
            yield CanFrame(number, at, bus, address, content.ljust(8, b"\0"), extended)


def _from_file(path: Path) -> Iterator[CanFrame]:
    can = needed("can", "python-can")
    try:
        with can.LogReader(path) as reader:
            for number, message in enumerate(reader, start=1):
                yield frame_of(number, message)
    # The readers of python-can let out whatever a damaged file makes them trip over.
    except Exception as error:  # noqa: BLE001
        what = f"cannot be read as a CAN log ({type(error).__name__})"
        raise unreadable(path, error, what) from None


def frame_of(number: int, message: Any) -> CanFrame:
    """What python-can calls a message."""
    return CanFrame(
        number,
        round(message.timestamp * 1e6),
        _bus(message.channel),
        message.arbitration_id,
        bytes(message.data or b""),
        message.is_extended_id,
        _remark(message),
    )


def _bus(channel: Any) -> int:
    """``0`` where a log does not tell; the number in names such as ``can1``."""
    if isinstance(channel, int):
        return channel
    digits = "".join(letter for letter in str(channel or "") if letter.isdigit())
    return int(digits) if digits else 0


def _remark(message: Any) -> str:
    if message.is_error_frame:
        return "an error frame"
    return "a remote frame" if message.is_remote_frame else ""


# ---------------------------------------------------------------- frames to tuples


class _Wanted(NamedTuple):
    message: Any
    cells: list[tuple[str, bool, Callable[[Any], Any]]]
    """signal, whether by the name of its choice, conversion; for each column"""


class CanDecoder:
    """Opens the DBC and checks the mapping against it and the schema: FileError or DataError."""

    def __init__(self, mapping: CanMapping, schema: Schema) -> None:
        self.mapping = mapping
        self.counts = FrameCounts()
        self._where = Place(str(mapping.dbc))
        database = load_database(mapping.dbc)
        self._known = {(m.frame_id, m.is_extended_frame): m for m in database.messages}
        chosen = [m for m in database.messages if any(_is(m, w) for w in mapping.messages)]
        if not chosen:
            names = ", ".join(message.name for message in database.messages[:20])
            what = f"no message is called {', '.join(mapping.messages)}"
            raise DataError(what, place=self._where, got=names or "no messages at all")
        signals = dict(mapping.columns)
        self._check(schema, signals, chosen)
        cells = [_cell(column, signals[column.name]) for column in schema.fields]
        self._wanted = {(m.frame_id, m.is_extended_frame): _Wanted(m, cells) for m in chosen}
        self._choices = any(by_name for _, by_name, _ in cells)

    def _check(self, schema: Schema, signals: dict[str, str], chosen: list[Any]) -> None:
        there = {signal.name for message in chosen for signal in message.signals}
        problems = []
        for column in schema.fields:
            signal = signals.get(column.name)
            if signal is None:
                got = f"signals for {', '.join(signals)}" if signals else "no columns"
                problems.append(Problem(f"column {column.name!r} has no signal", got=got))
            elif signal not in FRAME_TYPES and signal not in there:
                got = ", ".join(sorted(there)[:30])
                what = f"no chosen message has a signal {signal!r}"
                problems.append(Problem(what, place=self._where, at=column.name, got=got))
            elif column.type is DataType.TIMESTAMP or (
                signal == "frame.message" and column.type is not DataType.STRING
            ):
                what = f"{signal!r} cannot be {column.describe()}"
                problems.append(Problem(what, at=column.name))
        if problems:
            raise DataError(problems)

    def decode(self, frame: CanFrame) -> Row | None:
        """The tuple of a frame, if it is one that was asked for and can be decoded."""
        counts = self.counts
        counts.frames += 1
        key = frame.address, frame.extended
        if self.mapping.bus not in (None, frame.bus):
            counts.other += 1
            return None
        wanted = self._wanted.get(key)
        if frame.remark or (wanted is None and key not in self._known):
            self._refuse(frame, frame.remark or "no message of the DBC has this address")
            return None
        if wanted is None:
            counts.other += 1
            return None
        try:
            row = self._row(frame, wanted)
        except (ValueError, OverflowError, KeyError, TypeError) as error:
            self._refuse(frame, str(error) or type(error).__name__)
            return None
        except Exception as error:  # noqa: BLE001 - cantools and bitstruct have errors of their own
            self._refuse(frame, f"{type(error).__name__}: {error}")
            return None
        counts.rows += 1
        return row

    def _row(self, frame: CanFrame, wanted: _Wanted) -> Row:
        message = wanted.message
        values = message.decode(frame.data, decode_choices=False)
        values |= {"frame.address": frame.address, "frame.bus": frame.bus}
        values["frame.message"] = message.name
        named = message.decode(frame.data) if self._choices else {}
        cells: list[Any] = [frame.microseconds + self.mapping.start]
        for signal, by_name, convert in wanted.cells:
            value = named.get(signal, values.get(signal)) if by_name else values.get(signal)
            cells.append(None if value is None else convert(value))
        return tuple(cells)

    def _refuse(self, frame: CanFrame, reason: str) -> None:
        message = self._known.get((frame.address, frame.extended))
        name = "" if message is None else message.name
        self.counts.undecodable[Undecodable(frame.bus, frame.address, name, reason)] += 1

    def rows(self, frames: Iterator[CanFrame]) -> Iterator[tuple[int, Row]]:
        """(number of the frame, tuple) of those that give one."""
        for frame in frames:
            row = self.decode(frame)
            if row is not None:
                yield frame.number, row


def load_database(path: Path) -> Any:
    """The messages and signals of a DBC; FileError if it is none."""
    cantools = needed("cantools", "cantools")
    try:
        return cantools.database.load_file(path, strict=False)
    except (OSError, ValueError, cantools.database.Error) as error:
        raise unreadable(path, error, "cannot be read as a CAN database") from None
    except Exception as error:
        raise FileError("is no CAN database", place=Place(str(path))) from error


def _is(message: Any, wanted: str) -> bool:
    try:
        return bool(message.frame_id == int(wanted, 0))
    except ValueError:
        return fnmatchcase(message.name, wanted)


def _cell(column: Field, signal: str) -> tuple[str, bool, Callable[[Any], Any]]:
    by_name = column.type is DataType.STRING
    return signal, by_name, _CONVERT[column.type]


def _whole(bits: int) -> Callable[[Any], int]:
    def convert(value: Any) -> int:
        whole = int(value)
        if whole != value or not -(1 << bits) <= whole < 1 << bits:
            raise ValueError(f"a value is not a whole number of {bits + 1} bits")
        return whole

    return convert


def _boolean(value: Any) -> bool:
    if value not in (0, 1):
        raise ValueError("a value is neither 0 nor 1")
    return bool(value)


_CONVERT: dict[DataType, Callable[[Any], Any]] = {
    DataType.BOOLEAN: _boolean,
    DataType.INT: _whole(31),
    DataType.BIGINT: _whole(63),
    DataType.FLOAT: lambda value: f32(float(value)),
    DataType.DOUBLE: float,
    DataType.STRING: str,
}


# ---------------------------------------------------------------- the source


KEYS = ("log", "dbc", "bus", "messages", "columns", "vehicle", "start")


class CanFormat(RecordingFormat):
    """The tuples of the logs, which are read by name; the files and the mapping are checked at
    once. ``number`` counts frames over all logs."""

    name = "can"
    summary = "a file that says where in a CAN log the source is"

    def read(self, path: Path, schema: Schema) -> Iterator[Record]:
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
    return pointer.file("log"), mapping_of(pointer)


def mapping_of(pointer: Pointer) -> CanMapping:
    """What the keys say; DataError if one is wrong."""
    data = pointer.data
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
