"""Random queries on random vehicles, and arrivals at the edge of what their sources declare.

Everything a latency bound assumes is declared truthfully: rates (count, period, jitter), delays,
gaps, shedders, most outputs, a join's partners (measured on the very arrivals, see ``bounds.py``).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tests.engine.support import in_order
from tests.engine.users import HERE

from headway.engine.jobs import Arrival
from headway.model.expression import Column, Sql
from headway.model.operators import (
    Aggregate,
    Filter,
    Gather,
    Input,
    Join,
    Map,
    Operator,
    Sample,
    Union,
    UserDefined,
)
from headway.model.quantities import MICROSECOND, MILLISECOND, Cost, Rate
from headway.model.query import Decide, LoadShedder, Output, Query, Source
from headway.model.schema import schema
from headway.model.vehicle import Bus, BusKind, Gateway, Link, Node, Vehicle

COLUMNS = schema(k="int", v="double")
STATELESS = ("filter", "map", "union")
ALL_KINDS = (*STATELESS, "filter", "map", "join", "gather", "aggregate", "twice")
PATTERNS = ("aligned", "phases", "sporadic", "missed", "mixed")


@dataclass(frozen=True)
class Shape:
    """What a random query may hold."""

    kinds: Sequence[str] = ALL_KINDS
    most_operators: int = 9
    most_sources: int = 3
    most_nodes: int = 3
    scheduling_costs: bool = True
    shedders: bool = True
    cores: int = 1


def random_query(draw: random.Random, shape: Shape) -> Query:
    """Streams all have the columns of ``COLUMNS``; whatever nobody reads is an output."""
    sources = [_source(draw, f"s{i}", shape) for i in range(draw.randint(1, shape.most_sources))]
    streams = [source.name for source in sources]
    unread = dict.fromkeys(streams)
    steps: list[Operator] = []
    for index in range(draw.randint(1, shape.most_operators)):
        kind = draw.choice(shape.kinds)
        wanted = (
            2 if kind in ("join", "gather") else draw.choice((2, 2, 3)) if kind == "union" else 1
        )
        if wanted > len(streams):
            kind, wanted = "map", 1
        first = (
            draw.choice(list(unread) or streams) if draw.random() < 0.6 else draw.choice(streams)
        )
        others = [stream for stream in streams if stream != first]
        inputs = [first, *draw.sample(others, wanted - 1)]
        steps.append(_operator(draw, kind, f"o{index}", inputs))
        for stream in inputs:
            unread.pop(stream, None)
        streams.append(f"o{index}")
        unread[f"o{index}"] = None
    outputs = list(unread)
    inner = [step.name for step in steps if step.name not in unread]
    if inner and draw.random() < 0.3:
        outputs.append(draw.choice(inner))
    return Query(
        name="random",
        sources=tuple(sources),
        steps=tuple(steps),
        outputs=tuple(
            Output(name=f"out_{stream}", stream=stream, deadline=_deadline(draw))
            for stream in outputs
        ),
    )


def _deadline(draw: random.Random) -> int:
    return (
        draw.choice((3, 5, 8, 12, 20, 50, 100, 300, 500)) * MILLISECOND
        + draw.randint(0, 999) * 1000
    )


def _source(draw: random.Random, name: str, shape: Shape) -> Source:
    period = draw.choice((2, 3, 5, 8, 10, 20)) * MILLISECOND
    jitter = draw.choice((0, 0, 0, draw.randint(0, 2 * period) // MICROSECOND * MICROSECOND))
    rate: Rate | None = Rate(draw.choice((1, 1, 1, 2, 3, 5)), period, jitter)
    shedder = None
    if shape.shedders and draw.random() < 0.2:
        shedder = LoadShedder(
            at_most=draw.randint(1, 4),
            per=draw.choice((3, 5, 10)) * MILLISECOND,
            value=Sql("v"),
            decide=draw.choice(tuple(Decide)),
        )
        if draw.random() < 0.3:
            rate = None
    return Source(
        name=name,
        schema=COLUMNS,
        rate=rate,
        gap=draw.choice((2, 3)) * (period + jitter),
        delay=draw.choice((0, 0, 1, 3, 10)) * MILLISECOND,
        lateness=draw.choice((0, 0, 2, 20)) * MILLISECOND,
        shedder=shedder,
    )


def _operator(draw: random.Random, kind: str, name: str, streams: Sequence[str]) -> Operator:
    cost = Cost(draw.choice((0, 10, 50, 100, 300, 1000)) * MICROSECOND + draw.choice((0, 0, 0, 7)))
    only = (Input("input", streams[0]),)
    if kind == "filter":
        where = draw.choice(("v >= 0", "v >= 30", "k = 1", "v < 1000"))
        return Filter(name=name, inputs=only, cost=cost, where=Sql(where))
    if kind == "map":
        columns = (Column("v", Sql("v + 1")),)
        return Map(name=name, inputs=only, cost=cost, columns=columns, keep=True)
    if kind == "twice":
        return UserDefined(
            name=name,
            inputs=only,
            cost=cost,
            selectivity=2.0,
            most_outputs=2,
            implementation=f"{HERE}:Twice",
            schema=COLUMNS,
        )
    if kind == "aggregate":
        window = draw.choice((2, 5, 10)) * MILLISECOND
        return Aggregate(
            name=name,
            inputs=only,
            cost=cost,
            window=window,
            every=draw.choice((window, window, window // 2)),
            by=draw.choice((("k",), ("k",), ("k",))),
            columns=(Column("v", Sql("sum(v)")),),
        )
    if kind == "sample":
        every = draw.choice((2, 3, 5, 10)) * MILLISECOND
        return Sample(
            name=name,
            inputs=only,
            cost=cost,
            every=every,
            offset=draw.choice((0, 0, draw.randrange(every))),
            jitter=draw.choice((0, 0, draw.randrange(every))),
            hold=draw.choice((2, 5, 8)) * every,
        )
    if kind == "union":
        ports = tuple(Input(f"input{i}", s) for i, s in enumerate(streams, start=1))
        return Union(name=name, inputs=ports, cost=cost)
    ports = (Input("a", streams[0]), Input("b", streams[1]))
    timeout = draw.choice((0, 1, 3, 5, 10)) * MILLISECOND
    if kind == "join":
        return Join(
            name=name,
            inputs=ports,
            cost=cost,
            selectivity=0.5,
            within=draw.choice((0, 1, 2, 5)) * MILLISECOND,
            keys=draw.choice(((("k", "k"),), (("k", "k"),), ())),
            timeout=draw.choice((None, None, max(timeout, MILLISECOND))),
            partners=draw.choice((("a", 1), ("b", 1), None)),
            columns=(
                Column("k", Sql("coalesce(a.k, b.k)")),
                Column("v", Sql("coalesce(a.v, 0) + coalesce(b.v, 0)")),
            ),
        )
    assert kind == "gather"
    between = draw.random() < 0.3
    return UserDefined(
        name=name,
        inputs=ports,
        cost=Cost(
            cost.base,
            per_item=draw.choice((0, 20, 100)) * MICROSECOND,
            most_items=draw.choice((1, 4, 50)),
            between_items=between,
        ),
        timeout=timeout,
        most_outputs=1,
        implementation=f"{HERE}:{draw.choice(('Merge', 'PassAll'))}",
        schema=COLUMNS,
        gather=draw.choice((Gather.ALL, Gather.ALL, Gather.TIME)),
    )


def random_vehicle(draw: random.Random, query: Query, shape: Shape) -> Vehicle:
    """Up to three nodes on one bus, or on two joined by a gateway, or with a link; all pinned."""
    count = draw.randint(1, shape.most_nodes)
    names = [f"n{i}" for i in range(count)]
    decision, preemption = (
        draw.choice(((0, 0), (0, 0), (2000, 2600), (10_000, 5000), (50_000, 100_000)))
        if shape.scheduling_costs
        else (0, 0)
    )
    nodes = tuple(
        Node(
            name=name,
            rate=draw.choice((1.0, 1.0, 0.5, 2.0)),
            cores=shape.cores,
            decision_cost=decision,
            preemption_cost=preemption,
        )
        for name in names
    )
    buses: tuple[Bus, ...] = ()
    gateways: tuple[Gateway, ...] = ()
    links: tuple[Link, ...] = ()
    if count == 2 and draw.random() < 0.3:
        links = (Link(name="link", ends=(names[0], names[1]), speed=draw.choice((10**6, 10**8))),)
    elif count == 2:
        buses = (_bus(draw, "b0", names),)
    elif count == 3:
        buses = (_bus(draw, "b0", names[:2]), _bus(draw, "b1", names[2:]))
        gateways = (
            Gateway(name="gw", buses=("b0", "b1"), delay=draw.choice((0, 100, 500)) * MICROSECOND),
        )
    return Vehicle(
        name="random",
        nodes=nodes,
        buses=buses,
        gateways=gateways,
        links=links,
        sensors=tuple((source.name, draw.choice(names)) for source in query.sources),
        pins=tuple((operator.name, draw.choice(names)) for operator in query.operators),
    )


def _bus(draw: random.Random, name: str, nodes: Sequence[str]) -> Bus:
    kind = draw.choice(tuple(BusKind))
    bit_rate = {BusKind.CAN: 1_000_000, BusKind.CAN_FD: 500_000, BusKind.ETHERNET: 100_000_000}[
        kind
    ]
    fast = 2_000_000 if kind is BusKind.CAN_FD else None
    return Bus(name=name, kind=kind, bit_rate=bit_rate, data_bit_rate=fast, nodes=tuple(nodes))


def scaled(query: Query, factor: float) -> Query:
    """The same with costs so many times as high."""

    def scale(cost: Cost) -> Cost:
        return replace(cost, base=int(cost.base * factor), per_item=int(cost.per_item * factor))

    steps = tuple(replace(o, cost=scale(o.cost or Cost(0))) for o in query.operators)
    return replace(query, steps=steps)


# -------------------------------------------------------------------- arrivals


def random_arrivals(
    draw: random.Random,
    query: Query,
    pattern: str,
    *,
    until: int = 60 * MILLISECOND,
    beyond: int = 1,
) -> Sequence[Arrival]:
    """Tuples of all sources within their rates, delays and gaps; ``beyond`` times as many
    otherwise.

    - aligned: all sources send their densest burst (jitter used up) at one instant, then
      periodically;
    - phases: random phases; - sporadic: random silences, each burst as early as allowed;
    - missed: phases a timeout apart and a little more, so that partners just miss it;
    - mixed: each source follows one of the others.
    """
    timeouts = [o.timeout for o in query.operators if o.timeout] or [MILLISECOND]
    start = draw.randint(0, 20) * 500 * MICROSECOND
    found: list[Arrival] = []
    for index, source in enumerate(query.sources):
        way = draw.choice(PATTERNS[:-1]) if pattern == "mixed" else pattern
        rate = source.rate or Rate(9, 4 * MILLISECOND)
        phase = {
            "aligned": 0,
            "phases": draw.randint(0, rate.period // MICROSECOND) * MICROSECOND,
            "sporadic": 0,
            "missed": index * (draw.choice(timeouts) + draw.choice((-1, 0, 1, 300)) * MICROSECOND),
        }[way]
        lag = draw.choice((0, 1, 1, 2))
        low = draw.choice((0, 1))
        phase = min(max(phase, 0), (source.gap or phase) - rate.jitter)
        for instant in _instants(draw, rate, start + phase, start + until, way, source.gap):
            for number in range(rate.count * beyond):
                age = (0, source.delay, draw.randint(0, source.delay))[lag]
                timestamp = -(-(instant - age) // MICROSECOND)
                value = float(draw.randint(0, 99))
                key = number % 3 if low else draw.randint(0, 2)
                found.append(Arrival(instant, source.name, (max(timestamp, 0), key, value)))
    draw.shuffle(found)
    return in_order(found)


def _instants(
    draw: random.Random, rate: Rate, start: int, until: int, way: str, gap: int | None
) -> list[int]:
    """Instants of bursts: ideal ones a period apart, each displaced by up to the jitter."""
    ideal, found = start, []
    while ideal <= until:
        since = ideal - start
        if way == "aligned":
            shift = max(0, rate.jitter - since)
        else:
            shift = draw.choice((0, rate.jitter, draw.randint(0, rate.jitter)))
        instant = (ideal + shift) // MICROSECOND * MICROSECOND
        found.append(max(instant, ideal))
        step = rate.period
        if way == "sporadic" and gap is not None and draw.random() < 0.3:
            step = draw.randint(rate.period, max(gap - rate.jitter, rate.period))
        ideal += max(step // MICROSECOND * MICROSECOND, rate.period)
    return sorted(found)
