"""A bound is a promise: random plans are simulated with hostile inputs, and none is broken."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from tests.compiler.build import query_of
from tests.compiler.simulate import Simulation

from headway.compiler.passes import compile_query
from headway.errors import PlacementError
from headway.model.operators import Gather, UserDefined
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, Cost, Rate
from headway.model.query import Query
from headway.model.vehicle import Bus, BusKind, Gateway, Node, Vehicle

MS = MILLISECOND


def random_query(random: Random) -> Query:
    sources = [f"s{i}" for i in range(random.randint(1, 3))]
    streams: list[tuple[str, str]] = []
    made = list(sources)
    timeouts: dict[str, int] = {}
    for number in range(random.randint(2, 7)):
        name = f"o{number}"
        inputs = random.sample(made, min(len(made), random.choice([1, 1, 2])))
        streams += [(stream, name) for stream in inputs]
        if len(inputs) == 2 and random.random() < 0.5:
            timeouts[name] = random.choice([0, 2, 5, 20]) * MS
        made.append(name)
    read = {producer for producer, _ in streams}
    deadlines: dict[str, int] = {}
    for name in made:
        if name not in read:
            streams.append((name, f"out_{name}"))
            deadlines[f"out_{name}"] = random.randint(5, 200) * MS
    costs = {name: random.randint(1, 60) * 100 * MICROSECOND for name in made}
    rates = {
        name: Rate(
            random.choice([1, 1, 2, 4]),
            random.choice([20, 50, 100]) * MS,
            random.choice([0, 0, 15]) * MS,
        )
        for name in sources
    }
    query = query_of(streams, deadlines, costs=costs, timeouts=timeouts, rates=rates)
    steps = []
    for step in query.operators:
        if isinstance(step, UserDefined):
            cost = Cost(MS, per_item=300 * MICROSECOND, most_items=40, between_items=False)
            step = replace(step, cost=cost, gather=random.choice(list(Gather)))
        steps.append(step)
    delayed = tuple(replace(s, delay=random.choice([0, 3, 30]) * MS) for s in query.sources)
    return replace(query, steps=tuple(steps), sources=delayed)


def random_vehicle(query: Query, random: Random) -> Vehicle:
    names = [f"n{i}" for i in range(random.randint(1, 3))]
    costs = random.choice([0, 20 * MICROSECOND])
    nodes = tuple(
        Node(
            name=n, rate=random.choice([0.5, 1.0, 2.0]), decision_cost=costs, preemption_cost=costs
        )
        for n in names
    )
    rate = random.choice([125_000, 500_000])
    one = Bus(name="one", kind=BusKind.CAN, bit_rate=rate, nodes=tuple(names[:2]))
    two = Bus(name="two", kind=BusKind.CAN, bit_rate=rate * 2, nodes=tuple(names[2:]))
    joined = len(names) == 3
    return Vehicle(
        name="random",
        nodes=nodes,
        buses=(one, two) if joined else (one,),
        gateways=(Gateway(name="gw", buses=("one", "two"), delay=MS),) if joined else (),
        sensors=tuple((s.name, random.choice(names)) for s in query.sources),
        pins=tuple((o.name, random.choice(names)) for o in query.operators),
    )


def broken(plan: Plan, simulation: Simulation) -> list[str]:
    assert plan.verdict is not None
    return [
        f"{p.output}: {simulation.latencies[p.output]} ns seen, {p.bound} ns promised"
        for p in plan.verdict.promises
        if p.bound is not None and simulation.latencies.get(p.output, 0) > p.bound
    ]


def random_plan(random: Random) -> Plan:
    """A plan that has at least one bound."""
    while True:
        query = random_query(random)
        try:
            plan = compile_query(query, random_vehicle(query, random))
        except PlacementError:
            continue
        assert plan.verdict is not None
        if any(promise.bound is not None for promise in plan.verdict.promises):
            return plan


@pytest.mark.parametrize("block", range(4))
def test_no_run_breaks_a_promise(block: int) -> None:
    for case in range(50):
        random = Random(block * 1000 + case)
        plan = random_plan(random)
        for _ in range(4):
            simulation = Simulation(plan, random)
            simulation.run(until=600 * MS)
            assert simulation.latencies
            assert broken(plan, simulation) == [], f"seed {block * 1000 + case}"


def test_bounds_are_not_far_from_what_is_seen() -> None:
    """Not a promise, but a check that the simulation is hostile at all: some run comes close."""
    closest = 0.0
    for seed in range(40):
        random = Random(seed)
        plan = random_plan(random)
        simulation = Simulation(plan, random)
        simulation.run(until=600 * MS)
        assert plan.verdict is not None
        for promise in plan.verdict.promises:
            if promise.bound:
                seen = simulation.latencies.get(promise.output, 0)
                closest = max(closest, seen / promise.bound)
    assert closest > 0.9


def test_the_check_finds_a_promise_that_is_too_good() -> None:
    plan = random_plan(Random(1))
    simulation = Simulation(plan, Random(1))
    simulation.run(until=600 * MS)
    assert plan.verdict is not None
    short = replace(
        plan,
        verdict=replace(
            plan.verdict, promises=tuple(replace(p, bound=1) for p in plan.verdict.promises)
        ),
    )
    assert broken(short, simulation)
