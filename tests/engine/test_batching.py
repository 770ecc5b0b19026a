"""Automatic batches: fewer decisions, and every promise still kept."""

from __future__ import annotations

import random
from dataclasses import replace
from unittest.mock import patch

import pytest
from tests.compiler.build import one_node
from tests.engine.batching import (
    MS,
    US,
    arrivals_of,
    batches_in,
    burst,
    chains,
    dropped,
    misses,
    ran,
    run,
    safe_plan,
    sensor,
    tuples,
)
from tests.engine.support import compiled, in_order

from headway.compiler.compilation import Compilation
from headway.compiler.latency import verdict
from headway.compiler.latency.verdict import batch_budget
from headway.engine import engine
from headway.engine.engine import Engine
from headway.engine.fast_path import Backlog
from headway.engine.jobs import Arrival
from headway.errors import InputError
from headway.model.plan import Plan

# -------------------------------------------------------------------- properties


@pytest.mark.parametrize("seed", range(6))
def test_random_plans_keep_their_promises_and_their_tuples(seed: int) -> None:
    draw = random.Random(seed)
    fewer = plans = 0
    while plans < 25:
        plan = safe_plan(draw)
        if plan is None:
            continue
        plans += 1
        arrivals = arrivals_of(draw, plan.query)
        single, batched = run(plan, arrivals), run(plan, arrivals, batching=True)
        assert misses(single) == {}
        assert misses(batched) == {}
        assert tuples(batched) == tuples(single)
        assert dropped(batched) == dropped(single)
        assert ran(batched) == ran(single)
        assert batched.kernel.arrived == single.kernel.arrived
        assert batched.kernel.decisions <= single.kernel.decisions
        fewer += batched.kernel.decisions < single.kernel.decisions
    assert fewer > 5


def test_decisions_fall_under_load() -> None:
    plan = chains((sensor("s", 1000, 6 * MS), 5, US, 20 * MS))
    arrivals = [one for number in range(5) for one in burst("s", number * 6 * MS, 1000)]
    single, batched = run(plan, arrivals), run(plan, arrivals, batching=True)
    assert single.kernel.decisions == 5000
    assert batched.kernel.decisions == 5
    assert batches_in(batched) == [1000] * 5
    assert misses(batched) == {}
    assert tuples(batched) == tuples(single)


def test_a_batch_never_goes_beyond_its_budget() -> None:
    plan = chains((sensor("s", 100, 20 * MS), 2, 50 * US, 12 * MS))
    budget = batch_budget(plan)
    result = run(plan, burst("s", 0, 100), batching=True)
    assert 0 < budget < 100 * 100 * US
    assert max(batches_in(result)) == budget // (100 * US)
    assert sum(batches_in(result)) == 100
    assert misses(result) == {}


def test_scheduling_cost_falls_too() -> None:
    query = chains((sensor("s", 100, 20 * MS), 1, 50 * US, 18 * MS)).query
    plan = compiled(query, one_node(query, decision_cost=20 * US))
    single = run(plan, burst("s", 0, 100))
    batched = run(plan, burst("s", 0, 100), batching=True)
    assert single.kernel.now == 100 * 70 * US
    assert batched.kernel.now == 100 * 50 * US + batched.kernel.decisions * 20 * US


# -------------------------------------------------------------------- the budget


def test_plans_without_promises_have_no_batches() -> None:
    plan = chains((sensor("s", 40, 5 * MS), 1, 100 * US, 3 * MS))
    assert plan.verdict is not None
    assert not plan.verdict.safe
    assert batch_budget(plan) == 0
    arrivals = [*burst("s", 0, 40), *burst("s", 5 * MS, 40)]
    single, batched = run(plan, arrivals), run(plan, arrivals, batching=True)
    assert batched.trace.events == single.trace.events
    assert batch_budget(replace(plan, verdict=None)) == 0


def test_only_s_edf_has_batches() -> None:
    plan = chains((sensor("s", 10, 5 * MS), 1, 10 * US, 3 * MS))
    with pytest.raises(InputError, match="batches need the policy s-edf"):
        Engine(plan=plan, policy="fifo+", batching=True).run([])


@pytest.mark.parametrize("seed", range(20))
def test_the_budget_is_the_largest_up_to_a_factor_of_two(seed: int) -> None:
    plan = safe_plan(random.Random(1000 + seed))
    if plan is None:
        return
    tried: list[int] = []
    kept = verdict._kept

    def watched(compilation: Compilation, budget: int) -> bool:
        tried.append(budget)
        return kept(compilation, budget)

    with patch.object(verdict, "_kept", watched):
        budget = batch_budget(plan)
    assert plan.verdict is not None
    slack = min(promise.slack or 0 for promise in plan.verdict.promises)
    if budget:
        assert tried[-1] == budget
        assert budget == slack or tried[-2] in (2 * budget, 2 * budget + 1)
    else:
        assert slack < 2 * verdict.FINEST or tried[-1] < 2 * verdict.FINEST


# -------------------------------------------------------------------- what a batch must not do


def longer_than_the_budget() -> tuple[Plan, list[Arrival]]:
    """A train of 1 ms beside a deadline of 0.3 ms: it must stay preemptible between operators."""
    urgent = (sensor("b", 1, 5 * MS), 1, 10 * US, 300 * US)
    plan = chains((sensor("a", 10, 20 * MS), 10, 100 * US, 50 * MS), urgent)
    return plan, [*burst("a", 0, 10), *burst("b", 450 * US, 1), *burst("b", 6450 * US, 1)]


def held_up_by_a_burst() -> tuple[Plan, list[Arrival]]:
    """An urgent tuple arrives when a long batch could just have begun."""
    urgent = (sensor("b", 1, 5 * MS), 1, 10 * US, 900 * US)
    plan = chains((sensor("a", 50, 20 * MS), 1, 100 * US, 50 * MS), urgent)
    return plan, [*burst("a", 0, 50), *burst("b", 150 * US, 1)]


def dragged_along() -> tuple[Plan, list[Arrival]]:
    """90 trains with an urgent and a later tuple each, all waiting: the later ones must not be
    dragged along before another train's urgent ones."""
    heavy = (sensor("h", 205, 200 * MS), 1, 200 * US, 50 * MS)
    victim = (sensor("v", 1, 50 * MS), 1, 200 * US, 20 * MS + 500 * US)
    others = [(sensor(f"a{i}", 1, 40 * MS), 1, 200 * US, 60 * MS) for i in range(90)]
    arrivals = burst("h", 0, 205)
    for time in (0, 40 * MS):
        arrivals += [one for i in range(90) for one in burst(f"a{i}", time, 1)]
    arrivals += burst("v", 40 * MS + 500 * US, 1)
    return chains(heavy, victim, *others), arrivals


CRAFTED = (longer_than_the_budget, held_up_by_a_burst, dragged_along)


@pytest.mark.parametrize("crafted", CRAFTED, ids=lambda case: case.__name__)
def test_crafted_cases_miss_nothing(crafted: object) -> None:
    assert callable(crafted)
    plan, arrivals = crafted()
    assert plan.verdict.safe
    assert batch_budget(plan) > 0
    assert misses(run(plan, in_order(arrivals))) == {}
    assert misses(run(plan, in_order(arrivals), batching=True)) == {}


def test_the_test_notices_an_unbounded_budget() -> None:
    plan, arrivals = held_up_by_a_burst()
    with patch.object(engine, "batch_budget", lambda _: 1 << 60):
        assert misses(run(plan, in_order(arrivals), batching=True)) == {"out_b": 1}


def test_the_test_notices_batches_that_ignore_who_else_waits() -> None:
    plan, arrivals = dragged_along()
    take = Backlog.take
    with patch.object(Backlog, "take", lambda self, most, key, limit: take(self, most, key, None)):
        assert "out_v" in misses(run(plan, in_order(arrivals), batching=True))
