"""Random plans for ``bench_bounds.py``: pipelines as cars have them, on one to three nodes.

Sources with periods of 5 to 100 ms, some in bursts, with jitter, delays or load shedders; filters
and maps; unions; gathering operators with timeouts; fusion with items; joins with and without
timeouts and declared partners; windows; one bus, two buses with a gateway, or a link. Costs are
scaled until the busiest node has the load that was drawn (30 to 80 %). One plan in four has plain
operators only. Every output is told which kinds of operators lie before it, and whether it passes a
bus or a node with several cores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from headway.compiler.compilation import Compilation, plan_of
from headway.compiler.passes import PASSES
from headway.engine.adversary.stand_ins import COLUMNS, StandIn
from headway.errors import HeadwayError
from headway.model.expression import Column, Sql
from headway.model.graph import graph_of
from headway.model.operators import (
    Aggregate,
    Filter,
    Fusion,
    Gather,
    Input,
    Join,
    Map,
    Operator,
    Union,
    UserDefined,
)
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, Cost, Rate
from headway.model.query import Decide, LoadShedder, Output, Query, Source
from headway.model.vehicle import Bus, BusKind, Gateway, Link, Node, Vehicle

MS = MILLISECOND
CLASS = f"{StandIn.__module__}:{StandIn.__name__}"
KINDS = ("filter", "map", "map", "union", "gather", "fusion", "join", "aggregate")


@dataclass(frozen=True)
class SuitePlan:
    seed: int
    plan: Plan
    tags: dict[str, frozenset[str]]
    """output -> kinds of operators before it, ``nodes`` where it passes a bus, ``cores``"""

    @property
    def plain(self) -> bool:
        """Whether nothing but filters, maps and unions on nodes with one core is in the plan."""
        return all(tags <= {"nodes"} for tags in self.tags.values())


def suite_plan(seed: int) -> SuitePlan:
    """The plan of a seed."""
    draw = Random(seed)
    while True:
        query = _query(draw)
        vehicle = _vehicle(draw, query)
        target = draw.uniform(0.3, 0.8)
        try:
            plan = _compiled(query, vehicle)
            for _ in range(3):
                query = _scaled(query, target / max(worst_load(plan), 1e-9))
                plan = _compiled(query, vehicle)
        except HeadwayError:  # no place for an operator, a bus too full: not a plan
            continue
        assert plan.verdict is not None
        fits = all(one.utilisation < 0.9 for one in plan.verdict.loads)
        if fits and worst_load(plan) < 0.85:
            return SuitePlan(seed, plan, _tags(plan))


def worst_load(plan: Plan) -> float:
    """Of the busiest core, if every operator gives as many results as it may: what a window's
    closing and a timeout cost comes on top of what the verdict's loads count."""
    graph, place = graph_of(plan.query), dict(plan.placement)
    nodes = {node.name: node for node in plan.vehicle.nodes}
    rates = {
        name: source.arrivals.sustained.per_second if source.arrivals else 0.0
        for name, source in graph.sources.items()
    }
    load = dict.fromkeys(nodes, 0.0)
    for name in graph.order:
        operator, node = graph.operators[name], nodes[place[name]]
        given = sum(rates[stream] for stream in operator.streams)
        rates[name] = sum(rates[i.stream] * _results(operator, i) for i in operator.inputs)
        jobs = given
        if operator.traits.emits_on_time:
            jobs += rates[name]
        elif operator.holds_for is not None:
            jobs += given
        cost = operator.cost or Cost(0)
        each = cost.of(1, node.speed) if operator.gathering is not None else cost.worst(node.speed)
        overhead = 2 * node.decision_cost + node.preemption_cost
        load[node.name] += jobs * (each + overhead) / 1e9 / node.cores
    return max(load.values())


def _results(operator: Operator, port: Input) -> int:
    """Most results of a tuple that comes by a port."""
    if isinstance(operator, Join):
        alone = 1 if operator.timeout is not None else 0
        name, most = operator.partners or (port.port, operator.most_outputs or 1)
        return max(alone, most if name == port.port else 0)
    return operator.most_results(port.stream)


def _compiled(query: Query, vehicle: Vehicle) -> Plan:
    """Without advice."""
    compilation = Compilation(query=query, vehicle=vehicle, timed=True)
    for run_pass in PASSES:
        if run_pass.__name__ != "advise":
            compilation = run_pass(compilation)
    return plan_of(compilation)


def _scaled(query: Query, factor: float) -> Query:
    def scale(cost: Cost) -> Cost:
        return replace(cost, base=int(cost.base * factor), per_item=int(cost.per_item * factor))

    steps = tuple(replace(one, cost=scale(one.cost or Cost(0))) for one in query.operators)
    return replace(query, steps=steps)


def _tags(plan: Plan) -> dict[str, frozenset[str]]:
    graph = graph_of(plan.query)
    place = dict(plan.placement)
    several = {node.name for node in plan.vehicle.nodes if node.cores > 1}
    before: dict[str, set[str]] = {name: set() for name in graph.sources}
    for name in graph.order:
        operator = graph.operators[name]
        found: set[str] = set()
        for stream in operator.streams:
            found |= before[stream]
            if place[stream] != place[name]:
                found.add("nodes")
        if operator.gathering is not None:
            found.add("fusion" if isinstance(operator, Fusion) else "gather")
        elif isinstance(operator, Join | Aggregate):
            found.add(operator.kind)
        if place[name] in several:
            found.add("cores")
        before[name] = found
    return {output.name: frozenset(before[output.stream]) for output in plan.query.outputs}


# ---------------------------------------------------------------- queries


def _query(draw: Random) -> Query:
    sources = [_source(draw, f"s{i}") for i in range(draw.randint(1, 4))]
    streams = [source.name for source in sources]
    unread = dict.fromkeys(streams)
    steps: list[Operator] = []
    kinds = KINDS[:4] if draw.random() < 0.25 else KINDS
    for index in range(draw.randint(2, 9)):
        kind = draw.choice(kinds)
        wanted = 2 if kind in ("join", "gather", "fusion", "union") else 1
        if wanted > len(streams):
            kind, wanted = "map", 1
        first = draw.choice(list(unread) or streams)
        others = [stream for stream in streams if stream != first]
        inputs = [first, *draw.sample(others, wanted - 1)]
        steps.append(_operator(draw, kind, f"o{index}", inputs))
        for stream in inputs:
            unread.pop(stream, None)
        streams.append(f"o{index}")
        unread[f"o{index}"] = None
    used = {stream for step in steps for stream in step.streams}
    sources = [source for source in sources if source.name in used]
    outputs = [stream for stream in unread if stream.startswith("o")]
    return Query(
        name="suite",
        sources=tuple(sources),
        steps=tuple(steps),
        outputs=tuple(
            Output(name=f"out_{stream}", stream=stream, deadline=_deadline(draw))
            for stream in outputs
        ),
    )


def _deadline(draw: Random) -> int:
    return draw.choice((10, 20, 30, 50, 100, 200, 300, 500)) * MS


def _source(draw: Random, name: str) -> Source:
    period = draw.choice((5, 10, 20, 20, 25, 40, 50, 100)) * MS
    count = draw.choice((1, 1, 1, 1, 2, 4))
    rate = Rate(count, period, draw.choice((0, 0, 0, period // 10, period // 2)))
    shedder = None
    if draw.random() < 0.08:
        shedder = LoadShedder(
            at_most=draw.randint(1, 3),
            per=draw.choice((1, 2)) * period,
            value=Sql("v"),
            decide=Decide.WINDOW_END,
        )
    return Source(
        name=name,
        schema=COLUMNS,
        rate=rate,
        gap=2 * (period + rate.jitter),
        delay=draw.choice((0, 0, 1, 2, 5, 10)) * MS,
        lateness=draw.choice((0, 0, 5)) * MS,
        shedder=shedder,
    )


def _operator(draw: Random, kind: str, name: str, streams: Sequence[str]) -> Operator:
    cost = Cost(draw.choice((20, 50, 100, 200, 500, 1000, 2000)) * MICROSECOND)
    only = (Input("input", streams[0]),)
    if kind == "filter":
        return Filter(name=name, inputs=only, cost=cost, where=Sql("v >= 0.5"))
    if kind == "map":
        return Map(name=name, inputs=only, cost=cost, columns=(), keep=True)
    if kind == "aggregate":
        window = draw.choice((20, 50, 100)) * MS
        return Aggregate(
            name=name,
            inputs=only,
            cost=cost,
            window=window,
            every=draw.choice((window, window, window // 2)),
            by=("g",),
            columns=tuple(Column(one, Sql(f"max({one})")) for one in ("k", "n", "v")),
        )
    if kind == "union":
        ports = tuple(Input(f"input{i}", s) for i, s in enumerate(streams, start=1))
        return Union(name=name, inputs=ports, cost=cost)
    ports = (Input("a", streams[0]), Input("b", streams[1]))
    if kind == "join":
        partners = draw.choice((("a", 1), ("b", 1), None))
        return Join(
            name=name,
            inputs=ports,
            cost=cost,
            within=draw.choice((0, 1, 5, 10)) * MS,
            keys=(("k", "k"),),
            timeout=draw.choice((None, None, 5 * MS, 10 * MS)),
            partners=partners,
            most_outputs=None if partners else 1,
            columns=tuple(Column(one, Sql(f"coalesce(a.{one}, b.{one})")) for one in COLUMNS.names),
        )
    items = Cost(
        cost.base,
        per_item=draw.choice((50, 100, 500)) * MICROSECOND,
        most_items=draw.choice((2, 8, 20)),
        between_items=draw.random() < 0.5,
    )
    timeout = draw.choice((2, 5, 10, 20)) * MS
    gather = draw.choice((Gather.ALL, Gather.ALL, Gather.TIME))
    if kind == "gather":
        return UserDefined(
            name=name,
            inputs=ports,
            cost=cost,
            timeout=timeout,
            most_outputs=1,
            implementation=CLASS,
            schema=COLUMNS,
            gather=gather,
            parameters=(("rows", 1),),
        )
    return Fusion(
        name=name,
        inputs=ports,
        cost=items,
        timeout=timeout,
        most_outputs=1,
        implementation=CLASS,
        schema=COLUMNS,
        gather=gather,
        front=100 * MS,
        rear=100 * MS,
        parameters=(("rows", 1),),
    )


# ---------------------------------------------------------------- vehicles


def _vehicle(draw: Random, query: Query) -> Vehicle:
    """Operators are pinned anywhere; sensors stand where what reads them first does."""
    names = [f"n{i}" for i in range(draw.choice((1, 1, 2, 2, 3)))]
    decision, preemption = draw.choice(((0, 0), (0, 0), (2_000, 2_600), (10_000, 5_000)))
    nodes = tuple(
        Node(
            name=name,
            rate=draw.choice((0.5, 1.0, 1.0, 2.0)),
            cores=2 if draw.random() < 0.04 else 1,
            decision_cost=decision,
            preemption_cost=preemption,
        )
        for name in names
    )
    buses: tuple[Bus, ...] = ()
    gateways: tuple[Gateway, ...] = ()
    links: tuple[Link, ...] = ()
    if len(names) == 2 and draw.random() < 0.2:
        links = (Link(name="link", ends=(names[0], names[1]), speed=10**8),)
    elif len(names) == 2:
        buses = (_bus(draw, "b0", names),)
    elif len(names) == 3:
        buses = (_bus(draw, "b0", names[:2]), _bus(draw, "b1", names[2:]))
        gateways = (Gateway(name="gw", buses=("b0", "b1"), delay=500 * MICROSECOND),)
    place = {operator.name: draw.choice(names) for operator in query.operators}
    first = {s: place[o.name] for o in reversed(list(query.operators)) for s in o.streams}
    return Vehicle(
        name="suite",
        nodes=nodes,
        buses=buses,
        gateways=gateways,
        links=links,
        sensors=tuple((source.name, first[source.name]) for source in query.sources),
        pins=tuple(place.items()),
    )


def _bus(draw: Random, name: str, nodes: Sequence[str]) -> Bus:
    kind = draw.choice((BusKind.CAN_FD, BusKind.CAN_FD, BusKind.ETHERNET))
    if kind is BusKind.ETHERNET:
        return Bus(name=name, kind=kind, bit_rate=100_000_000, nodes=tuple(nodes))
    return Bus(name=name, kind=kind, bit_rate=500_000, data_bit_rate=5_000_000, nodes=tuple(nodes))
