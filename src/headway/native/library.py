"""A compiled program in this process: the functions of its library, its rows as numpy arrays.

A program keeps its state in variables of its library, so every run has a library of its own: a copy
of the compiled file is loaded, which the system takes for another one, and unloaded when the run is
over. Nothing is guessed of how the program lays its rows out: the library tells
(``runtime/headway/host.hpp`` is the other side of everything here).
"""

from __future__ import annotations

import _ctypes
import ctypes
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntFlag
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from headway.engine.run_folder import unwritable
from headway.errors import EnvironmentMissing
from headway.model.schema import DataType, Schema
from headway.native.arrow_rows import ColumnLayout, RowArray, RowLayout

ABI_VERSION = 3
NEVER_UNKNOWN = 0xFFFFFFFF
MALFORMED = 0x8000
"""added to the source of an arrival that does not have its form; such a one has no row"""

WIRE_TYPES = (
    (DataType.BOOLEAN,),
    (DataType.INT,),
    (DataType.BIGINT, DataType.TIMESTAMP),
    (DataType.FLOAT,),
    (DataType.DOUBLE,),
    (DataType.STRING,),
)
"""by the number of a ``WireType``"""

DROP_RECORD = np.dtype(
    {
        "names": ["now", "detail", "row", "name", "whole", "real",
                  "rank", "kind", "reason", "at_source", "port"],
        "formats": ["<i8", "<i8", "<u8", "<u8", "<i8", "<f8", "u1", "u1", "u1", "u1", "u1"],
        "offsets": [0, 8, 16, 24, 32, 40, 48, 49, 50, 51, 52],
        "itemsize": 56,
    }
)  # fmt: skip
TRACE_EVENT = np.dtype(
    {
        "names": ["kind", "start", "end", "node", "place", "name", "number", "first", "count"],
        "formats": ["u1", "<i8", "<i8", "<u8", "<u8", "<u8", "<i8", "<i4", "<i4"],
        "offsets": [0, 8, 16, 24, 32, 40, 48, 56, 60],
        "itemsize": 64,
    }
)
OUTPUT_HEADER_BYTES = 16
_LATE = np.uint64(1 << 63)
_ALL_RAN, _WRONG_STATE = 0, 1
"""how a run of many vehicles ends"""


class Keeps(IntFlag):
    """What a run keeps for its owner."""

    OUTPUTS = 1
    TRACE = 2


# ---------------------------------------------------------------- structs of the library


class _Column(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_uint8),
        ("offset", ctypes.c_uint32),
        ("known", ctypes.c_uint32),
        ("capacity", ctypes.c_uint32),
    ]


class _Stream(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("row_bytes", ctypes.c_uint32),
        ("column_count", ctypes.c_uint32),
        ("columns", ctypes.POINTER(_Column)),
    ]


class _Named(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("stream", ctypes.c_uint32)]


class _Arrivals(ctypes.Structure):
    _fields_ = [
        ("count", ctypes.c_uint64),
        ("times", ctypes.c_void_p),
        ("sources", ctypes.c_void_p),
        ("rows", ctypes.c_void_p),
    ]


_More = ctypes.CFUNCTYPE(ctypes.c_uint8, ctypes.POINTER(_Arrivals))
"""fills in the next arrivals; 0 when there are none"""


class _Bytes(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_uint64)]


class _FleetGiven(ctypes.Structure):
    _fields_ = [
        ("vehicles", ctypes.c_uint64),
        ("first_arrival", ctypes.c_void_p),
        ("bounds", ctypes.c_void_p),
        ("states", ctypes.c_void_p),
        ("state_begins", ctypes.c_void_p),
        ("state_ends", ctypes.c_void_p),
        ("times", ctypes.c_void_p),
        ("sources", ctypes.c_void_p),
        ("places", ctypes.c_void_p),
        ("rows", ctypes.c_void_p),
        ("ends", ctypes.c_uint8),
    ]


class _FleetGave(ctypes.Structure):
    _fields_ = [
        ("states", _Bytes),
        ("state_ends", _Bytes),
        ("timers", _Bytes),
        ("counts", _Bytes),
        ("wrong", ctypes.c_uint64),
    ]


class Counts(ctypes.Structure):
    """What a run has counted."""

    _fields_ = [
        (name, ctypes.c_int64)
        for name in (
            "now", "arrived", "timeouts", "decisions", "preemptions", "refused", "no_room",
            "results", "complete", "next_timer",
        )
    ]  # fmt: skip


class Pieces(ctypes.Structure):
    """Of the optional part before an output."""

    _fields_ = [("done", ctypes.c_int64), ("asked", ctypes.c_int64)]


_FUNCTIONS: Mapping[str, tuple[type[Any] | None, Sequence[type[Any]]]] = {
    "headway_abi": (ctypes.c_uint32, ()),
    "headway_stream": (ctypes.c_uint8, (ctypes.c_uint32, ctypes.c_void_p)),
    "headway_source": (ctypes.c_uint8, (ctypes.c_uint32, ctypes.c_void_p)),
    "headway_output": (ctypes.c_uint8, (ctypes.c_uint32, ctypes.c_void_p)),
    "headway_start": (ctypes.c_uint8, (ctypes.c_uint32,)),
    "headway_run": (None, (_More,)),
    "headway_take": (None, (ctypes.c_void_p,)),
    "headway_run_until": (None, (ctypes.c_int64,)),
    "headway_finish": (None, ()),
    "headway_counts": (None, (ctypes.c_void_p,)),
    "headway_beyond": (ctypes.c_int64, (ctypes.c_uint8, ctypes.c_uint32)),
    "headway_saves": (ctypes.c_uint8, (ctypes.c_uint32,)),
    "headway_precision": (None, (ctypes.c_uint32, ctypes.c_void_p)),
    "headway_output_rows": (None, (ctypes.c_uint32, ctypes.c_void_p)),
    "headway_drops": (None, (ctypes.c_void_p, ctypes.c_void_p)),
    "headway_events": (None, (ctypes.c_void_p,)),
    "headway_clear": (None, ()),
    "headway_save": (ctypes.c_uint8, (ctypes.c_void_p,)),
    "headway_load": (ctypes.c_uint8, (ctypes.c_char_p, ctypes.c_uint64)),
    "headway_run_fleet": (ctypes.c_uint8, (ctypes.c_void_p, ctypes.c_void_p)),
}


# ---------------------------------------------------------------- what it gives


@dataclass(frozen=True, slots=True)
class NativeOutputRows:
    """Tuples of one output: when each was completed (ns), its place among the results of all
    outputs, whether it is marked late, and the rows."""

    completed: np.ndarray[Any, np.dtype[np.int64]]
    numbers: np.ndarray[Any, np.dtype[np.int64]]
    late: np.ndarray[Any, np.dtype[np.bool_]]
    rows: RowArray


@dataclass(frozen=True, slots=True)
class DroppedRows:
    """Tuples that left their way, as :data:`DROP_RECORD`; the bytes of all their rows."""

    records: np.ndarray[Any, np.dtype[np.void]]
    rows: bytes


@dataclass(frozen=True, slots=True)
class NativeArrivals:
    """Tuples in order of arrival. The rows of each source are those of its arrivals, in order;
    ``sources`` are places in the query, with MALFORMED where a tuple has no row."""

    times: np.ndarray[Any, np.dtype[np.int64]]
    sources: np.ndarray[Any, np.dtype[np.uint16]]
    rows: Sequence[RowArray]

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True, slots=True)
class FleetGiven:
    """Vehicles, each with its state and its tuples; ``ends``: the input has ended. Those of vehicle
    n are the arrivals from ``first_arrival[n]`` up to the next one's, in order. ``places`` are
    theirs among the rows of their source."""

    first_arrival: np.ndarray[Any, np.dtype[np.uint64]]
    """one more than there are vehicles"""
    bounds: np.ndarray[Any, np.dtype[np.int64]]
    """timers before this (ns) run out, after the tuples"""
    states: np.ndarray[Any, np.dtype[np.uint8]]
    state_begins: np.ndarray[Any, np.dtype[np.uint64]]
    state_ends: np.ndarray[Any, np.dtype[np.uint64]]
    """a state without bytes is that of the beginning"""
    times: np.ndarray[Any, np.dtype[np.int64]]
    """microseconds"""
    sources: np.ndarray[Any, np.dtype[np.uint16]]
    """with MALFORMED where a tuple does not have its form"""
    places: np.ndarray[Any, np.dtype[np.uint32]]
    rows: Sequence[RowArray]
    """by source"""
    ends: bool


@dataclass(frozen=True, slots=True)
class FleetGave:
    """By vehicle: where its new state ends in ``states``, when its next timer is over (ns), and how
    many tuples of each output, and lost ones last, there are up to its last."""

    states: bytes
    state_ends: np.ndarray[Any, np.dtype[np.uint64]]
    timers: np.ndarray[Any, np.dtype[np.int64]]
    counts: np.ndarray[Any, np.dtype[np.uint64]]
    """vehicles times outputs and one more"""


class WrongState(Exception):
    """The state of a vehicle is none of this program; the vehicle's number."""

    def __init__(self, vehicle: int) -> None:
        super().__init__(f"vehicle {vehicle}")
        self.vehicle = vehicle


class _Held:
    """Arrivals as the library reads them; the arrays must outlive its reading."""

    def __init__(self, arrivals: NativeArrivals) -> None:
        times = np.ascontiguousarray(arrivals.times, dtype=np.int64)
        sources = np.ascontiguousarray(arrivals.sources, dtype=np.uint16)
        rows = [np.ascontiguousarray(one) for one in arrivals.rows]
        pointers = np.array([one.ctypes.data for one in rows], dtype=np.uintp)
        self._arrays = (times, sources, rows, pointers)
        self.struct = _Arrivals(
            len(times), times.ctypes.data, sources.ctypes.data, pointers.ctypes.data
        )


class NativeLibrary:
    """A loaded program; use it in a ``with`` statement, or ``close`` it. ``schemas`` are those of
    the streams: the library is checked against them."""

    def __init__(self, path: Path, schemas: Mapping[str, Schema]) -> None:
        self._library = _loaded_copy(path)
        self._call: dict[str, Callable[..., Any]] = {}
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(self._library, name)
            function.restype, function.argtypes = result, list(arguments)
            self._call[name] = function
        found = self._call["headway_abi"]()
        if found != ABI_VERSION:
            raise EnvironmentMissing(
                f"The program {path} was built by another version of Headway (its interface is "
                f"{found}, not {ABI_VERSION}): build it again."
            )
        self.layouts = self._layouts(schemas)
        """by stream"""
        self.sources = self._named("headway_source")
        self.outputs = self._named("headway_output")
        """(name, stream) by place"""

    def close(self) -> None:
        """Nothing that it gave as a view may be used afterwards; all of it is copied here."""
        handle, self._call = self._library._handle, {}
        if handle:
            _ctypes.dlclose(handle)
            self._library._handle = 0

    def __enter__(self) -> NativeLibrary:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # ---------------------------------------------------------------- what it is

    def _layouts(self, schemas: Mapping[str, Schema]) -> dict[str, RowLayout]:
        found: dict[str, RowLayout] = {}
        self._stream_names: list[str] = []
        one = _Stream()
        while self._call["headway_stream"](len(self._stream_names), ctypes.byref(one)):
            name = one.name.decode()
            self._stream_names.append(name)
            columns = [one.columns[place] for place in range(one.column_count)]
            found[name] = _layout(schemas[name], one.row_bytes, columns)
        return found

    def _named(self, function: str) -> tuple[tuple[str, str], ...]:
        found: list[tuple[str, str]] = []
        one = _Named()
        while self._call[function](len(found), ctypes.byref(one)):
            found.append((one.name.decode(), self._stream_names[one.stream]))
        return tuple(found)

    # ---------------------------------------------------------------- running

    def start(self, keeps: Keeps) -> None:
        """Once, before the first tuple."""
        if not self._call["headway_start"](int(keeps)):
            raise MemoryError("there is not enough memory for the program's state")

    def run(self, pieces: Iterator[NativeArrivals]) -> None:
        """In virtual time: takes in all arrivals, piece by piece as they are needed, and runs until
        nothing is left to do. What the iterator raises ends the run, and is raised here."""
        held: deque[_Held] = deque(maxlen=2)  # a tuple is run when the next one is known
        raised: list[BaseException] = []

        def more(given: Any) -> int:
            try:
                piece = next((one for one in pieces if len(one)), None)
            except BaseException as error:  # noqa: BLE001 - no C++ may see it
                raised.append(error)
                return 0
            if piece is None:
                return 0
            held.append(_Held(piece))
            given[0] = held[-1].struct
            return 1

        self._call["headway_run"](_More(more))
        if raised:
            raise raised[0]

    def take(self, arrivals: NativeArrivals) -> None:
        """Tuple by tuple: each arrives, timers before it go first."""
        held = _Held(arrivals)
        self._call["headway_take"](ctypes.byref(held.struct))

    def run_until(self, time: int) -> None:
        """Tuple by tuple: timers that are over before that time (ns)."""
        self._call["headway_run_until"](time)

    def finish(self) -> None:
        """Tuple by tuple: the input has ended, all timers run out and all windows close."""
        self._call["headway_finish"]()

    def run_fleet(self, given: FleetGiven) -> FleetGave:
        """Tuple by tuple, vehicle after vehicle: takes its state up, takes in its tuples, lets its
        timers run out and gives its new state. Results and lost tuples stand where they always do,
        vehicle after vehicle. WrongState when a state is none."""
        rows = [np.ascontiguousarray(one) for one in given.rows]
        arrays = (
            np.ascontiguousarray(given.first_arrival, dtype=np.uint64),
            np.ascontiguousarray(given.bounds, dtype=np.int64),
            np.ascontiguousarray(given.states, dtype=np.uint8),
            np.ascontiguousarray(given.state_begins, dtype=np.uint64),
            np.ascontiguousarray(given.state_ends, dtype=np.uint64),
            np.ascontiguousarray(given.times, dtype=np.int64),
            np.ascontiguousarray(given.sources, dtype=np.uint16),
            np.ascontiguousarray(given.places, dtype=np.uint32),
            np.array([one.ctypes.data for one in rows], dtype=np.uintp),
        )
        asked = _FleetGiven(
            len(given.bounds), *(array.ctypes.data for array in arrays), 1 if given.ends else 0
        )
        found = _FleetGave()
        end = self._call["headway_run_fleet"](ctypes.byref(asked), ctypes.byref(found))
        if end == _WRONG_STATE:
            raise WrongState(int(found.wrong))
        if end != _ALL_RAN:
            raise MemoryError("there is not enough memory for all vehicles")
        return FleetGave(
            states=_copied(found.states),
            state_ends=np.frombuffer(_copied(found.state_ends), dtype=np.uint64),
            timers=np.frombuffer(_copied(found.timers), dtype=np.int64),
            counts=np.frombuffer(_copied(found.counts), dtype=np.uint64).reshape(
                len(given.bounds), len(self.outputs) + 1
            ),
        )

    def counts(self) -> Counts:
        found = Counts()
        self._call["headway_counts"](ctypes.byref(found))
        if not found.complete:
            raise MemoryError("there is not enough memory for all results of the run")
        return found

    def beyond_rate(self, source: int) -> int:
        """Tuples of a source beyond its declared rate."""
        return int(self._call["headway_beyond"](0, source))

    def beyond_results(self, operator: int) -> int:
        """Results of an operator with state beyond what it declares; operators with state are
        numbered in the order of the query."""
        return int(self._call["headway_beyond"](1, operator))

    def saves(self, operator: int) -> bool:
        """Whether an operator with state writes down what it remembers; a class of the user need
        not."""
        return bool(self._call["headway_saves"](operator))

    def precision(self, output: int) -> Pieces:
        """Of the optional part before an output; none were asked for where there is none."""
        found = Pieces()
        self._call["headway_precision"](output, ctypes.byref(found))
        return found

    # ---------------------------------------------------------------- results

    def output_rows(self, place: int) -> NativeOutputRows:
        layout = self.layouts[self.outputs[place][1]]
        kind = np.dtype(
            [("completed", "<i8"), ("number", "<u8"), ("row", layout.dtype)], align=False
        )
        assert kind.fields is not None
        assert kind.fields["row"][1] == OUTPUT_HEADER_BYTES
        found = np.frombuffer(self._bytes("headway_output_rows", place), dtype=kind)
        numbers = found["number"]
        return NativeOutputRows(
            completed=found["completed"],
            numbers=(numbers & ~_LATE).astype(np.int64),
            late=(numbers & _LATE) != 0,
            rows=found["row"],
        )

    def drops(self) -> DroppedRows:
        records, rows = _Bytes(), _Bytes()
        self._call["headway_drops"](ctypes.byref(records), ctypes.byref(rows))
        return DroppedRows(np.frombuffer(_copied(records), dtype=DROP_RECORD), _copied(rows))

    def events(self) -> np.ndarray[Any, np.dtype[np.void]]:
        """As :data:`TRACE_EVENT`; names are addresses, see :meth:`texts`."""
        return np.frombuffer(self._bytes("headway_events"), dtype=TRACE_EVENT)

    def texts(self, addresses: np.ndarray[Any, Any]) -> list[str]:
        """The names that stand at these addresses in the library; few differ."""
        different, places = np.unique(addresses, return_inverse=True)
        named = [ctypes.string_at(int(one)).decode() if one else "" for one in different]
        return [named[place] for place in places.tolist()]

    def clear(self) -> None:
        """Forgets the results so far, which have been taken."""
        self._call["headway_clear"]()

    # ---------------------------------------------------------------- state

    def save(self) -> bytes:
        """All that the future depends on, between two arrivals."""
        found = _Bytes()
        if not self._call["headway_save"](ctypes.byref(found)):
            raise MemoryError("there is not enough memory for the program's state")
        return _copied(found)

    def load(self, state: bytes) -> bool:
        """Takes up such a state in place of the present one; False when it is none."""
        return bool(self._call["headway_load"](state, len(state)))

    def _bytes(self, function: str, *arguments: int) -> bytes:
        found = _Bytes()
        self._call[function](*arguments, ctypes.byref(found))
        return _copied(found)


def _copied(found: _Bytes) -> bytes:
    return ctypes.string_at(found.data, found.size) if found.size else b""


def _layout(schema: Schema, size: int, columns: Sequence[Any]) -> RowLayout:
    """The layout of a schema's rows; the library's columns must be the schema's."""
    fields = schema.columns
    names = [column.name.decode() for column in columns]
    fits = [field.name for field in fields] == names and all(
        field.type in WIRE_TYPES[column.type] for field, column in zip(fields, columns, strict=True)
    )
    if not fits:
        raise EnvironmentMissing(
            f"A program has other columns than its plan: {', '.join(names)}. Build it again."
        )
    return RowLayout(
        size,
        tuple(
            ColumnLayout(
                field.type,
                column.offset,
                None if column.known == NEVER_UNKNOWN else column.known,
                column.capacity,
            )
            for field, column in zip(fields, columns, strict=True)
        ),
    )


def _loaded_copy(path: Path) -> ctypes.CDLL:
    """The system knows a library by its file: a copy of the file is another library. It can go as
    soon as it is loaded."""
    try:
        with tempfile.TemporaryDirectory(prefix="headway-") as folder:
            copy = Path(folder) / path.name
            shutil.copyfile(path, copy)
            return ctypes.CDLL(str(copy))
    except OSError as error:
        raise unwritable(path, error) from None
