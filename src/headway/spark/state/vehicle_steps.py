"""One partition's micro-batch: the tuples of its vehicles in, their results and new states out.

This is what a task of a stream does, whatever Spark has to do with it: state as bytes and Arrow
tables come in, Arrow tables and state as bytes go out. The order of arrival is put together again
over the cuts of micro-batches (:mod:`headway.spark.state.arrival_order`); the results are those of
a batch over the same data, apart from what still waits when the stream stops (windows that are
open, timers that run, tuples held for a silent source), which :meth:`VehicleSteps.finish` gives
once the input has ended.

A live stream has a clock: a vehicle of which nothing has come for ``hold`` does not wait for silent
sources any longer, and its time goes on. What is kept has bounds: vehicles of which nothing has
come for ``forget`` are forgotten, and of each vehicle at most ``most_held`` tuples are held; those
that come last are shed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.compiler.node_queries import on_one_node
from headway.engine.jobs import NEVER
from headway.engine.operators.operator_base import DropKind, Dropped
from headway.engine.result_tables import SIDE_SCHEMA, SideRows
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.model.schema import VEHICLE_COLUMN
from headway.native.arrow_rows import column_kinds
from headway.spark.state.arrival_order import (
    BESIDE,
    Arrivals,
    arrivals_of,
    complete_until,
    note_seen,
    one_array,
    places_in_group,
    ready,
)
from headway.spark.state.delayed_uploads import uploads_apart, vehicles_of
from headway.spark.state.native_loop import vehicle_loop
from headway.spark.state.vehicle_hashes import Hashes, vehicle_hashes
from headway.spark.state.vehicle_loops import Given, SideTuple, VehicleLoop
from headway.spark.state.vehicle_states import (
    NOT_YET,
    OWNER,
    Mask,
    Places,
    Times,
    VehicleStates,
    merged_states,
)

KIND = "kind"
SIDE_TABLE = pa.schema(
    [pa.field(KIND, pa.string()), *SIDE_SCHEMA, pa.field(VEHICLE_COLUMN, pa.string())]
)


# ---------------------------------------------------------------- what goes in and out


@dataclass(frozen=True, slots=True)
class StepInput:
    """One partition's micro-batch."""

    tables: Mapping[str, Any]
    """by source, in any order: Arrow tables of ``vehicle``, ``#at`` (arrival, microseconds),
    ``#position`` (or NULL) and the schema's columns, times as whole microseconds. A source of
    which nothing came may be left out."""
    state: bytes | Sequence[bytes] | None
    """the partition's state, or segments of it, the later over the earlier; None: the beginning"""
    clock: int | None = None
    """microseconds, for all tasks of a micro-batch the same; None: a replay, which has none"""
    keep: Callable[[Hashes], Mask] | None = None
    """after a change of partitions: which of the vehicles in the state belong here, by Spark's
    hashes of their names"""
    newest: int | None = None
    """in a replay: the newest arrival of all partitions, by which vehicles are forgotten; None:
    this partition's"""


@dataclass(frozen=True, slots=True)
class StepCounts:
    """``held`` are the tuples that wait for other sources now; ``shed`` those for which there was
    no room among them, or whose vehicle was forgotten."""

    tuples: int = 0
    vehicles: int = 0
    """with a state, now"""
    held: int = 0
    forgotten: int = 0
    shed: int = 0


@dataclass(frozen=True, slots=True)
class StepOutput:
    """What a micro-batch gave."""

    outputs: Mapping[str, Any]
    """by output, tables of ``vehicle``, ``timestamp`` and the fields, times as microseconds; by
    vehicle and appearance"""
    side: Any
    """what left its way, as :data:`SIDE_TABLE`"""
    states: VehicleStates
    changed: VehicleStates
    counts: StepCounts

    @property
    def state(self) -> bytes:
        """Of all vehicles of the partition."""
        return self.states.to_bytes()

    @property
    def delta(self) -> bytes:
        """Only of those that this micro-batch changed: a segment over the state before."""
        return self.changed.to_bytes()


class VehicleSteps(Protocol):
    """The vehicles of a query."""

    @property
    def fingerprint(self) -> str:
        """which program's states these are"""

    def step(self, given: StepInput) -> StepOutput:
        """DataError when the state is damaged or another program's."""

    def finish(self, state: bytes | Sequence[bytes]) -> StepOutput:
        """The input has ended: held tuples run, timers run out, windows close."""


# ---------------------------------------------------------------- the steps


def vehicle_steps(
    plan: Plan,
    *,
    listed: Collection[str] | None = None,
    hold: int | None = None,
    forget: int | None = None,
    most_held: int | None = None,
    upload_gap: int | None = None,
    program: bytes | None = None,
) -> VehicleSteps:
    """Of a plan. ``listed``: the sources and operators whose lost tuples are told (None: all);
    ``hold``, ``forget`` and ``upload_gap`` (:mod:`headway.spark.state.delayed_uploads`) in
    nanoseconds; ``program`` is the library that
    :func:`headway.spark.state.step_programs.step_program` made."""
    plan = on_one_node(plan)
    return FleetSteps(
        plan,
        vehicle_loop(plan, program, listed),
        listed=listed,
        hold=hold,
        forget=forget,
        most_held=most_held,
        upload_gap=upload_gap,
    )


class FleetSteps:
    """Micro-batches of a partition; a loop runs the engines of its vehicles."""

    def __init__(
        self,
        plan: Plan,
        loop: VehicleLoop,
        *,
        listed: Collection[str] | None = None,
        hold: int | None = None,
        forget: int | None = None,
        most_held: int | None = None,
        upload_gap: int | None = None,
    ) -> None:
        self._upload_gap = None if upload_gap is None else upload_gap // MICROSECOND
        self._loop, self._listed, self._most_held = loop, listed, most_held
        self._hold = None if hold is None else max(1, hold // MICROSECOND)
        self._forget = None if forget is None else max(1, forget // MICROSECOND)
        self._sources = [source.name for source in plan.query.sources]
        self._outputs = [output.name for output in plan.query.outputs]
        self._beside = held_schemas(plan)
        self._side_rows = SideRows(plan)

    @property
    def fingerprint(self) -> str:
        return self._loop.fingerprint

    def step(self, given: StepInput) -> StepOutput:
        states = self._before(given)
        if self._upload_gap is not None:
            apart = uploads_apart(given.tables, states.vehicles, states.seen, self._upload_gap)
            given = replace(given, tables=apart)
        states, tables, touched = self._with_new(states, given)
        arrived = sum(table.num_rows for table in tables)
        fresh = arrivals_of(tables)
        seen = states.seen.copy()
        note_seen(seen, fresh)
        going, until = self._going_on(states, seen, touched, given.clock)
        working = touched | going
        arrivals, waiting = self._with_held(states, fresh, tables, working)
        can_run = ready(arrivals, seen) | going[arrivals.owners]
        held, shed = self._kept(arrivals.at(np.flatnonzero(~can_run)), waiting)
        heard = states.heard.copy()
        if given.clock is not None:
            heard[touched] = given.clock
        outputs, side, engines, timers = self._run(
            states, arrivals.at(np.flatnonzero(can_run)), np.where(working, until, -NEVER)
        )
        side += self._shed_rows(shed, f"{self._most_held} tuples of its vehicle wait already")
        after = replace(
            states, seen=seen, heard=heard, timers=timers, engines=engines, held=tuple(held)
        )
        lost = self._forgotten(after, given)
        gone = after.only(lost) if lost.any() else None
        if gone is not None:
            abandoned = arrivals_of(gone.held)
            mine = np.flatnonzero(lost)[abandoned.owners]
            forgot = replace(abandoned, owners=mine)
            side += self._shed_rows(forgot, "its vehicle was forgotten")
        counts = StepCounts(
            tuples=arrived,
            vehicles=len(after) - int(lost.sum()),
            held=after.held_count - (0 if gone is None else gone.held_count),
            forgotten=int(lost.sum()),
            shed=len(shed) + (0 if gone is None else gone.held_count),
        )
        return StepOutput(
            outputs=outputs,
            side=self._side_table(side, states.vehicles),
            states=after.only(~lost),
            changed=_with_forgotten(after, lost).only(working | lost),
            counts=counts,
        )

    def finish(self, state: bytes | Sequence[bytes]) -> StepOutput:
        states = self._before(StepInput(tables={}, state=state))
        arrivals = arrivals_of(states.held)
        every = np.arange(len(states))
        ran = self._loop.run(
            Given(arrivals.in_order(), states.engines, np.full(len(states), -NEVER), ends=True)
        )
        after = replace(
            states,
            engines=ran.engines,
            timers=ran.timers,
            held=tuple(table.slice(0, 0) for table in states.held),
        )
        return StepOutput(
            outputs=self._output_tables(ran.outputs, states.vehicles, every),
            side=self._side_table(list(ran.side), states.vehicles),
            states=after,
            changed=after,
            counts=StepCounts(vehicles=len(after)),
        )

    # ---------------------------------------------------------------- vehicles

    def _before(self, given: StepInput) -> VehicleStates:
        """The vehicles of the partition before this micro-batch."""
        state = given.state
        if state is None or not len(state):
            return self._nobody()
        segments = [state] if isinstance(state, bytes) else state
        states = merged_states(segments, self.fingerprint)
        if given.keep is not None:
            states = states.only(given.keep(vehicle_hashes(vehicles_of(states.vehicles))))
        return states

    def _nobody(self) -> VehicleStates:
        return self._beginners(pa.array([], pa.string()))

    def _beginners(self, names: Any) -> VehicleStates:
        """Vehicles of which nothing was known."""
        count = len(names)
        return VehicleStates(
            fingerprint=self.fingerprint,
            vehicles=names,
            seen=np.full((count, len(self._sources)), NOT_YET, dtype=np.int64),
            heard=np.full(count, NOT_YET, dtype=np.int64),
            timers=np.full(count, NEVER, dtype=np.int64),
            engines=pa.array([b""] * count, pa.large_binary()),
            held=tuple(schema.empty_table() for schema in self._beside),
        )

    def _with_new(
        self, states: VehicleStates, given: StepInput
    ) -> tuple[VehicleStates, list[Any], Mask]:
        """The vehicles with those that are new; the tuples by source, their vehicles as places; and
        of which vehicles there are tuples."""
        tables = [given.tables.get(name) for name in self._sources]
        names = [
            _names(table.column(VEHICLE_COLUMN))
            for table in tables
            if table is not None and table.num_rows
        ]
        if not names:
            empty = [schema.empty_table() for schema in self._beside]
            return states, empty, np.zeros(len(states), dtype=np.bool_)
        encoded = (pa.concat_arrays(names) if len(names) > 1 else names[0]).dictionary_encode()
        named = encoded.dictionary
        places = pc.index_in(named, value_set=states.vehicles)
        if places.null_count:
            added = self._beginners(named.filter(places.is_null()))
            states = _together(states, added).in_order()
            places = pc.index_in(named, value_set=states.vehicles)
        place_of = places.to_numpy().astype(np.int64)
        owners = place_of[encoded.indices.to_numpy()]
        touched = np.zeros(len(states), dtype=np.bool_)
        touched[place_of] = True
        found, first = [], 0
        for table, schema in zip(tables, self._beside, strict=True):
            if table is None or not table.num_rows:
                found.append(schema.empty_table())
                continue
            mine = pa.array(owners[first : first + table.num_rows])
            first += table.num_rows
            columns = [one_array(table.column(name)) for name in schema.names[1:]]
            found.append(pa.Table.from_arrays([mine, *columns], schema=schema))
        return states, found, touched

    # ---------------------------------------------------------------- what can be run

    def _going_on(
        self, states: VehicleStates, seen: Times, touched: Mask, clock: int | None
    ) -> tuple[Mask, Times]:
        """The vehicles that wait no longer, and until when (ns) the timers of each run out."""
        complete, _ = complete_until(seen)
        until = np.where(complete == NOT_YET, -NEVER, complete * MICROSECOND)
        nobody = np.zeros(len(states), dtype=np.bool_)
        if clock is None or self._hold is None or not len(states):
            return nobody, until
        heard = np.where(states.heard == NOT_YET, clock, states.heard)
        silent = clock - heard
        goes_on = ~touched & (silent >= self._hold)
        newest = seen.max(axis=1)
        later = (newest + silent) * MICROSECOND
        waits = states.timers < later
        for table in states.held:
            waits[one_array(table.column(OWNER)).to_numpy()] = True
        goes_on &= waits & (newest != NOT_YET)
        return goes_on, np.where(goes_on, later, until)

    def _with_held(
        self, states: VehicleStates, fresh: Arrivals, tables: Sequence[Any], working: Mask
    ) -> tuple[Arrivals, list[Any]]:
        """The tuples that may be run now, with those that were held for the same vehicles; and the
        tables of those that stay held without a look."""
        if not states.held_count:
            return fresh, [table.slice(0, 0) for table in states.held]
        together, stay = [], []
        for held, table in zip(states.held, tables, strict=True):
            mine = pa.array(working[one_array(held.column(OWNER)).to_numpy()])
            together.append(pa.concat_tables([held.filter(mine), table]).combine_chunks())
            stay.append(held.filter(pc.invert(mine)))
        return arrivals_of(together), stay

    def _kept(self, rest: Arrivals, waiting: list[Any]) -> tuple[list[Any], Arrivals]:
        """What is held from now on, by source, and what there is no room for."""
        shed = rest.at(np.zeros(0, dtype=np.int64))
        if self._most_held is not None and len(rest) > self._most_held:
            ordered = rest.in_order()
            beyond = places_in_group(ordered.owners) >= self._most_held
            if beyond.any():
                shed, rest = (ordered.at(np.flatnonzero(mask)) for mask in (beyond, ~beyond))
        held = [
            pa.concat_tables([table, rest.table_of(source)]) if len(rest) else table
            for source, table in enumerate(waiting)
        ]
        return held, shed

    def _run(
        self, states: VehicleStates, arrivals: Arrivals, bounds: Times
    ) -> tuple[dict[str, Any], list[SideTuple], Any, Times]:
        """Runs the vehicles that have something to do."""
        busy = states.timers < bounds
        busy[arrivals.owners] = True
        places = np.flatnonzero(busy)
        place_among = np.cumsum(busy) - 1
        ordered = replace(arrivals, owners=place_among[arrivals.owners]).in_order()
        picked = len(places) < len(states)
        engines = states.engines.take(pa.array(places)) if picked else states.engines
        ran = self._loop.run(Given(ordered, engines, bounds[places]))
        timers = states.timers.copy()
        timers[places] = ran.timers
        after = ran.engines
        if picked:
            source = np.arange(len(states))
            source[places] = len(states) + np.arange(len(places))
            after = pa.concat_arrays([states.engines, ran.engines]).take(pa.array(source))
        side = [replace(one, owner=int(places[one.owner])) for one in ran.side]
        return self._output_tables(ran.outputs, states.vehicles, places), side, after, timers

    # ---------------------------------------------------------------- what is let go

    def _forgotten(self, states: VehicleStates, given: StepInput) -> Mask:
        """Vehicles of which nothing has come for too long: by the clock, or in a replay by the
        newest arrival."""
        nobody = np.zeros(len(states), dtype=np.bool_)
        if self._forget is None or not len(states):
            return nobody
        last = states.seen.max(axis=1)
        now = given.clock
        if now is not None:
            last = np.where(states.heard == NOT_YET, now, states.heard)
        else:
            now = int(last.max()) if given.newest is None else given.newest
        found: Mask = now - last >= self._forget
        return found

    def _shed_rows(self, shed: Arrivals, reason: str) -> list[SideTuple]:
        """Tuples that were held, or were to be, as rows of the side output."""
        found: list[SideTuple] = []
        for owner, at, source, row in zip(
            shed.owners.tolist(),
            shed.times.tolist(),
            shed.sources.tolist(),
            shed.rows.tolist(),
            strict=True,
        ):
            name = self._sources[source]
            if self._listed is not None and name not in self._listed:
                continue
            columns = shed.tables[source].columns[len(BESIDE) :]
            values = tuple(column[row].as_py() for column in columns)
            dropped = Dropped(name, DropKind.SHED, values, reason)
            kept = self._side_rows.row(at * MICROSECOND, dropped)
            found.append(SideTuple(owner, DropKind.SHED.value, kept))
        return found

    # ---------------------------------------------------------------- tables

    def _output_tables(
        self, outputs: Sequence[Any], vehicles: Any, places: Places
    ) -> dict[str, Any]:
        return {
            name: one.rows.add_column(
                0, VEHICLE_COLUMN, vehicles_of(vehicles.take(pa.array(places[one.owners])))
            )
            for name, one in zip(self._outputs, outputs, strict=True)
        }

    def _side_table(self, side: list[SideTuple], vehicles: Any) -> Any:
        if not side:
            return SIDE_TABLE.empty_table()
        side = sorted(side, key=lambda one: one.owner)
        columns = list(zip(*((one.kind, *one.row) for one in side), strict=True))
        arrays = [pa.array(values, kind) for values, kind in zip(columns, SIDE_TABLE.types)]  # noqa: B905 - the vehicle comes last
        names = vehicles_of(vehicles.take(pa.array([one.owner for one in side])))
        return pa.Table.from_arrays([*arrays, names], schema=SIDE_TABLE)


def held_schemas(plan: Plan) -> list[Any]:
    """By source: the Arrow schema of its tuples in a step."""
    beside = [(name, pa.int64()) for name in BESIDE]
    return [
        pa.schema(
            [
                *beside,
                *zip(
                    (field.name for field in source.schema.columns),
                    column_kinds(source.schema),
                    strict=True,
                ),
            ]
        )
        for source in plan.query.sources
    ]


def _names(column: Any) -> Any:
    """Vehicles as one array of strings; one without a name is ''."""
    whole = one_array(column)
    if pa.types.is_dictionary(whole.type):
        whole = whole.dictionary_decode()
    whole = whole.cast(pa.string())
    return whole.fill_null("") if whole.null_count else whole


def _together(states: VehicleStates, added: VehicleStates) -> VehicleStates:
    return replace(
        states,
        vehicles=pa.concat_arrays([states.vehicles, added.vehicles]),
        seen=np.concatenate([states.seen, added.seen]),
        heard=np.concatenate([states.heard, added.heard]),
        timers=np.concatenate([states.timers, added.timers]),
        engines=pa.concat_arrays([states.engines, added.engines]),
    )


def _with_forgotten(states: VehicleStates, lost: Mask) -> VehicleStates:
    """Segments say of a forgotten vehicle that it has no engine, and hold nothing for it."""
    if not lost.any():
        return states
    engines = pc.if_else(pa.array(lost), pa.scalar(None, pa.large_binary()), states.engines)
    held = tuple(
        table.filter(pa.array(~lost[one_array(table.column(OWNER)).to_numpy()]))
        for table in states.held
    )
    return replace(states, engines=engines, held=held)
