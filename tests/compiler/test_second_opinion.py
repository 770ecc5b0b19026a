"""The compiler's bounds beside a second opinion and beside runs of a third program.

``HEADWAY_OPINIONS=20000`` looks at that many sets instead of some 120; ``-rP`` shows how they
compare.
"""

from __future__ import annotations

import os
from random import Random

import pytest
from tests.compiler.build import VALUE
from tests.compiler.second_opinion import (
    Chain,
    Processor,
    densest,
    opinion,
    random_set,
    simulated,
)
from tests.engine.support import compiled

from headway.errors import PlacementError
from headway.model.operators import Input, Map
from headway.model.quantities import Cost, Rate
from headway.model.query import Output, Query, Source
from headway.model.vehicle import Node, Vehicle

SETS = int(os.environ.get("HEADWAY_OPINIONS", "120"))


def bounds_of(chains: list[Chain], processor: Processor) -> list[int | None]:
    """What the compiler promises."""
    sources, steps, outputs = [], [], []
    for index, chain in enumerate(chains):
        rate = Rate(chain.count, chain.period, chain.jitter)
        sources.append(Source(name=f"s{index}", schema=VALUE, rate=rate, delay=chain.delay))
        before = f"s{index}"
        for place, cost in enumerate(chain.costs):
            name = f"o{index}_{place}"
            inputs = (Input("input", before),)
            steps.append(Map(name=name, inputs=inputs, cost=Cost(cost), columns=(), keep=True))
            before = name
        outputs.append(Output(name=f"out{index}", stream=before, deadline=chain.deadline))
    query = Query(name="q", sources=tuple(sources), steps=tuple(steps), outputs=tuple(outputs))
    node = Node(name="n", decision_cost=processor.decision, preemption_cost=processor.preemption)
    sensors = tuple((source.name, "n") for source in sources)
    try:
        plan = compiled(query, Vehicle(name="v", nodes=(node,), sensors=sensors))
    except PlacementError:  # more work than there is time
        return [None] * len(chains)
    assert plan.verdict is not None
    return [promise.bound for promise in plan.verdict.promises]


@pytest.mark.timeout(0)  # as long as so many sets take
def test_the_compiler_is_as_tight_and_neither_is_below_a_run() -> None:
    equal = tighter = 0
    nearest = 0.0
    for seed in range(SETS):
        random = Random(seed)
        chains, processor = random_set(random)
        other = opinion(chains, processor)
        bounds = bounds_of(chains, processor)
        if other is None:
            assert bounds == [None] * len(chains), f"seed {seed}"
            continue
        longest = max(chain.period for chain in chains)
        runs = [simulated(chains, processor, random, 8 * longest) for _ in range(2)]
        for index, (bound, looser) in enumerate(zip(bounds, other, strict=True)):
            assert bound is not None, f"seed {seed}"
            assert bound <= looser, f"seed {seed}, chain {index}"
            equal, tighter = equal + (bound == looser), tighter + (bound < looser)
            for run in runs:
                assert run[index] <= bound, f"seed {seed}, chain {index}"
                nearest = max(nearest, run[index] / bound)
    print(f"{SETS} sets: {equal} bounds equal, {tighter} tighter; nearest run {nearest:.3f}")  # noqa: T201
    assert equal > 0
    assert tighter > 0
    assert nearest > 0.95, "the runs are too tame to test anything"


def test_a_set_by_hand() -> None:
    """A section of 8 begun just before a job of 5 that is due in 15: done in 13, whoever asks."""
    chains = [Chain(1, 20, 0, 0, (5,), 15), Chain(1, 70, 0, 0, (8,), 60)]
    processor = Processor(0, 0)
    assert densest(chains[0], 40) == [0, 20, 40]
    assert opinion(chains, processor) == [13, 13]
    assert bounds_of(chains, processor) == [13, 13]


def test_too_much_work_has_no_bound() -> None:
    chains = [Chain(1, 10, 0, 0, (6,), 20), Chain(1, 10, 0, 0, (5,), 20)]
    assert opinion(chains, Processor(0, 0)) is None
    assert bounds_of(chains, Processor(0, 0)) == [None, None]
