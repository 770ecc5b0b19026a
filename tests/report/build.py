"""Plans by hand: the collision-warning study of the AEDSMS paper, and random ones."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from headway.model.arrival import Rate
from headway.model.cost import Cost
from headway.model.graph import graph_of
from headway.model.operators import Filter, Input, Join, Map, Operator, Union, UserDefined
from headway.model.expression import Sql
from headway.model.plan import (
    ONLY_NODE,
    Crossing,
    LatencyStep,
    Load,
    NodeQuery,
    Plan,
    Promise,
    Successor,
    Task,
    Verdict,
)
from headway.model.query import LoadShedder, Output, Query, Source
from headway.model.routes import architecture_of
from headway.model.schema import schema
from headway.model.time import MICROSECOND, MILLISECOND, SECOND
from headway.model.vehicle import Bus, BusKind, Gateway, Link, Node, Vehicle

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
                route = architecture.fastest_route(placed[stream], node, 24) or ()
                crossings.append(
                    Crossing(
                        stream=stream,
                        sender=placed[stream],
                        receiver=node,
                        size_bytes=24,
                        hops=architecture.hops(route, 24),
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
        verdict=verdict,
    )


def collision_warning() -> Plan:
    """Three nodes, two buses and a gateway; output3 is given a bound that is too long."""
    shedder = LoadShedder(at_most=20, per=100 * MILLISECOND, value=Sql("-v"))
    query = Query(
        name="collision_warning",
        sources=(source("gps"), source("speed"), source("radar"), source("v2v", shedder)),
        steps=(
            operator("spc_a.sdfo1", ["gps", "speed"], "udo", 1_840_000, 10 * MILLISECOND),
            operator("spc_a.map1", ["spc_a.sdfo1"]),
            operator("spc_b.join1", ["radar", "spc_a.map1"], "join"),
            operator("spc_b.map2", ["spc_b.join1"]),
            operator("union1", ["spc_a.map1", "spc_b.map2"], "union"),
            operator("map3", ["union1"]),
            operator("sdfo2", ["union1", "v2v"], "udo", 11 * MILLISECOND, 100 * MILLISECOND),
            operator("filter1", ["sdfo2"], "filter"),
            operator("filter2", ["sdfo2"], "filter"),
            operator("spc_c.join2", ["filter1", "filter2"], "join"),
            operator("spc_c.map4", ["spc_c.join2"]),
            operator("map5", ["sdfo2"]),
        ),
        outputs=(
            Output(name="output1", stream="map3", deadline=30 * MILLISECOND),
            Output(name="output2", stream="spc_c.map4", deadline=300 * MILLISECOND),
            Output(name="output3", stream="map5", deadline=3 * SECOND),
        ),
    )
    nodes = {
        "node1": ("gps", "speed", "spc_a.sdfo1", "spc_a.map1"),
        "node2": ("radar", "spc_b.join1", "spc_b.map2", "union1"),
        "node3": ("v2v", "map3", "sdfo2", "filter1", "filter2", "spc_c.join2", "spc_c.map4", "map5"),
    }
    vehicle = Vehicle(
        name="test_car",
        nodes=(Node(name="node1", rate=0.5), Node(name="node2"), Node(name="node3", capacity=0.8)),
        buses=(
            Bus(name="bus1", kind=BusKind.CAN, bit_rate=500_000, nodes=("node1", "node2")),
            Bus(name="bus2", kind=BusKind.CAN_FD, bit_rate=500_000, nodes=("node3",)),
        ),
        gateways=(Gateway(name="gateway", buses=("bus1", "bus2"), delay=500 * MICROSECOND),),
    )
    return plan_of(
        query,
        vehicle,
        {name: node for node, names in nodes.items() for name in names},
        [
            ["spc_a.sdfo1", "spc_a.map1"],
            ["union1"],
            ["spc_b.join1", "spc_b.map2", "union1"],
            ["sdfo2"],
            ["map3"],
            ["filter1", "spc_c.join2", "spc_c.map4"],
            ["filter2", "spc_c.join2", "spc_c.map4"],
            ["map5"],
        ],
        Verdict(loads=_loads(), promises=_promises()),
    )


def _loads() -> tuple[Load, ...]:
    return (
        Load(name="node1", kind="node", utilisation=0.0478, capacity=1.0),
        Load(name="node2", kind="node", utilisation=0.31, capacity=1.0),
        Load(name="node3", kind="node", utilisation=0.93, capacity=0.8),
        Load(name="bus1", kind="bus", utilisation=0.22, capacity=1.0),
        Load(name="bus2", kind="bus", utilisation=0.09, capacity=1.0),
    )


def _promises() -> tuple[Promise, ...]:
    steps = (
        LatencyStep(place="gps", what="gps arrives after sensing", time=2 * MILLISECOND),
        LatencyStep(place="spc_a.sdfo1", what="waits for its other inputs", time=10 * MILLISECOND),
        LatencyStep(place="node1", what="T1 waits for the processor and runs", time=4_100_000),
        LatencyStep(place="bus1", what="spc_a.map1 passes bus1", time=1_326_000),
        LatencyStep(place="node2", what="T2 waits for the processor and runs", time=2_300_000),
        LatencyStep(place="bus1", what="union1 passes bus1", time=1_326_000),
        LatencyStep(place="gateway", what="union1 passes gateway", time=500_000),
        LatencyStep(place="bus2", what="union1 passes bus2", time=400_000),
        LatencyStep(place="node3", what="T5 waits for the processor and runs", time=1_200_000),
    )
    bound = sum(step.time for step in steps)
    deadline = 30 * MILLISECOND
    return (
        Promise(output="output1", deadline=deadline, hard=True, bound=bound, steps=steps),
        Promise(
            output="output2",
            deadline=300 * MILLISECOND,
            hard=True,
            bound=300 * MILLISECOND + 1,
            steps=(LatencyStep(place="node3", what="T4 runs", time=300 * MILLISECOND + 1),),
            blame="node3",
            advice="node3 1.25 times as fast; or a deadline of 301 ms",
        ),
        Promise(
            output="output3",
            deadline=3 * SECOND,
            hard=False,
            bound=None,
            reason="node3 can be asked for more than it can do",
            blame="node3",
            advice="lower rates or costs, or spread the operators",
        ),
    )


def random_plan(seed: int, operators: int, nodes: int) -> Plan:
    """Any DAG on a vehicle of two buses, a link and two gateways."""
    draw = random.Random(seed)
    sources = [f"source{i}" for i in range(draw.randint(1, 4))]
    streams = list(sources)
    steps: list[Operator] = []
    for index in range(operators):
        inputs = draw.sample(streams[-8:], min(len(streams), draw.choice((1, 1, 1, 2, 3))))
        name = f"op{index}" + "_with_a_long_name" * draw.randint(0, 3)
        steps.append(operator(name, inputs, draw.choice(KINDS)))
        streams.append(name)
    names = [f"ecu{i}" for i in range(nodes)]
    vehicle = Vehicle(
        name="any",
        nodes=tuple(Node(name=name) for name in names),
        buses=tuple(
            Bus(name=f"bus{i}", kind=BusKind.CAN, bit_rate=500_000, nodes=tuple(names[i::2]))
            for i in range(2)
        ),
        gateways=(
            Gateway(name="gw1", buses=("bus0", "bus1"), delay=1000),
            Gateway(name="gw2", buses=("bus1",), delay=1000),
        ),
        links=(Link(name="link", ends=(names[0], "gw2"), speed=10**8),),
    )
    outputs = [Output(name=f"out{i}", stream=s, deadline=10**8) for i, s in enumerate(streams[-3:])]
    query = Query(
        name="any", sources=tuple(map(source, sources)), steps=tuple(steps), outputs=tuple(outputs)
    )
    return plan_of(query, vehicle, {stream: draw.choice(names) for stream in streams})
