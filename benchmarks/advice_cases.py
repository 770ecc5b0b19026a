"""Random small queries and vehicles whose default placement breaks a promise."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from headway.compiler.compilation import Compilation
from headway.compiler.deadlines import deadlines
from headway.compiler.latency.verdict import judged_within
from headway.compiler.node_queries import split
from headway.compiler.passes import PASSES
from headway.compiler.placement.placement_problem import (
    Layout,
    lay_out,
    measure,
    problem_of,
    respects_capacities,
)
from headway.compiler.trains import trains
from headway.errors import PlacementError
from headway.model.expression import Sql
from headway.model.operators import Filter, Input, Map, Operator, Union
from headway.model.quantities import MICROSECOND, MILLISECOND, Cost, Rate
from headway.model.query import Output, Query, Source
from headway.model.schema import DataType, Field, Schema
from headway.model.vehicle import Bus, BusKind, Gateway, Node, Vehicle


def payload(size: int) -> Schema:
    return Schema((Field("v", DataType.INT), Field("payload", DataType.STRING, length=size)))


def random_case(draw: random.Random) -> tuple[Query, Vehicle]:
    """Two or three sensors, six to ten operators, two or three nodes on one or two buses. What some
    placement drawn at random can promise gives the deadlines."""
    vehicle = _vehicle(draw)
    sources = [
        Source(
            name=f"s{n}",
            schema=payload(draw.choice([8, 16, 40, 120])),
            rate=Rate(draw.choice([1, 1, 1, 2, 4]), draw.choice([10, 20, 40, 50]) * MILLISECOND),
            delay=draw.choice([0, 0, 1, 3]) * MILLISECOND,
        )
        for n in range(draw.randint(2, 3))
    ]
    streams = [source.name for source in sources]
    unread = list(streams)
    steps: list[Operator] = []
    schema_of = {source.name: source.schema for source in sources}
    for n in range(draw.randint(6, 10)):
        name = f"o{n}"
        cost = Cost(draw.choice([200, 500, 1_000, 2_000, 4_000, 6_000]) * MICROSECOND)
        first = unread[0] if unread and draw.random() < 0.7 else draw.choice(streams)
        same = [s for s in streams if s != first and schema_of[s] == schema_of[first]]
        step: Operator
        if same and draw.random() < 0.35:
            ports = (Input("in0", first), Input("in1", draw.choice(same)))
            step = Union(name=name, inputs=ports, cost=cost)
        elif draw.random() < 0.5:
            step = Filter(name=name, inputs=(Input("in", first),), cost=cost, where=Sql("v > 0"))
        else:
            step = Map(name=name, inputs=(Input("in", first),), cost=cost, columns=(), keep=True)
        for each in step.inputs:
            if each.stream in unread:
                unread.remove(each.stream)
        schema_of[name] = schema_of[first]
        streams.append(name)
        unread.append(name)
        steps.append(step)
    query = Query(name="case", sources=tuple(sources), steps=tuple(steps), outputs=())
    ends = [name for name in unread if name.startswith("o")]
    query = replace(query, sources=tuple(s for s in sources if s.name not in unread))
    outputs = tuple(
        Output(name=f"out{n}", stream=name, deadline=4 * _least(query, vehicle, name))
        for n, name in enumerate(ends)
    )
    known = {source.name for source in query.sources}
    vehicle = replace(vehicle, sensors=tuple(s for s in vehicle.sensors if s[0] in known))
    query = replace(query, outputs=outputs)
    bounds = _some_bounds(query, vehicle, draw)
    tight = [
        replace(output, deadline=int(bounds[output.name] * draw.uniform(1.0, 1.1)))
        if output.name in bounds
        else output
        for output in outputs
    ]
    return replace(query, outputs=tuple(tight)), vehicle


def _some_bounds(query: Query, vehicle: Vehicle, draw: random.Random) -> dict[str, int]:
    """What can be promised with a placement drawn at random."""
    compilation = by_default(query, vehicle)
    if compilation is None:
        return {}
    problem = problem_of(compilation)
    chosen = {p.name: draw.choice(p.nodes) for p in problem.processes.values()}
    trial = _judged(compilation, lay_out(problem, chosen))
    if trial is None or trial.verdict is None:
        return {}
    return {p.output: p.bound for p in trial.verdict.promises if p.bound is not None}


def _vehicle(draw: random.Random) -> Vehicle:
    count = draw.randint(2, 3)
    nodes = tuple(Node(name=f"n{n}", rate=draw.choice([1.0, 1.0, 2.0, 4.0])) for n in range(count))
    names = tuple(node.name for node in nodes)
    kind, rate = draw.choice([(BusKind.CAN, 500_000), (BusKind.CAN_FD, 500_000)])
    data = 2_000_000 if kind is BusKind.CAN_FD else None

    def bus(name: str, nodes: tuple[str, ...]) -> Bus:
        return Bus(name=name, kind=kind, bit_rate=rate, data_bit_rate=data, nodes=nodes)

    buses: tuple[Bus, ...] = (bus("bus0", names),)
    gateways: tuple[Gateway, ...] = ()
    if count == 3 and draw.random() < 0.4:
        buses = (bus("bus0", names[:2]), bus("bus1", names[2:]))
        gateways = (Gateway(name="gw", buses=("bus0", "bus1"), delay=100 * MICROSECOND),)
    sensors = tuple((f"s{n}", draw.choice(names)) for n in range(3))
    return Vehicle(name="car", nodes=nodes, buses=buses, gateways=gateways, sensors=sensors)


def _least(query: Query, vehicle: Vehicle, stream: str) -> int:
    fastest = max(node.speed for node in vehicle.nodes)
    times = {source.name: source.age for source in query.sources}
    for step in query.operators:
        assert step.cost is not None
        before = max(times[each.stream] for each in step.inputs)
        times[step.name] = before + step.cost.per_tuple(fastest)
    return times[stream]


def by_default(query: Query, vehicle: Vehicle) -> Compilation | None:
    """Compiled with the placement of least traffic; None where there is no placement."""
    compilation = Compilation(query=query, vehicle=vehicle, timed=True)
    try:
        for run_pass in PASSES:
            if run_pass.__name__ == "keep_promises":
                break
            compilation = run_pass(compilation)
    except PlacementError:
        return None
    return compilation


def _judged(
    compilation: Compilation, layout: Layout | None, limits: dict[str, int] | None = None
) -> Compilation | None:
    if layout is None:
        return None
    trial = replace(compilation, placement=layout.placement, routes=layout.routes, verdict=None)
    for run_pass in (split, trains, deadlines):
        trial = run_pass(trial)
    return judged_within(trial, limits or {})


def brute_force(compilation: Compilation) -> tuple[int, float | None]:
    """How many placements keep all promises, and the least network usage among them."""
    problem = problem_of(compilation)
    limits = {output.name: output.deadline or 0 for output in compilation.query.outputs}
    movable = [p for p in problem.processes.values() if len(p.nodes) > 1]
    count, least = 0, None
    for nodes in product(*(process.nodes for process in movable)):
        chosen = {process.name: node for process, node in zip(movable, nodes, strict=True)}
        layout = lay_out(problem, {**compilation.placement, **chosen})
        if layout is None:
            continue
        found = measure(problem, layout)
        if not respects_capacities(problem, found):
            continue
        trial = replace(compilation, placement=layout.placement, routes=layout.routes, verdict=None)
        for run_pass in (split, trains, deadlines):
            trial = run_pass(trial)
        judged = judged_within(trial, limits)
        if judged is not None and judged.verdict is not None and judged.verdict.safe:
            count += 1
            least = found.usage if least is None else min(least, found.usage)
    return count, least


def infeasible_by_default(seed: int) -> Iterator[tuple[int, Compilation]]:
    """Numbered compilations whose default placement breaks a promise, and could be another."""
    number = seed
    while True:
        query, vehicle = random_case(random.Random(number))
        compilation = by_default(query, vehicle)
        if (
            compilation is not None
            and compilation.verdict is not None
            and not compilation.verdict.safe
            and not problem_of(compilation).settled
        ):
            yield number, compilation
        number += 1
