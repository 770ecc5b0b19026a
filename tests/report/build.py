"""Plans by hand, without the compiler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from headway.model.expression import Sql
from headway.model.graph import graph_of
from headway.model.operators import Filter, Input, Join, Map, Operator, Union, UserDefined
from headway.model.plan import (
    ONLY_NODE,
    Crossing,
    NodeQuery,
    Plan,
    Successor,
    Task,
    Verdict,
)
from headway.model.quantities import MICROSECOND, MILLISECOND, Cost, Rate
from headway.model.query import LoadShedder, Query, Source
from headway.model.routes import Architecture, architecture_of
from headway.model.schema import schema
from headway.model.vehicle import Node, Vehicle

VALUE = schema(v="double")
KINDS = ("filter", "map", "join", "union", "udo")


def operator(
    name: str,
    streams: Sequence[str],
    kind: str = "map",
    cost: int = 200 * MICROSECOND,
    timeout: int | None = None,
) -> Operator:
    inputs = tuple(Input(f"in{i}", stream) for i, stream in enumerate(streams))
    price = Cost(cost)
    if kind == "filter":
        return Filter(name=name, inputs=inputs, cost=price, where=Sql("v > 0"))
    if kind == "join":
        return Join(name=name, inputs=inputs, cost=price, within=0)
    if kind == "union":
        return Union(name=name, inputs=inputs, cost=price)
    if kind == "udo":
        return UserDefined(
            name=name,
            inputs=inputs,
            cost=price,
            timeout=timeout,
            implementation="m:C",
            schema=VALUE,
        )
    return Map(name=name, inputs=inputs, cost=price, columns=())


def source(name: str, shedder: LoadShedder | None = None) -> Source:
    return Source(name=name, schema=VALUE, rate=Rate(1, 100 * MILLISECOND), shedder=shedder)


def simple_routes(
    architecture: Architecture, start: str, end: str, most: int = 64
) -> Iterator[tuple[str, ...]]:
    """Routes from node to node without a repeated vertex, shortest first, at most ``most``."""
    found = 0
    paths: list[tuple[str, ...]] = [(start,)]
    while paths and found < most:
        longer: list[tuple[str, ...]] = []
        for path in paths:
            for vertex in architecture.neighbours[path[-1]]:
                if vertex == end:
                    yield path[1:]
                    found += 1
                    if found == most:
                        return
                elif vertex not in path and (
                    vertex in architecture.media or vertex in architecture.gateway_delay
                ):
                    longer.append((*path, vertex))
        paths = longer


def plan_of(
    query: Query,
    vehicle: Vehicle | None = None,
    placement: Mapping[str, str] | None = None,
    trains: Sequence[Sequence[str]] | None = None,
    verdict: Verdict | None = None,
) -> Plan:
    """A plan without a compiler: every crossing takes the fastest route."""
    vehicle = vehicle or Vehicle(name=ONLY_NODE, nodes=(Node(name=ONLY_NODE),))
    graph = graph_of(query)
    placed = dict(placement or dict.fromkeys((*graph.sources, *graph.operators), ONLY_NODE))
    architecture = architecture_of(vehicle)
    crossings = []
    for stream, consumers in graph.consumers.items():
        for node in dict.fromkeys(placed[consumer] for consumer in consumers):
            if node != placed[stream]:
                routes = simple_routes(architecture, placed[stream], node)
                hops = (architecture.hops(route, 24) for route in routes)
                crossings.append(
                    Crossing(
                        stream=stream,
                        sender=placed[stream],
                        receiver=node,
                        size_bytes=24,
                        hops=min(hops, key=lambda way: sum(hop.delay for hop in way), default=()),
                    )
                )
    tasks = [
        Task(
            name=f"T{number}",
            node=placed[train[0]],
            operators=tuple(train),
            entries=graph.operators[train[0]].streams,
            cost=len(train) * 200 * MICROSECOND,
            relative_deadline=28 * MILLISECOND,
            formula="min(d2 - c2, d3 - c3) - bus1",
            successors=(Successor(task="T2", delay=MILLISECOND, route=("bus1",)),),
            outputs=graph.outputs_of[train[-1]],
        )
        for number, train in enumerate(trains or [[name] for name in graph.order], start=1)
    ]
    return Plan(
        query=query,
        vehicle=vehicle,
        schemas=(),
        placement=tuple(placed.items()),
        node_queries=tuple(
            NodeQuery(
                node=node.name,
                sources=tuple(s for s in graph.sources if placed[s] == node.name),
                operators=tuple(o for o in graph.operators if placed[o] == node.name),
                sends=(),
                receives=(),
                outputs=(),
            )
            for node in vehicle.nodes
        ),
        crossings=tuple(crossings),
        tasks=tuple(tasks),
        operator_tasks=(),
        verdict=verdict,
    )
