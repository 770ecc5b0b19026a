"""Any DAG on any node, to find what a picture cannot draw."""

from __future__ import annotations

import random

from tests.report.build import KINDS, operator, plan_of, source

from headway.model.operators import Operator
from headway.model.plan import Plan
from headway.model.query import Output, Query
from headway.model.vehicle import Bus, BusKind, Gateway, Link, Node, Vehicle


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
