"""Many vehicles through one compiled program: tables of tuples and all states in, results and all
new states out, in one call.

The loop over vehicles and tuples is compiled (``runtime/headway/host_fleet.hpp``), and all on the
way to it and from it is done a column at a time: there is no Python object per tuple or vehicle,
except for tuples that left their way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa

from headway.engine.operators.operator_base import Dropped
from headway.errors import DataError
from headway.model.quantities import MICROSECOND
from headway.native.arriving_rows import Entrances, RowEntrance
from headway.native.arrow_rows import RowArray, columns_of_rows, rows_of_columns
from headway.native.library import MALFORMED, FleetGiven, Keeps, NativeLibrary, WrongState
from headway.native.native_results import DropReader
from headway.native.program_layout import ProgramLayout

Numbers = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class FleetArrivals:
    """Tuples of many vehicles, vehicle after vehicle, each vehicle's in order of arrival."""

    columns: Sequence[Sequence[Any]]
    """by source: Arrow arrays of the schema's columns, times as whole microseconds"""
    vehicles: Numbers
    """whose each is: a number from 0, none before the one of the tuple before it"""
    times: Numbers
    """microseconds"""
    sources: np.ndarray[Any, np.dtype[np.uint16]]
    rows: Numbers
    """in the columns of its source"""


@dataclass(frozen=True, slots=True)
class FleetOutput:
    """Tuples of an output: whose each is, an Arrow array for each column (times as whole
    microseconds), whether each is marked late, and when it appeared (microseconds)."""

    vehicles: Numbers
    columns: Sequence[Any]
    late: np.ndarray[Any, np.dtype[np.bool_]]
    appeared: Numbers


@dataclass(frozen=True, slots=True)
class FleetResults:
    """By vehicle: the new state (an Arrow array of large binaries) and when the next timer is over
    (ns); of all, what was lost: whose, when (ns) and what."""

    outputs: Sequence[FleetOutput]
    dropped: Sequence[tuple[int, int, Dropped]]
    states: Any
    timers: Numbers


class NativeFleet:
    """A program for as many vehicles as one likes, one after another. Close it, or use it in a
    ``with`` statement."""

    def __init__(self, path: Path, layout: ProgramLayout) -> None:
        self._library = NativeLibrary(path, layout.schemas)
        self._entrances = Entrances(layout.graph.sources.values(), self._library.layouts)
        self._drops = DropReader(layout.graph, self._library.layouts, self._entrances)
        self._library.start(Keeps.OUTPUTS)

    def close(self) -> None:
        self._library.close()

    def __enter__(self) -> NativeFleet:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def run(
        self, arrivals: FleetArrivals, states: Any, bounds: Numbers, *, ends: bool
    ) -> FleetResults:
        """``states``: an Arrow array of large binaries, one for each vehicle, empty for the
        beginning; ``bounds``: timers before this (ns) run out; ``ends``: the input has ended.
        DataError when a state is none of this program."""
        library, count = self._library, len(bounds)
        limits = np.frombuffer(states.buffers()[1], dtype=np.uint64)
        limits = limits[states.offset : states.offset + count + 1]
        data = states.buffers()[2]
        sources, places, rows = self._entered(arrivals)
        try:
            gave = library.run_fleet(
                FleetGiven(
                    first_arrival=np.searchsorted(arrivals.vehicles, np.arange(count + 1)).astype(
                        np.uint64
                    ),
                    bounds=bounds,
                    states=np.frombuffer(b"" if data is None else data, dtype=np.uint8),
                    state_begins=limits[:-1],
                    state_ends=limits[1:],
                    times=arrivals.times,
                    sources=sources,
                    places=places.astype(np.uint32),
                    rows=rows,
                    ends=ends,
                )
            )
            ends_of = gave.counts.astype(np.int64)
            return FleetResults(
                outputs=[
                    self._output(place, ends_of[:, place]) for place in range(len(library.outputs))
                ],
                dropped=self._dropped(ends_of[:, -1]),
                states=_binaries(gave.states, gave.state_ends),
                timers=gave.timers,
            )
        except WrongState as wrong:
            raise DataError(
                "a state that is none of this query's",
                got=f"{int(limits[wrong.vehicle + 1] - limits[wrong.vehicle])} bytes",
                want="the state of a stream of the same query",
            ) from None
        finally:
            library.clear()
            for entrance in self._entrances.all:
                entrance.rejected.clear()

    # ---------------------------------------------------------------- in

    def _entered(
        self, arrivals: FleetArrivals
    ) -> tuple[np.ndarray[Any, np.dtype[np.uint16]], Numbers, list[RowArray]]:
        """Sources, with MALFORMED where a tuple is rejected; places among the rows; the rows."""
        sources, places = arrivals.sources, arrivals.rows
        rows: list[RowArray] = []
        for source, entrance in enumerate(self._entrances.all):
            columns = arrivals.columns[source]
            wrong = entrance.malformed(columns)
            if wrong.any():
                mine = arrivals.sources == source
                among, rejected = mine.copy(), wrong[arrivals.rows[mine]]
                among[mine] = rejected
                entrance.reject(columns, arrivals.rows[among].tolist())
                sources = np.where(among, sources | MALFORMED, sources)
                places = np.where(mine, (np.cumsum(~wrong) - 1)[places * mine], places)
                columns = [column.filter(pa.array(~wrong)) for column in columns]
            rows.append(_rows(entrance, columns))
        return sources, places, rows

    # ---------------------------------------------------------------- out

    def _output(self, place: int, ends: Numbers) -> FleetOutput:
        library = self._library
        found = library.output_rows(place)
        layout = library.layouts[library.outputs[place][1]]
        return FleetOutput(
            vehicles=_owners(ends),
            columns=columns_of_rows(found.rows, layout),
            late=found.late,
            appeared=found.completed // MICROSECOND,
        )

    def _dropped(self, ends: Numbers) -> list[tuple[int, int, Dropped]]:
        if not len(ends) or not ends[-1]:
            return []
        owners = _owners(ends).tolist()
        return [
            (owner, time, one)
            for owner, (time, one) in zip(owners, self._drops.take(self._library), strict=True)
        ]


def _rows(entrance: RowEntrance, columns: Sequence[Any]) -> RowArray:
    return rows_of_columns(columns, entrance.layout)


def _owners(ends: Numbers) -> Numbers:
    """Whose each of so many things is, where those of all vehicles end."""
    return np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))


def _binaries(data: bytes, ends: np.ndarray[Any, np.dtype[np.uint64]]) -> Any:
    limits = np.zeros(len(ends) + 1, dtype=np.int64)
    limits[1:] = ends
    buffers = [None, pa.py_buffer(limits), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_binary(), len(ends), buffers)
