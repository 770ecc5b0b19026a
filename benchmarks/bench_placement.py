"""Placement of 120 operators on 20 nodes and 6 buses: usage, proven bound, gap, time.

    python benchmarks/bench_placement.py [--seconds 55] [--ring] [--seeds 1 2 3]

Six buses (an Ethernet backbone, an Ethernet camera network, two CAN FD and two CAN buses) joined by
three gateways; 18 sensors; nodes as a whole a bit more than half full. ``--ring`` adds a gateway
that closes a cycle, so that routes are a choice.
"""

from __future__ import annotations

import argparse
import random
import time
from dataclasses import replace

from headway.compiler.compilation import Compilation
from headway.compiler.placement.placement_problem import problem_of
from headway.compiler.placement.placement_solver import PlacementOptions, solve_placement
from headway.model.expression import Sql
from headway.model.graph import graph_of
from headway.model.operators import Filter, Input, Map, Operator, Union
from headway.model.quantities import MILLISECOND, Cost
from headway.model.query import Output, Query, Source
from headway.model.schema import DataType, Field, Schema
from headway.model.vehicle import Bus, BusKind, Gateway, Node, Vehicle

ZONES = {"backbone": 5, "vision": 3, "chassis": 4, "radar": 3, "body": 3, "drive": 2}
SENSORS = {"vision": 4, "chassis": 4, "radar": 4, "body": 3, "drive": 2, "backbone": 1}
RAW = {"vision": (400, 30), "radar": (48, 50), "chassis": (16, 100), "body": (16, 50)}
OPERATORS = 120


def vehicle_of(ring: bool = False) -> Vehicle:
    """Twenty nodes, six buses, three or four gateways."""
    nodes = {
        zone: tuple(f"{zone}{index}" for index in range(1, count + 1))
        for zone, count in ZONES.items()
    }
    fast = {"backbone": 2.0, "vision": 1.5}
    rates = {"backbone1": 4.0, "backbone2": 4.0}

    def bus(zone: str, kind: BusKind, bit_rate: int, data: int | None, capacity: float) -> Bus:
        return Bus(
            name=f"{zone}_bus",
            kind=kind,
            bit_rate=bit_rate,
            nodes=nodes[zone],
            data_bit_rate=data,
            capacity=capacity,
        )

    gateways = [
        Gateway(name="front", buses=("backbone_bus", "chassis_bus", "radar_bus")),
        Gateway(name="rear", buses=("backbone_bus", "body_bus", "drive_bus")),
        Gateway(name="camera", buses=("backbone_bus", "vision_bus")),
    ]
    if ring:
        gateways.append(Gateway(name="spare", buses=("vision_bus", "radar_bus")))
    return Vehicle(
        name="bench",
        nodes=tuple(
            Node(name=name, rate=rates.get(name, fast.get(zone, 1.0)), capacity=0.7)
            for zone, names in nodes.items()
            for name in names
        ),
        buses=(
            bus("backbone", BusKind.ETHERNET, 100_000_000, None, 0.5),
            bus("vision", BusKind.ETHERNET, 100_000_000, None, 0.5),
            bus("chassis", BusKind.CAN_FD, 500_000, 2_000_000, 0.5),
            bus("radar", BusKind.CAN_FD, 500_000, 2_000_000, 0.5),
            bus("body", BusKind.CAN, 500_000, None, 0.4),
            bus("drive", BusKind.CAN, 500_000, None, 0.4),
        ),
        gateways=tuple(gateways),
    )


def instance(seed: int, ring: bool = False) -> Compilation:
    """A layered query: each sensor's stream is cleaned, fused with others, used by applications."""
    draw = random.Random(seed)
    vehicle = vehicle_of(ring)
    sources: list[Source] = []
    operators: list[Operator] = []
    sensors: list[tuple[str, str]] = []
    schemas: dict[str, Schema] = {}
    rates: dict[str, float] = {}

    def sized(size: int) -> Schema:
        return Schema((Field("payload", DataType.STRING, length=max(1, size)),))

    for zone, count in SENSORS.items():
        size, rate = RAW.get(zone, (16, 100))
        for index in range(1, count + 1):
            name = f"{zone}_sensor{index}"
            sources.append(Source(name=name, schema=sized(size)))
            sensors.append((name, f"{zone}{1 + (index - 1) % ZONES[zone]}"))
            schemas[name], rates[name] = sized(size), float(rate)

    def add(name: str, inputs: list[str], selectivity: float, size: int, load: float) -> None:
        total = sum(rates[stream] for stream in inputs)
        cost = Cost(max(1, round(load / total * 1e9)))
        ports = tuple(Input(f"in{index}", stream) for index, stream in enumerate(inputs))
        operator: Operator
        if len(inputs) > 1:
            operator = Union(name=name, inputs=ports, cost=cost, selectivity=selectivity)
        elif selectivity < 1:
            operator = Filter(
                name=name, inputs=ports, cost=cost, selectivity=selectivity, where=Sql("true")
            )
        else:
            operator = Map(name=name, inputs=ports, cost=cost, columns=())
        operators.append(operator)
        schemas[name], rates[name] = sized(size), total * selectivity

    def chain(start: str, name: str, steps: int, size: int, load: float) -> str:
        for index in range(steps):
            selectivity = draw.choice([0.5, 1.0, 1.0]) if rates[start] > 10 else 1.0
            add(f"{name}_{index}", [start], selectivity, size, draw.uniform(0.3, 1.7) * load)
            start = f"{name}_{index}"
        return start

    found: dict[str, list[str]] = {zone: [] for zone in SENSORS}
    for source, (_, home) in zip(sources, sensors, strict=True):
        size = (schemas[source.name].size_bytes - 8) // 2
        found[home.rstrip("0123456789")].append(
            chain(source.name, f"clean_{source.name}", 3, size, 0.08)
        )
    fused = []
    for zone, streams in found.items():
        add(f"fuse_{zone}", streams, draw.choice([0.25, 0.5]), 40, draw.uniform(0.1, 0.3))
        fused.append(chain(f"fuse_{zone}", f"track_{zone}", 2, 40, 0.15))
    heads: list[str] = []
    for application in range(6):
        name = f"app{application}"
        inputs = draw.sample(fused, 2) + draw.sample(heads, min(len(heads), draw.randint(0, 1)))
        add(f"{name}_in", inputs, 0.5, 48, draw.uniform(0.05, 0.2))
        left = chain(f"{name}_in", f"{name}_left", 2, 24, 0.1)
        right = chain(f"{name}_in", f"{name}_right", 2, 32, 0.1)
        add(f"{name}_join", [left, right], 0.5, 24, draw.uniform(0.05, 0.2))
        heads.append(chain(f"{name}_join", f"{name}_act", 2, 16, 0.05))
    assert len(operators) == OPERATORS
    actuators = draw.sample(heads, 4)
    homes = ["chassis1", "chassis3", "drive1", "body2"]
    query = Query(
        name=f"bench{seed}",
        sources=tuple(sources),
        steps=tuple(operators),
        outputs=tuple(
            Output(name=f"out_{head}", stream=head, deadline=100 * MILLISECOND) for head in heads
        ),
    )
    pinned = replace(
        vehicle, sensors=tuple(sensors), pins=tuple(zip(actuators, homes, strict=True))
    )
    return Compilation(
        query=query,
        vehicle=pinned,
        timed=True,
        graph=graph_of(query),
        schemas=schemas,
        rates=rates,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=55.0)
    parser.add_argument("--gap", type=float, default=0.0)
    parser.add_argument("--ring", action="store_true")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    chosen = parser.parse_args()
    for seed in chosen.seeds:
        compilation = instance(seed, chosen.ring)
        problem = problem_of(compilation)
        started = time.perf_counter()
        found = solve_placement(
            problem, PlacementOptions(seconds=chosen.seconds, relative_gap=chosen.gap)
        )
        took = time.perf_counter() - started
        print(
            f"seed {seed}: usage {found.usage:.0f} B/s, bound {found.bound:.0f} B/s, "
            f"gap {100 * found.gap:.2f} %, peak {found.peak:.3f} (bound {found.peak_bound:.3f}), "
            f"{took:.1f} s"
        )


if __name__ == "__main__":
    main()
