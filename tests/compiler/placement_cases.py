"""Small placement cases: a builder for hand-written ones and a seeded generator."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from headway.compiler.compilation import Compilation
from headway.model.graph import graph_of
from headway.model.operators import Input, Operator, Union
from headway.model.quantities import Cost
from headway.model.query import Output, Query, Source
from headway.model.schema import DataType, Field, Schema
from headway.model.vehicle import Bus, BusKind, Gateway, Link, Node, Vehicle


def payload(size: int) -> Schema:
    """A schema of that many bytes, the timestamp's eight included."""
    return Schema((Field("payload", DataType.STRING, length=size - 8),))


def compilation(
    vehicle: Vehicle,
    sources: Mapping[str, tuple[float, int]],
    operators: Mapping[str, tuple[Sequence[str], int, float, int]],
) -> Compilation:
    """Sources as (rate, bytes), operators as (inputs, cost, selectivity, bytes)."""
    rates = {name: rate for name, (rate, _) in sources.items()}
    schemas = {name: payload(size) for name, (_, size) in sources.items()}
    steps: list[Operator] = []
    for name, (inputs, cost, selectivity, size) in operators.items():
        ports = tuple(Input(f"in{index}", stream) for index, stream in enumerate(inputs))
        steps.append(Union(name=name, inputs=ports, cost=Cost(cost), selectivity=selectivity))
        rates[name] = selectivity * sum(rates[stream] for stream in inputs)
        schemas[name] = payload(size)
    query = Query(
        name="case",
        sources=tuple(Source(name=name, schema=schemas[name]) for name in sources),
        steps=tuple(steps),
        outputs=(Output(name="out", stream=steps[-1].name, deadline=None),),
    )
    graph = graph_of(query)
    return Compilation(
        query=query, vehicle=vehicle, timed=True, graph=graph, schemas=schemas, rates=rates
    )


def bus(name: str, *nodes: str, capacity: float = 1.0, bit_rate: int = 500_000) -> Bus:
    return Bus(name=name, kind=BusKind.CAN, bit_rate=bit_rate, nodes=nodes, capacity=capacity)


def nodes(*rates: float, capacity: float = 1.0) -> tuple[Node, ...]:
    """n1, n2, ... with these execution rates."""
    return tuple(
        Node(name=f"n{index}", rate=rate, capacity=capacity)
        for index, rate in enumerate(rates, start=1)
    )


def random_vehicle(draw: random.Random) -> Vehicle:
    """Three nodes on one of seven architectures; buses and nodes are roomy or scarce."""

    def share() -> float:
        return draw.choice([1.0, 0.1, 0.03])

    def line(name: str, *ends: str) -> Bus:
        return bus(name, *ends, capacity=share(), bit_rate=draw.choice([250_000, 500_000]))

    buses: tuple[Bus, ...]
    gateways: tuple[Gateway, ...] = ()
    links: tuple[Link, ...] = ()
    shape = draw.choice([0, 1, 2, 3, 3, 4, 5, 5, 6])
    if shape == 0:
        buses = (line("b1", "n1", "n2", "n3"),)
    elif shape == 1:
        buses = (line("b1", "n1", "n2"), line("b2", "n3"))
        gateways = (Gateway(name="g1", buses=("b1", "b2")),)
    elif shape == 2:
        buses = (line("b1", "n1"), line("b2", "n2"), line("b3", "n3"))
        gateways = (
            Gateway(name="g1", buses=("b1", "b2")),
            Gateway(name="g2", buses=("b2", "b3")),
        )
    elif shape == 3:  # a ring: two routes between any two nodes
        buses = (line("b1", "n1"), line("b2", "n2"), line("b3", "n3"))
        gateways = (
            Gateway(name="g1", buses=("b1", "b2")),
            Gateway(name="g2", buses=("b2", "b3")),
            Gateway(name="g3", buses=("b3", "b1")),
        )
    elif shape == 4:  # n2 is on both buses and does not forward
        buses = (line("b1", "n1", "n2"), line("b2", "n2", "n3"))
        if draw.random() < 0.7:
            gateways = (Gateway(name="g1", buses=("b1", "b2")),)
    elif shape == 5:  # a link beside the bus
        buses = (line("b1", "n1", "n2", "n3"),)
        links = (Link(name="l1", ends=("n1", "n3"), speed=200_000, capacity=share()),)
    else:  # two islands, or joined by a link between gateways
        buses = (line("b1", "n1", "n2"), line("b2", "n3"))
        if draw.random() < 0.6:
            gateways = (Gateway(name="g1", buses=("b1",)), Gateway(name="g2", buses=("b2",)))
            links = (Link(name="l1", ends=("g1", "g2"), speed=300_000, capacity=share()),)
    return Vehicle(
        name="random",
        nodes=tuple(
            Node(
                name=f"n{index}",
                rate=draw.choice([0.5, 1.0, 2.0]),
                cores=draw.choice([1, 1, 2]),
                capacity=draw.choice([1.0, 0.7, 0.3]),
                decision_cost=draw.choice([0, 2_000]),
            )
            for index in (1, 2, 3)
        ),
        buses=buses,
        gateways=gateways,
        links=links,
    )


def random_case(seed: int, most: int = 7) -> Compilation:
    """A random query of up to ``most`` operators on a random vehicle of three nodes."""
    draw = random.Random(seed)
    vehicle = random_vehicle(draw)
    count = draw.randint(most - 3, most)
    sources = {
        f"s{index}": (draw.choice([10.0, 20.0, 50.0]), draw.choice([16, 24, 48]))
        for index in range(draw.randint(2, 3))
    }
    scale = draw.choice([3_000_000, 5_000_000])
    operators: dict[str, tuple[Sequence[str], int, float, int]] = {}
    for index in range(count):
        streams = [*sources, *operators] if index < 2 else [*operators][-4:]
        operators[f"o{index}"] = (
            draw.sample(streams, min(len(streams), 1 + (draw.random() < 0.6))),
            round(draw.uniform(0.3, 1.7) * scale),
            draw.choice([0.25, 0.5, 1.0]),
            draw.choice([16, 24, 48]),
        )
    homes = draw.sample(["n1", "n2", "n3", "n1"], 4)
    sensors = tuple(zip(sources, homes, strict=False))
    pinned = draw.sample(list(operators)[2:], draw.choice([0, 1, 1, 2]))
    pins = tuple((name, f"n{draw.randint(1, 3)}") for name in pinned)
    return compilation(replace(vehicle, sensors=sensors, pins=pins), sources, operators)
