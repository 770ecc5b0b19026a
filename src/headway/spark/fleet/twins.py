"""Vehicles of a fleet: seeded variations of a recorded drive, each a whole engine in a task.

Sensors of different vehicles are out of step and networks jitter, so each source gets a phase of
its own and each tuple a little more delay, never beyond the delay that the query declares. The
engine runs in virtual time with the plan's costs, its policy and its network, exactly as ``headway
run --engine vehicle`` does for one vehicle.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from headway.drive.driven_fleet import MET_COLUMNS, Met, Vehicles
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.result_tables import trace_table
from headway.engine.results import COUNTS, RunResult
from headway.model.codec import plan_from_json, plan_to_json
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND
from headway.model.query import Source
from headway.model.schema import VEHICLE_COLUMN, Schema
from headway.model.user_operator import Row
from headway.sources.recordings import read_recording
from headway.spark.lowering.engine_region import arrivals
from headway.spark.lowering.frames import arrow_types

# ---------------------------------------------------------------- made from a recording

PHASE = 50 * MILLISECOND
JITTER = MILLISECOND

Recorded = list[tuple[int, int, Row]]
"""(arrival in microseconds, source's place, row)"""


@dataclass(frozen=True)
class Fleet:
    """``recorded`` are the recording's vehicles, in order of name."""

    sources: tuple[Source, ...]
    recorded: tuple[Recorded, ...]
    count: int
    seed: int

    def name(self, number: int) -> str:
        return f"v{number:0{len(str(self.count - 1))}d}"

    def arrivals(self, number: int) -> Iterator[Arrival]:
        """Of one vehicle, in order of arrival; the first drives the recording as it is."""
        base = self.recorded[number % len(self.recorded)]
        if number < len(self.recorded):
            for at, place, row in base:
                yield Arrival(at * MICROSECOND, self.sources[place].name, row)
            return
        random = Random(f"{self.seed}/{number}")
        phases = [random.randrange(PHASE // MICROSECOND) for _ in self.sources]
        last = [-(1 << 62)] * len(self.sources)
        moved = []
        for order, (at, place, row) in enumerate(base):
            jitter = random.randrange(JITTER // MICROSECOND)
            later = at + phases[place] + self._allowed(place, at, row, jitter)
            last[place] = later = max(later, last[place])
            timestamp = None if row[0] is None else row[0] + phases[place]
            moved.append((later, place, order, (timestamp, *row[1:])))
        moved.sort()
        for at, place, _, row in moved:
            yield Arrival(at * MICROSECOND, self.sources[place].name, row)

    def met(self, number: int, result: RunResult) -> Iterable[Met]:
        """A recording does not say who was on collision course."""
        return ()

    def _allowed(self, place: int, at: int, row: Row, jitter: int) -> int:
        """No more jitter than the source's declared delay leaves."""
        delay = self.sources[place].delay // MICROSECOND
        if not delay or row[0] is None:
            return 0
        sensed: int = row[0]
        return max(0, min(jitter, sensed + delay - at))


def fleet_from(recording: Path, sources: tuple[Source, ...], count: int, seed: int) -> Fleet:
    """Reads the recording once; its vehicles take turns."""
    places = {source.name: place for place, source in enumerate(sources)}
    by_vehicle: dict[str, Recorded] = {}
    for arrival in read_recording(recording, sources):
        mine = by_vehicle.setdefault(arrival.vehicle or "", [])
        mine.append((arrival.arrived_at, places[arrival.source], arrival.row))
    recorded = tuple(by_vehicle[name] for name in sorted(by_vehicle))
    return Fleet(sources, recorded, count, seed)


# ---------------------------------------------------------------- what a task does


KIND = "#kind"
COMPLETED = "#completed"
COUNTED, TRACED, MET = -1, -2, -3
"""kinds of rows beside those of the outputs, which are numbered from 0"""
TRACE_COLUMNS = {
    "kind": pa.string(), "start": pa.int64(), "end": pa.int64(), "node": pa.string(),
    "place": pa.string(), "what": pa.string(), "job": pa.int64(), "first": pa.int32(),
    "ran": pa.int32(), "operators": pa.list_(pa.string()),
}  # fmt: skip
Batches = Iterator[Any]


def output_struct(place: int) -> str:
    return f"#out{place}"


@dataclass(frozen=True)
class Twins:
    """How every vehicle's engine is made; travels to the tasks."""

    text: str
    policy: str
    charged: bool
    traced: bool
    paths: tuple[str, ...]

    @classmethod
    def of(cls, plan: Plan, policy: str, *, charged: bool, traced: bool) -> Twins:
        return cls(plan_to_json(plan), policy, charged, traced, tuple(sys.path))

    def recorded(self) -> Callable[[Batches], Batches]:
        """Takes tagged sources, in order of arrival vehicle by vehicle (``tagged_sources``)."""

        def run(batches: Batches) -> Batches:
            plan = self._plan()
            names = [source.name for source in plan.query.sources]
            rows = (one for batch in batches for one in arrivals(batch, len(names)))
            for vehicle, mine in groupby(rows, key=lambda one: one[0]):
                came = (
                    Arrival(at * MICROSECOND, names[source], row) for _, source, at, row in mine
                )
                yield from self._batches(plan, vehicle, self._result(plan, came))

        return run

    def varied(self, fleet: Vehicles) -> Callable[[Batches], Batches]:
        """Takes the numbers of vehicles (a column ``id``); each gets its own variation."""

        def run(batches: Batches) -> Batches:
            plan = self._plan()
            for batch in batches:
                for number in batch.column("id").to_pylist():
                    name = fleet.name(number)
                    result = self._result(plan, fleet.arrivals(number))
                    yield from self._batches(plan, name, result)
                    if met := list(fleet.met(number, result)):
                        rows = pa.array([one._asdict() for one in met], pa.struct(met_types()))
                        yield _batch(name, MET, rows, _leaving(plan))

        return run

    def _plan(self) -> Plan:
        sys.path.extend(path for path in self.paths if path not in sys.path)
        return plan_from_json(self.text)

    def _result(self, plan: Plan, came: Iterable[Arrival]) -> RunResult:
        engine = Engine(plan=plan, policy=self.policy, charged=self.charged, keep_trace=self.traced)
        return engine.run(came)

    def _batches(self, plan: Plan, vehicle: str, result: RunResult) -> Batches:
        return result_batches(vehicle, result, _leaving(plan), traced=self.traced)


def _leaving(plan: Plan) -> list[Schema]:
    schemas = dict(plan.schemas)
    return [schemas[output.stream] for output in plan.query.outputs]


def result_batches(
    vehicle: str, result: RunResult, schemas: list[Schema], *, traced: bool
) -> Batches:
    """A run as Arrow: rows of outputs, one row of counts, the trace."""
    for place, (record, schema) in enumerate(zip(result.outputs.values(), schemas, strict=True)):
        if not record.rows:
            continue
        columns = [*zip(*record.rows, strict=True), record.completed]
        kinds = output_types(schema)
        arrays = [pa.array(c, kind) for c, (_, kind) in zip(columns, kinds, strict=True)]
        struct = pa.StructArray.from_arrays(arrays, [name for name, _ in kinds])
        yield _batch(vehicle, place, struct, schemas)
    summary = result.summary()
    counts = {**{name: getattr(summary, name) for name in COUNTS}, "end": summary.end}
    yield _batch(vehicle, COUNTED, pa.array([counts], pa.struct(count_types())), schemas)
    if traced:
        table = trace_table(result).combine_chunks()
        if table.num_rows:
            arrays = [
                table.column(name).cast(kind).combine_chunks()
                for name, kind in TRACE_COLUMNS.items()
            ]
            yield _batch(
                vehicle, TRACED, pa.StructArray.from_arrays(arrays, [*TRACE_COLUMNS]), schemas
            )


def output_types(schema: Schema) -> list[tuple[str, Any]]:
    """The row as it is inside the engine, and when it was completed (ns)."""
    return [*arrow_types(schema), (COMPLETED, pa.int64())]


def count_types() -> list[tuple[str, Any]]:
    return [(name, pa.int64()) for name in (*COUNTS, "end")]


def met_types() -> list[tuple[str, Any]]:
    return list(MET_COLUMNS.items())


def _batch(vehicle: str, kind: int, struct: Any, schemas: list[Schema]) -> Any:
    size = len(struct)
    columns = {
        output_struct(place): pa.nulls(size, pa.struct(output_types(schema)))
        for place, schema in enumerate(schemas)
    }
    columns["#counts"] = pa.nulls(size, pa.struct(count_types()))
    columns["#trace"] = pa.nulls(size, pa.struct(list(TRACE_COLUMNS.items())))
    columns["#met"] = pa.nulls(size, pa.struct(met_types()))
    names = {COUNTED: "#counts", TRACED: "#trace", MET: "#met"}
    name = names.get(kind, output_struct(kind))
    columns[name] = struct
    return pa.RecordBatch.from_pydict(
        {
            VEHICLE_COLUMN: pa.array([vehicle] * size, pa.string()),
            KIND: pa.array([kind] * size, pa.int32()),
            **columns,
        }
    )
