"""A query over three nodes with every kind of operator, and a recording for it."""

from __future__ import annotations

from pathlib import Path

from headway.compiler import compile_query
from headway.engine.jobs import Arrival
from headway.model.expression import Column, Sql
from headway.model.operators import Aggregate, Filter, Input, Join, Map, Operator, UserDefined
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, SECOND, Cost, Rate
from headway.model.query import Criticality, Output, Query, Source
from headway.model.schema import schema
from headway.model.vehicle import Bus, BusKind, Node, Vehicle
from headway.sources.parquet_file import StreamWriter

RADAR = schema(id="int", distance="double")
OWN = schema(speed="double", gear="string(8)")
EPOCH = 1_700_000_000_000_000
"""microseconds"""
CHEAP = Cost(10 * MICROSECOND)
SOFT = Criticality.SOFT


def study_plan(timeout: int = 200 * MILLISECOND, within: int = 15 * MILLISECOND) -> Plan:
    """front: radar -> near (filter) -> scaled (map); rear: own -> moving (filter);
    centre: paired (join), gathered (waits for both), counted (aggregate of the pairs)."""
    rate = Rate(1, 10 * MILLISECOND)
    operators: tuple[Operator, ...] = (
        Filter(
            name="near", inputs=(Input("input", "radar"),), cost=CHEAP, where=Sql("distance < 80")
        ),
        Map(
            name="scaled",
            inputs=(Input("input", "near"),),
            cost=CHEAP,
            columns=(Column("metres", Sql("distance * 2")),),
            keep=True,
        ),
        Filter(name="moving", inputs=(Input("input", "own"),), cost=CHEAP, where=Sql("speed > 1")),
        Join(
            name="paired",
            inputs=(Input("radar", "scaled"), Input("own", "moving")),
            cost=CHEAP,
            within=within,
            columns=(
                Column("id", Sql("radar.id")),
                Column("gap", Sql("radar.metres - own.speed")),
                Column("gear", Sql("own.gear")),
            ),
            most_outputs=4,
        ),
        UserDefined(
            name="gathered",
            inputs=(Input("left", "near"), Input("right", "moving")),
            cost=CHEAP,
            timeout=timeout,
            implementation="tests.engine.nodes.gathering:Latest",
            schema=schema(lefts="int", rights="int"),
        ),
        Aggregate(
            name="counted",
            inputs=(Input("input", "paired"),),
            cost=CHEAP,
            window=100 * MILLISECOND,
            every=100 * MILLISECOND,
            by=("gear",),
            columns=(Column("pairs", Sql("count(*)")), Column("closest", Sql("min(gap)"))),
        ),
    )
    query = Query(
        name="study",
        sources=(
            Source(name="radar", schema=RADAR, rate=rate),
            Source(name="own", schema=OWN, rate=rate),
        ),
        steps=operators,
        outputs=(
            # Soft: nodes in real time may be late on a busy machine, and say so if it is hard.
            Output(name="pairs", stream="paired", deadline=2 * SECOND, criticality=SOFT),
            Output(name="both", stream="gathered", deadline=2 * SECOND, criticality=SOFT),
            Output(name="counts", stream="counted", deadline=5 * SECOND, criticality=SOFT),
        ),
    )
    vehicle = Vehicle(
        name="three",
        nodes=(Node(name="front"), Node(name="rear"), Node(name="centre")),
        buses=(
            Bus(
                name="backbone",
                kind=BusKind.ETHERNET,
                bit_rate=100_000_000,
                nodes=("front", "rear", "centre"),
            ),
        ),
        sensors=(("radar", "front"), ("own", "rear")),
        pins=(
            ("near", "front"),
            ("scaled", "front"),
            ("moving", "rear"),
            ("paired", "centre"),
            ("gathered", "centre"),
            ("counted", "centre"),
        ),
    )
    return compile_query(query, vehicle)


def study_arrivals(tuples: int = 100, every: int = 10_000, apart: int = 1_000) -> list[Arrival]:
    """``every``: microseconds between the tuples of a source; those of own come ``apart`` later."""
    arrivals = []
    for n in range(tuples):
        at = EPOCH + n * every
        arrivals.append(Arrival(at * MICROSECOND, "radar", (at, n, float(n * 7 % 100))))
        own = (at + apart, float(n % 5), "DRNP"[n // 10 % 4])
        arrivals.append(Arrival((at + apart) * MICROSECOND, "own", own))
    return arrivals


def write_recording(folder: Path, arrivals: list[Arrival]) -> None:
    for name, columns in (("radar", RADAR), ("own", OWN)):
        with StreamWriter(folder / f"{name}.parquet", columns) as writer:
            for arrival in arrivals:
                if arrival.source == name:
                    writer.write(arrival.row, arrived_at=arrival.time // MICROSECOND)
