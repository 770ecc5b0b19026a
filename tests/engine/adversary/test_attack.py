"""The adversary finds worst cases that are known, and bounds that are too good."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest
from tests.compiler.build import one_node
from tests.engine.bounds import random_plan
from tests.engine.random_runs import COLUMNS, Shape
from tests.engine.support import compiled

import headway as hw
from headway.compiler import compile_query
from headway.engine.adversary.search import attack
from headway.engine.adversary.stand_ins import stand_in_plan
from headway.errors import InputError
from headway.model.operators import Input, Map, Sample
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, Cost, Rate
from headway.model.query import Output, Query, Source
from headway.model.vehicle import Node, Vehicle

MS = MILLISECOND


def two_streams() -> Plan:
    """An urgent stream every 20 ms with 5 ms of work, a leisurely one with an operator of 8 ms."""
    steps = tuple(
        Map(name=f"o{name}", inputs=(Input("input", name),), cost=Cost(cost), columns=(), keep=True)
        for name, cost in (("quick", 5 * MS), ("slow", 8 * MS))
    )
    query = Query(
        name="two",
        sources=(
            Source(name="quick", schema=COLUMNS, rate=Rate(1, 20 * MS)),
            Source(name="slow", schema=COLUMNS, rate=Rate(1, 70 * MS)),
        ),
        steps=steps,
        outputs=(
            Output(name="urgent", stream="oquick", deadline=15 * MS),
            Output(name="leisurely", stream="oslow", deadline=60 * MS),
        ),
    )
    return compiled(query, one_node(query))


def with_bounds(plan: Plan, bound: int | None) -> Plan:
    assert plan.verdict is not None
    promises = tuple(replace(promise, bound=bound) for promise in plan.verdict.promises)
    return replace(plan, verdict=replace(plan.verdict, promises=promises))


def test_a_known_worst_case_is_found() -> None:
    """The leisurely operator begins just before the urgent tuple: 8 ms less 1 ns, and its own 5."""
    result = attack(two_streams(), tries=100, seed=1)
    assert result.found["urgent"].latency >= 13 * MS - 2 * MICROSECOND
    assert result.found["leisurely"].latency == 13 * MS
    assert result.exceeded == []
    trace = result.replay("urgent").trace.events
    assert any(end == result.found["urgent"].completed for _, _, end, *_ in trace)


def test_it_finds_a_bound_that_is_too_good() -> None:
    result = attack(with_bounds(two_streams(), 12 * MS), tries=60)
    assert result.exceeded == ["urgent", "leisurely"]


def test_the_same_seed_gives_the_same_search() -> None:
    plan = two_streams()
    one, again, other = (attack(plan, tries=20, seed=seed) for seed in (3, 3, 4))
    assert one.found == again.found
    assert one.found != other.found


def test_it_ends_when_told() -> None:
    numbers = count()
    result = attack(two_streams(), tries=50, going_on=lambda: next(numbers) < 7)
    assert result.tries == 7


def test_no_bound_of_random_plans_is_exceeded() -> None:
    attacked = 0
    for seed in range(8):
        made = random_plan(900_000 + seed, Shape(most_operators=6), patterns=("aligned",))
        if made is None:
            continue
        result = attack(made[0], tries=20, seed=seed)
        assert result.exceeded == [], f"seed {900_000 + seed}"
        attacked += len(result.found)
    assert attacked > 8


def test_stand_ins_keep_all_that_decides_when_something_happens() -> None:
    for seed in range(10):
        made = random_plan(seed, Shape(), patterns=("aligned",))
        if made is None:
            continue
        plan = made[0]
        stand_in = stand_in_plan(plan)
        assert stand_in.tasks == plan.tasks
        assert stand_in.crossings == plan.crossings
        assert stand_in.placement == plan.placement
        assert stand_in.verdict == plan.verdict


def test_what_reads_by_a_clock_is_attacked_as_such() -> None:
    """'slow' reads at 0, 50, … what comes every 30 ms: a value that has just missed an instant
    waits for 50 ms, and is held for as long as it may be."""
    plan = compile_query(
        Query(
            name="clocked",
            sources=(
                Source(name="s", schema=COLUMNS, rate=Rate(1, 30 * MS), gap=30 * MS),
                Source(name="t", schema=COLUMNS, rate=Rate(1, 30 * MS), gap=30 * MS),
            ),
            steps=(
                Sample(
                    name="slow",
                    inputs=(Input("s", "s"), Input("t", "t")),
                    cost=Cost(MS),
                    every=50 * MS,
                    hold=60 * MS,
                ),
                Map(
                    name="after",
                    inputs=(Input("input", "slow"),),
                    cost=Cost(2 * MS),
                    columns=(),
                    keep=True,
                ),
            ),
            outputs=(Output(name="o", stream="after", deadline=100 * MS),),
        ),
        Vehicle(name="v", nodes=(Node(name="n"),), sensors=(("s", "n"), ("t", "n"))),
    )
    result = attack(plan, tries=60)
    assert result.exceeded == []
    assert result.promises["o"].bound == 63 * MS
    assert result.found["o"].latency > 50 * MS
    assert result.found["o"].completed % (50 * MS) == 3 * MS


def test_what_cannot_be_attacked() -> None:
    plan = two_streams()
    with pytest.raises(InputError, match="promises nothing"):
        attack(compile_query(plan.query))
    with pytest.raises(InputError, match="there is no output 'urgnt'"):
        attack(plan, outputs=["urgnt"])


def test_classes_of_the_user_are_stood_in_for() -> None:
    """Whatever their data: the fusion of the study gives as many results as it declares."""
    folder = "examples/collision_warning"
    plan = hw.compile(f"{folder}/query.yaml", f"{folder}/vehicle_modern.yaml").plan
    result = attack(plan, tries=3)
    assert set(result.found) == {"output1", "output2", "output3"}
    assert result.discarded == 0
    assert result.exceeded == []
