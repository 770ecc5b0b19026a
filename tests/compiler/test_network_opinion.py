"""The compiler's bounds of chains over several nodes and buses beside a second opinion, and both
beside runs of the adversary.

``HEADWAY_OPINIONS=5000`` looks at that many sets instead of some 150; ``-rP`` shows how they
compare.
"""

from __future__ import annotations

import os
from collections import Counter
from random import Random
from statistics import median

import pytest
from tests.compiler.build import VALUE
from tests.compiler.network_opinion import (
    Holding,
    Message,
    Stage,
    Train,
    Way,
    can_bits,
    can_frames,
    opinion,
)
from tests.engine.support import compiled

from headway.engine.adversary.search import attack
from headway.errors import PlacementError
from headway.model.expression import Sql
from headway.model.operators import Filter, Input, Map, Operator
from headway.model.plan import HopKind, Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, Cost, Rate
from headway.model.query import Output, Query, Source
from headway.model.schema import schema
from headway.model.vehicle import Bus, BusKind, Gateway, Node, Vehicle

SETS = int(os.environ.get("HEADWAY_OPINIONS", "150"))
TRIES = 6
"""runs of the adversary for each set"""
MS, US = MILLISECOND, MICROSECOND


def random_set(random: Random) -> tuple[Query, Vehicle]:
    """One to five chains over two to four nodes on one CAN bus, or on two with a gateway."""
    names = [f"n{i}" for i in range(random.randint(2, 4))]
    two = len(names) > 2 and random.random() < 0.5
    middle = random.randint(1, len(names) - 1)
    attached = [tuple(names[:middle]), tuple(names[middle:])] if two else [tuple(names)]
    buses = tuple(
        Bus(
            name=f"b{i}",
            kind=BusKind.CAN,
            bit_rate=random.choice((250_000, 500_000, 1_000_000)),
            nodes=nodes,
        )
        for i, nodes in enumerate(attached)
    )
    delay = random.choice((0, 100, 1_000)) * US
    gateways = (Gateway(name="g", buses=("b0", "b1"), delay=delay),) if two else ()
    chains = random.randint(1, 5)
    target = random.uniform(0.2, 0.8)
    sources: list[Source] = []
    steps: list[Operator] = []
    outputs, pins, sensors = [], [], []
    for chain in range(chains):
        period = random.choice((5, 10, 10, 20, 33, 40)) * MS
        count = random.choice((1, 1, 1, 2))
        rate = Rate(count, period, random.choice((0, 0, random.randint(0, period // US) * US)))
        before = f"s{chain}"
        columns = random.choice((VALUE, schema(v="double", w="double", x="double")))
        age = random.choice((0, 0, random.randint(0, period // US) * US))
        sources.append(Source(name=before, schema=columns, rate=rate, delay=age))
        sensors.append((before, random.choice(names)))
        parts = random.randint(1, 4)
        budget = target * len(names) / chains * period / count
        for place in range(parts):
            name = f"o{chain}_{place}"
            cost = Cost(max(1, int(budget / parts * random.uniform(0.3, 1.3) / US)) * US)
            only = (Input("input", before),)
            if random.random() < 0.3:
                steps.append(Filter(name=name, inputs=only, cost=cost, where=Sql("v >= 0.5")))
            else:
                steps.append(Map(name=name, inputs=only, cost=cost, columns=(), keep=True))
            pins.append((name, random.choice(names)))
            before = name
        deadline = random.randint(1, 6 * period // US) * US
        outputs.append(Output(name=f"out{chain}", stream=before, deadline=deadline))
    query = Query(name="q", sources=tuple(sources), steps=tuple(steps), outputs=tuple(outputs))
    vehicle = Vehicle(
        name="v",
        nodes=tuple(Node(name=name) for name in names),
        buses=buses,
        gateways=gateways,
        sensors=tuple(sensors),
        pins=tuple(pins),
    )
    return query, vehicle


def ways_of(plan: Plan) -> list[Way]:
    """The chains as the opinion knows them, from what the plan decided."""
    placement = dict(plan.placement)
    costs = {one.name: one.cost.base for one in plan.query.operators if one.cost is not None}
    by_entry = {(entry, task.node): task for task in plan.tasks for entry in task.entries}
    crossings = {crossing.stream: crossing for crossing in plan.crossings}
    rates = {bus.name: bus.bit_rate for bus in plan.vehicle.buses}
    ways = []
    for source, output in zip(plan.query.sources, plan.query.outputs, strict=True):
        assert source.rate is not None
        stages: list[Stage] = []
        stream, node = source.name, placement[source.name]
        while stream != output.stream:
            crossing = crossings.get(stream)
            if crossing is not None and crossing.sender == node:
                for hop in crossing.hops:
                    if hop.kind is HopKind.GATEWAY:
                        stages.append(Holding(hop.delay))
                    else:
                        frames = can_frames(crossing.size_bytes, rates[hop.name])
                        stages.append(Message(hop.name, crossing.priority, frames))
                node = crossing.receiver
            task = by_entry[stream, node]
            own = tuple(costs[name] for name in task.operators)
            stages.append(Train(node, own, task.relative_deadline))
            stream = task.operators[-1]
        rate = source.rate
        ways.append(Way(rate.count, rate.period, rate.jitter, source.delay, tuple(stages)))
    return ways


@pytest.mark.timeout(0)  # as long as so many sets take
def test_no_run_is_later_than_the_compiler_or_the_opinion() -> None:
    """The compiler lets a tuple pass a bus when the busy period ends, as the coarse opinion does:
    it is hardly ever looser than that. Beside the opinion that looks at instances it may be."""
    seen: Counter[str] = Counter()
    shares: list[float] = []
    nearest = 0.0
    for seed in range(SETS):
        query, vehicle = random_set(Random(seed))
        try:
            plan = compiled(query, vehicle)
        except PlacementError:  # more work than there is time
            continue
        assert plan.verdict is not None
        ways = ways_of(plan)
        runs = attack(plan, tries=TRIES, seed=seed)
        opinions = zip(opinion(ways), opinion(ways, coarse=True), strict=True)
        for promise, way, (fine, coarse) in zip(plan.verdict.promises, ways, opinions, strict=True):
            bound, where = promise.bound, f"seed {seed}, {promise.output}"
            latest = runs.found[promise.output].latency if promise.output in runs.found else 0
            assert latest <= least(bound, fine), where
            if coarse is not None:
                assert bound is not None, where
                assert fine is not None, where
                assert fine <= coarse, where
            seen["outputs"] += 1
            seen["over a bus"] += any(isinstance(stage, Message) for stage in way.stages)
            seen[f"coarse: {compared(bound, coarse)}"] += 1
            seen[f"by instances: {compared(bound, fine)}"] += 1
            if bound is not None and fine is not None and fine < bound:
                shares.append(fine / bound)
            if (lowest := least(bound, fine)) < NEVER:
                nearest = max(nearest, latest / lowest)
    print(f"{SETS} sets: {dict(sorted(seen.items()))}")  # noqa: T201
    print(f"opinion over a looser bound: median {median(shares):.3f}, least {min(shares):.3f}")  # noqa: T201
    print(f"nearest run {nearest:.3f} of the smaller")  # noqa: T201
    assert seen["coarse: equal"] > seen["coarse: tighter"] > 0
    assert 100 * seen["coarse: looser"] <= seen["outputs"]
    assert 2 * seen["over a bus"] > seen["outputs"]
    assert nearest > 0.95, "the runs are too tame to test anything"


NEVER = 10**18


def least(one: int | None, other: int | None) -> int:
    return min(NEVER if one is None else one, NEVER if other is None else other)


def compared(bound: int | None, other: int | None) -> str:
    """How the compiler's bound is beside another."""
    if bound is None or other is None:
        if bound is not None:
            return "only the compiler's"
        return "neither" if other is None else "only the opinion's"
    return "equal" if bound == other else "tighter" if bound < other else "looser"


def test_davis_and_others_by_hand() -> None:
    """Their example of 125 bits at 125 kbit/s: the second instance of C is the latest, after
    3.5 ms, where the first takes 3 ms and the earlier analysis saw no more."""
    assert can_bits(8) == 135
    assert can_frames(17, 500_000) == (270_000, 270_000, 130_000)
    periods = (2_500 * US, 3_500 * US, 3_500 * US)
    ways = [
        Way(1, period, 0, 0, (Message("bus", priority, (MS,)),))
        for priority, period in enumerate(periods)
    ]
    assert opinion(ways) == [2 * MS, 3 * MS, 3_500 * US]
    assert opinion(ways, coarse=True) == [2 * MS, 5 * MS, 7 * MS]


@pytest.mark.parametrize(("before", "done"), [(2, 7), (4, 10)])
def test_a_release_jitter_by_hand(before: int, done: int) -> None:
    """3 every 10 beside a job of 4: they are done in 7, unless a node and a frame before have kept
    one of the 3 so long that the next follows within these 7."""
    stages = (
        Train("n", (before * MS,), 5 * MS),
        Message("bus", 0, (270 * US,)),
        Train("m", (3 * MS,), 12 * MS),
    )
    ways = [Way(1, 10 * MS, 0, 0, stages), Way(1, 50 * MS, 0, 0, (Train("m", (4 * MS,), 30 * MS),))]
    assert opinion(ways)[1] == done * MS


def test_too_much_work_has_no_bound() -> None:
    too_much = Way(1, 10, 0, 0, (Train("n", (6,), 20),))
    assert opinion([too_much, too_much]) == [None, None]
    too_long = Way(1, 10, 0, 0, (Message("b", 0, (11,)),))
    assert opinion([too_long]) == [None]
