"""CAN frames and a DBC to tuples: which messages become tuples, and which signals their columns.

A frame that was asked for and cannot be decoded is counted under its address and a reason, and
left out; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from headway.errors import DataError, FileError, Place, Problem
from headway.expressions.kernels import f32
from headway.model.schema import DataType, Field, Schema
from headway.model.user_operator import Row
from headway.sources.can_logs import CanFrame, needed
from headway.sources.can_mapping import FRAME_TYPES, CanMapping, FrameCounts, Undecodable
from headway.sources.record import unreadable


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
        database = _load(mapping.dbc)
        self._known = {(m.frame_id, m.is_extended_frame): m for m in database.messages}
        chosen = [m for m in database.messages if any(_is(m, w) for w in mapping.messages)]
        if not chosen:
            names = ", ".join(message.name for message in database.messages[:20])
            what = f"no message is called {', '.join(mapping.messages)}"
            raise DataError(Problem(what, place=self._where, got=names or "no messages at all"))
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


def _load(path: Path) -> Any:
    cantools = needed("cantools", "cantools")
    try:
        return cantools.database.load_file(path, strict=False)
    except (OSError, ValueError, cantools.database.Error) as error:
        raise unreadable(path, error, "cannot be read as a CAN database") from None
    except Exception as error:
        raise FileError(Problem("is no CAN database", place=Place(str(path)))) from error


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
