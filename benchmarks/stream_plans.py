"""The five stream programs of ``stream_cases.py`` as plans of Headway, and their tuples as tables.

Every operator of the first four takes 1 µs of virtual time, so each tuple is scheduled by itself.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from engine_chain import COLUMNS, chain_plan, plan_of
from stream_cases import BRANCHES, EVERY, PERIOD, WINDOW, WITHIN, rows_of

from headway.engine.jobs import Arrival
from headway.model.expression import Column, Sql
from headway.model.operators import Aggregate, Fusion, Input, Join, Map, Operator
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, SECOND, Cost, Rate
from headway.model.query import Output, Query, Source
from headway.model.schema import schema
from headway.native.arriving_rows import ArrivingTable, arriving_table
from headway.native.arrow_rows import column_kinds

ONE = Cost(MICROSECOND)
GPS = schema(x="float [m]", y="float [m]", heading="float [rad]")
SPEED = schema(v="float [m/s]")
VEHICLE = schema(
    id="bigint",
    sensor="string(5)",
    own="boolean",
    x="float [m]",
    y="float [m]",
    vx="float [m/s]",
    vy="float [m/s]",
    var_x="float",
    var_y="float",
    var_vx="float",
    var_vy="float",
)


def _source(name: str) -> Source:
    return Source(name=name, schema=COLUMNS, rate=Rate(1, EVERY * MICROSECOND))


def _fan_out() -> Plan:
    steps: list[Operator] = [
        Map(
            name=f"branch{b}",
            inputs=(Input("input", "s"),),
            cost=ONE,
            columns=(Column("v", Sql(f"v + {b}")), Column("k", Sql("k"))),
        )
        for b in range(BRANCHES)
    ]
    outputs = tuple(
        Output(name=f"out{b}", stream=f"branch{b}", deadline=MILLISECOND) for b in range(BRANCHES)
    )
    return plan_of(
        Query(name="fan_out", sources=(_source("s"),), steps=tuple(steps), outputs=outputs)
    )


def _join() -> Plan:
    step = Join(
        name="pairs",
        inputs=(Input("a", "s"), Input("b", "t")),
        cost=ONE,
        within=WITHIN * MICROSECOND,
        keys=(("k", "k"),),
        columns=(Column("v", Sql("a.v + b.v")), Column("k", Sql("a.k"))),
        partners=("a", 3),
    )
    return _of_one(step, (_source("s"), _source("t")))


def _aggregate() -> Plan:
    step = Aggregate(
        name="sums",
        inputs=(Input("input", "s"),),
        cost=ONE,
        window=WINDOW * MICROSECOND,
        every=WINDOW * MICROSECOND,
        by=("k",),
        columns=(Column("v", Sql("sum(v)")), Column("n", Sql("count(*)"))),
    )
    return _of_one(step, (_source("s"),))


def _fusion() -> Plan:
    step = Fusion(
        name="own",
        inputs=(Input("gps", "gps"), Input("speed", "speed")),
        cost=Cost(MILLISECOND),
        implementation="headway.fusion.own_vehicle:OwnVehicleFusion",
        schema=VEHICLE,
        front=SECOND,
        rear=SECOND,
        timeout=50 * MILLISECOND,
        most_outputs=1,
    )
    rate = Rate(1, PERIOD * MICROSECOND)
    sources = (
        Source(name="gps", schema=GPS, rate=rate),
        Source(name="speed", schema=SPEED, rate=rate),
    )
    return _of_one(step, sources)


def _of_one(step: Operator, sources: tuple[Source, ...]) -> Plan:
    output = Output(name="out", stream=step.name, deadline=SECOND)
    return plan_of(Query(name=step.name, sources=sources, steps=(step,), outputs=(output,)))


PLANS: dict[str, Callable[[], Plan]] = {
    "chain": lambda: chain_plan(Rate(1, 10 * MICROSECOND), MILLISECOND),
    "fan_out": _fan_out,
    "join": _join,
    "aggregate": _aggregate,
    "fusion": _fusion,
}


def arrivals_of(case: str, tuples: int) -> list[Arrival]:
    return [Arrival(row[0] * MICROSECOND, source, row) for source, row in rows_of(case, tuples)]


def tables_of(plan: Plan, case: str, tuples: int) -> dict[str, ArrivingTable]:
    """The same as Arrow tables."""
    given = rows_of(case, tuples)
    found = {}
    for source in plan.query.sources:
        rows = [row for name, row in given if name == source.name]
        columns = [
            pa.array(column, kind)
            for column, kind in zip(
                zip(*rows, strict=True), column_kinds(source.schema), strict=True
            )
        ]
        found[source.name] = arriving_table(columns, columns[0])
    return found
