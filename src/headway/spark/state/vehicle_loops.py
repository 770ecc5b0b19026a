"""Vehicles' tuples through the engine, one vehicle after another: in Python here.

A loop gets vehicles that have something to do, each with the state of its engine and the tuples
that can be run now, and gives what came of it. It knows nothing of micro-batches.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from headway.engine.result_tables import SideRow, SideRows
from headway.engine.stepwise import StepResult, Stepwise
from headway.errors import DataError
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.model.schema import Schema
from headway.native.arrow_rows import column_kinds
from headway.spark.state.arrival_order import BESIDE, Arrivals
from headway.spark.state.state_sections import PYTHON_FORM, fingerprint_of
from headway.spark.state.vehicle_states import Places, Times

LATE = "#late"
APPEARED = "#at"
"""columns of marked outputs: the mark of a tuple, and when it appeared (microseconds)"""


@dataclass(frozen=True, slots=True)
class Given:
    """What vehicles have to do. A vehicle is known by its place among these."""

    arrivals: Arrivals
    """in order; owners are places"""
    engines: Any
    """states, an Arrow array of large binaries; empty: the beginning"""
    bounds: Times
    """all timers before this (ns) run out"""
    ends: bool = False
    """the input has ended: all timers run out and all windows close"""


@dataclass(frozen=True, slots=True)
class OutputTuples:
    """Tuples of an output, by vehicle and appearance: whose each is, and the columns of its
    schema, times as microseconds."""

    owners: Places
    rows: Any


@dataclass(frozen=True, slots=True)
class SideTuple:
    """A tuple that left its way."""

    owner: int
    kind: str
    row: SideRow


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of it; engines and timers are of the vehicles in their order."""

    outputs: Sequence[OutputTuples]
    side: Sequence[SideTuple]
    engines: Any
    timers: Times


class VehicleLoop(Protocol):
    """Runs vehicles; its engines' states have this fingerprint. One that was made with streams to
    be ``watched``, though it be none, gives the mark of each tuple and when it appeared besides."""

    @property
    def fingerprint(self) -> str: ...

    def run(self, given: Given) -> Ran: ...


class PythonLoop:
    """The vehicle engine without costs, tuple by tuple; states are its plain data as JSON."""

    def __init__(
        self, plan: Plan, listed: Collection[str] | None, watched: Collection[str] | None
    ) -> None:
        self.fingerprint = fingerprint_of(plan, PYTHON_FORM)
        self._engine = Stepwise(plan, watched=watched or ())
        self._sources = [source.name for source in plan.query.sources]
        schemas = dict(plan.schemas)
        self._outputs = [schemas[output.stream] for output in plan.query.outputs]
        self._side, self._listed, self._marked = SideRows(plan), listed, watched is not None

    def run(self, given: Given) -> Ran:
        count = len(given.engines)
        rows = [_tuples(table) for table in given.arrivals.tables]
        first = np.searchsorted(given.arrivals.owners, np.arange(count + 1)).tolist()
        tuples = list(
            zip(
                given.arrivals.times.tolist(),
                given.arrivals.sources.tolist(),
                given.arrivals.rows.tolist(),
                strict=True,
            )
        )
        results: list[tuple[int, StepResult]] = []
        side: list[SideTuple] = []
        engines: list[bytes] = []
        timers: list[int] = []
        engine = self._engine
        bounds = given.bounds.tolist()
        for place, state in enumerate(given.engines.to_pylist()):
            self._restore(state)
            for at, source, row in tuples[first[place] : first[place + 1]]:
                engine.take(at * MICROSECOND, self._sources[source], rows[source][row])
            engine.run_until(bounds[place])
            if given.ends:
                engine.finish()
            results += ((place, result) for result in engine.take_results())
            for time, one in engine.take_dropped():
                if self._listed is None or one.where in self._listed:
                    side.append(SideTuple(place, one.kind.value, self._side.row(time, one)))
            engines.append(json.dumps(engine.snapshot(), separators=(",", ":")).encode())
            timers.append(engine.next_timer)
        return Ran(
            outputs=[
                self._output([(owner, one) for owner, one in results if one.output == place], kind)
                for place, kind in enumerate(self._outputs)
            ],
            side=side,
            engines=pa.array(engines, pa.large_binary()),
            timers=np.array(timers, dtype=np.int64),
        )

    def _restore(self, state: bytes) -> None:
        try:
            self._engine.restore(json.loads(state) if state else None)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise DataError(
                "a state that is none of this query's",
                got=f"{type(error).__name__}: {error}",
                want="the state of a stream of the same query",
            ) from None

    def _output(self, found: list[tuple[int, StepResult]], schema: Schema) -> OutputTuples:
        columns = list(zip(*(one.row for _, one in found), strict=True)) if found else None
        arrays = [
            pa.array(() if columns is None else columns[place], kind)
            for place, kind in enumerate(column_kinds(schema))
        ]
        names = [field.name for field in schema.columns]
        if self._marked:
            names += [LATE, APPEARED]
            arrays.append(pa.array([one.late for _, one in found], pa.bool_()))
            arrays.append(pa.array([one.at // MICROSECOND for _, one in found], pa.int64()))
        owners = np.array([owner for owner, _ in found], dtype=np.int64)
        return OutputTuples(owners, pa.table(arrays, names=names))


def _tuples(table: Any) -> list[tuple[Any, ...]]:
    """The rows of a source's table, as the engine takes them."""
    columns = table.columns[len(BESIDE) :]
    return list(zip(*(column.to_pylist() for column in columns), strict=True))
