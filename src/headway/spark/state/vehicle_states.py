"""The state of many vehicles as bytes: one partition's, whole or only what a micro-batch changed.

Of each vehicle there is the state of its engine (bytes that tell nobody but that engine anything),
how far each source has been seen, when it was last heard of, and when its next timer is over. The
tuples that wait for other sources stand beside it, by source, as tables.

Everything is kept in columns, so that a partition of many thousand vehicles is read, cut and joined
without a Python object per vehicle. As bytes it is a header with a checksum, then Arrow's own
streams: the vehicles, and a table of held tuples for each source. A segment in which a vehicle has
no engine says that the vehicle was forgotten.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.errors import DataError
from headway.model.schema import VEHICLE_COLUMN

OWNER = "#owner"
"""of a held tuple: the place of its vehicle"""
NOT_YET = -(1 << 63)
"""in place of a time that there has been none"""

Times = np.ndarray[Any, np.dtype[np.int64]]
Places = np.ndarray[Any, np.dtype[np.int64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

_MAGIC = b"HWVS"
_VERSION = 1
_HEADER = struct.Struct("<4sHHIQ")
"""magic, version, nothing, checksum of all that follows, bytes of the description"""
_HEARD, _TIMER, _ENGINE = "heard", "timer", "engine"


@dataclass(frozen=True, slots=True)
class VehicleStates:
    """Vehicles in the order of their names. Times are microseconds, timers nanoseconds."""

    fingerprint: str
    """which program's engines these are"""
    vehicles: Any
    """an Arrow array of names"""
    seen: Times
    """by vehicle and source: the last arrival; NOT_YET before the first"""
    heard: Times
    """the clock of the micro-batch with its last tuple; NOT_YET where no clock counts"""
    timers: Times
    """when the next timer of each engine is over"""
    engines: Any
    """an Arrow array of large binaries; empty: the beginning; NULL: the vehicle was forgotten"""
    held: tuple[Any, ...]
    """by source: tables of :data:`OWNER` and the columns of a step's input but the vehicle"""

    def __len__(self) -> int:
        return len(self.vehicles)

    @property
    def held_count(self) -> int:
        return sum(table.num_rows for table in self.held)

    # ---------------------------------------------------------------- parts

    def at(self, places: Places) -> VehicleStates:
        """The vehicles at these places, in this order; nobody twice."""
        new_place = np.full(len(self), -1, dtype=np.int64)
        new_place[places] = np.arange(len(places))
        taken = pa.array(places)
        return replace(
            self,
            vehicles=self.vehicles.take(taken),
            seen=self.seen[places],
            heard=self.heard[places],
            timers=self.timers[places],
            engines=self.engines.take(taken),
            held=tuple(_with_owners(table, new_place) for table in self.held),
        )

    def only(self, mask: Mask) -> VehicleStates:
        """Those that the mask picks."""
        return self if bool(mask.all()) else self.at(np.flatnonzero(mask))

    def in_order(self) -> VehicleStates:
        """By name."""
        order = pc.sort_indices(self.vehicles).to_numpy().astype(np.int64)
        if bool((order[1:] > order[:-1]).all()):
            return self
        return self.at(order)

    # ---------------------------------------------------------------- as bytes

    def to_bytes(self) -> bytes:
        columns = {
            VEHICLE_COLUMN: self.vehicles,
            _HEARD: pa.array(self.heard),
            _TIMER: pa.array(self.timers),
            _ENGINE: self.engines,
        }
        for source in range(self.seen.shape[1]):
            columns[f"seen{source}"] = pa.array(np.ascontiguousarray(self.seen[:, source]))
        parts = [_stream_of(table) for table in (pa.table(columns), *self.held)]
        description = json.dumps(
            {"fingerprint": self.fingerprint, "sizes": [part.size for part in parts]}
        ).encode()
        checksum = 0
        for part in (description, *parts):
            checksum = zlib.crc32(part, checksum)
        header = _HEADER.pack(_MAGIC, _VERSION, 0, checksum, len(description))
        return b"".join([header, description, *parts])


def states_from(data: bytes, fingerprint: str | None = None) -> VehicleStates:
    """What :meth:`VehicleStates.to_bytes` gave; DataError if it is no such state, or not one of
    the program with this fingerprint."""
    parts, found = _opened(data)
    if fingerprint is not None and found != fingerprint:
        raise DataError(
            "a state of another program", got=f"a state of {found}", want=f"one of {fingerprint}"
        )
    try:
        vehicles, *held = map(_table_of, parts)
        count = vehicles.num_columns - 4
        seen = [_numbers(vehicles, f"seen{source}") for source in range(count)]
        return VehicleStates(
            fingerprint=found,
            vehicles=_whole(vehicles.column(VEHICLE_COLUMN)),
            seen=np.stack(seen, axis=1),
            heard=_numbers(vehicles, _HEARD),
            timers=_numbers(vehicles, _TIMER),
            engines=_whole(vehicles.column(_ENGINE)),
            held=tuple(held),
        )
    except (pa.ArrowException, KeyError, ValueError, OSError):
        raise _damaged(data) from None


def fingerprint_of_state(data: bytes) -> str:
    """Which program's state this is."""
    return _opened(data)[1]


def _opened(data: bytes) -> tuple[list[Any], str]:
    """The parts and the fingerprint of a state that is whole."""
    if len(data) < _HEADER.size:
        raise _damaged(data)
    magic, version, _, checksum, size = _HEADER.unpack_from(data)
    if magic != _MAGIC:
        raise _damaged(data)
    if version != _VERSION:
        raise DataError(
            "a state that another version of Headway wrote",
            got=f"version {version}",
            want=f"version {_VERSION}",
        )
    body = memoryview(data)[_HEADER.size :]
    if zlib.crc32(body) != checksum:
        raise _damaged(data)
    try:
        description = json.loads(bytes(body[:size]))
        sizes, fingerprint = description["sizes"], description["fingerprint"]
    except (ValueError, KeyError, TypeError):
        raise _damaged(data) from None
    ends = np.cumsum([size, *sizes]).tolist()
    if ends[-1] != len(body):
        raise _damaged(data)
    return [body[start:end] for start, end in pairwise(ends)], str(fingerprint)


def _damaged(data: bytes) -> DataError:
    return DataError(
        "a damaged state", got=f"{len(data)} bytes", want="a state that a micro-batch wrote"
    )


def _stream_of(table: Any) -> Any:
    """A table as bytes (an Arrow buffer), which are laid out once: they may be many."""
    table = table.combine_chunks()  # what many micro-batches added is one piece again
    counting = pa.MockOutputStream()
    _write_stream(table, counting)
    found = pa.allocate_buffer(counting.size())
    _write_stream(table, pa.FixedSizeBufferWriter(found))
    return found


def _write_stream(table: Any, sink: Any) -> None:
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def _table_of(part: Any) -> Any:
    with pa.ipc.open_stream(pa.py_buffer(part)) as reader:
        return reader.read_all()


def _whole(column: Any) -> Any:
    """A column as one array."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _numbers(table: Any, name: str) -> Times:
    found: Times = _whole(table.column(name)).to_numpy(zero_copy_only=False)
    return found.astype(np.int64)


# ---------------------------------------------------------------- held tuples


def owners_of(table: Any) -> Places:
    found: Places = table.column(OWNER).to_numpy()
    return found


def _with_owners(table: Any, new_place: Places) -> Any:
    """The tuples whose owner has a new place."""
    if not table.num_rows:
        return table
    owners = new_place[owners_of(table)]
    stays = owners >= 0
    if not stays.all():
        table, owners = table.filter(pa.array(stays)), owners[stays]
    return table.set_column(0, OWNER, pa.array(owners))


# ---------------------------------------------------------------- segments


def merged_states(segments: Sequence[bytes], fingerprint: str | None = None) -> VehicleStates:
    """A state and what later micro-batches changed, as one state without the forgotten: of each
    vehicle what the last segment says. Or those of several partitions, which share no vehicle. One
    at least."""
    states = [states_from(segment, fingerprint) for segment in segments]
    if len(states) == 1:
        return states[0].only(_known(states[0].engines))
    for one in states[1:]:
        if one.fingerprint != states[0].fingerprint:
            raise DataError(
                "segments of different programs",
                got=one.fingerprint,
                want=f"all of {states[0].fingerprint}",
            )
    whole = _one_after_another(states)
    codes = whole.vehicles.dictionary_encode()
    last = np.zeros(len(codes.dictionary), dtype=np.int64)
    last[codes.indices.to_numpy()] = np.arange(len(whole))  # the last one that is given stays
    stays = np.zeros(len(whole), dtype=np.bool_)
    stays[last] = True
    return whole.only(stays & _known(whole.engines)).in_order()


def _known(engines: Any) -> Mask:
    found: Mask = engines.is_valid().to_numpy(zero_copy_only=False)
    return found


def _one_after_another(states: Sequence[VehicleStates]) -> VehicleStates:
    """All of them; a vehicle may come several times."""
    firsts = np.cumsum([0, *(len(one) for one in states)])
    held = [
        pa.concat_tables(
            table.set_column(0, OWNER, pa.array(owners_of(table) + first))
            for table, first in zip(tables, firsts, strict=False)
        )
        for tables in zip(*(one.held for one in states), strict=True)
    ]
    return VehicleStates(
        fingerprint=states[0].fingerprint,
        vehicles=pa.concat_arrays([one.vehicles for one in states]),
        seen=np.concatenate([one.seen for one in states]),
        heard=np.concatenate([one.heard for one in states]),
        timers=np.concatenate([one.timers for one in states]),
        engines=pa.concat_arrays([one.engines for one in states]),
        held=tuple(held),
    )
