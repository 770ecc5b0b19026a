"""Sources with offsets: by hand, never looser than without, and held against attacks.

``HEADWAY_PHASES=300`` attacks that many queries instead of a few.
"""

from __future__ import annotations

import os
from dataclasses import replace
from random import Random

import pytest
from tests.compiler.build import query_of

from headway.compiler.latency.phases import Phase, worst_instants
from headway.compiler.passes import compile_query
from headway.engine.adversary.search import attack
from headway.errors import QueryError
from headway.model.codec import plan_from_json, plan_to_json
from headway.model.operators import Sample
from headway.model.plan import Plan
from headway.model.quantities import MILLISECOND, Rate
from headway.model.query import Query
from headway.model.vehicle import Node, Vehicle
from headway.report.plan.plan_tables import summary

MS = MILLISECOND
CASES = int(os.environ.get("HEADWAY_PHASES", "25"))
ONE_NODE = Vehicle(name="v", nodes=(Node(name="n"),))


def with_offsets(query: Query, offsets: dict[str, int]) -> Query:
    sources = tuple(replace(one, offset=offsets.get(one.name)) for one in query.sources)
    return replace(query, sources=sources)


def bounds(plan: Plan) -> dict[str, int | None]:
    assert plan.verdict is not None
    return {promise.output: promise.bound for promise in plan.verdict.promises}


def two_tasks(cost: int, deadline: int) -> Query:
    return query_of(
        [("a", "x"), ("x", "from_a"), ("b", "y"), ("y", "from_b")],
        {"from_a": deadline, "from_b": deadline},
        costs=cost,
        rates={"a": Rate(1, 20 * MS), "b": Rate(1, 20 * MS)},
    )


def test_what_comes_at_another_time_does_not_hold_up() -> None:
    """Two jobs of 4 ms: 8 ms where they may come together, 4 ms where one comes 10 ms after the
    other, and 6 ms where it comes 2 ms after: the first has 2 ms left to run. (That it is b which
    waits then is not asked: whatever is due there counts.)"""
    query = two_tasks(4 * MS, 30 * MS)
    assert bounds(compile_query(query, ONE_NODE)) == {"from_a": 8 * MS, "from_b": 8 * MS}
    apart = with_offsets(query, {"a": 0, "b": 10 * MS})
    assert bounds(compile_query(apart, ONE_NODE)) == {"from_a": 4 * MS, "from_b": 4 * MS}
    near = with_offsets(query, {"a": 5 * MS, "b": 7 * MS})
    assert bounds(compile_query(near, ONE_NODE)) == {"from_a": 6 * MS, "from_b": 6 * MS}


def test_the_verdict_names_offsets_and_files_keep_them() -> None:
    query = with_offsets(two_tasks(4 * MS, 30 * MS), {"a": 0, "b": 10 * MS})
    plan = compile_query(query, ONE_NODE)
    assert "within the declared rates, offsets and costs" in summary(plan)
    assert plan_from_json(plan_to_json(plan)) == plan


def test_a_source_without_an_offset_may_come_whenever_it_likes() -> None:
    query = with_offsets(two_tasks(4 * MS, 30 * MS), {"a": 0})
    assert bounds(compile_query(query, ONE_NODE)) == {"from_a": 8 * MS, "from_b": 8 * MS}


def test_instants_that_matter_by_hand() -> None:
    """Periods 10 and 20, offsets 0 and 4: from t0 = 0 the second comes 4 later (or 16 before), from
    t0 = 4 the first 6 later, and from t0 = 10 the second 14 later, which is no worse than 0."""
    phases = {"a": Phase(Rate(1, 10), 0), "b": Phase(Rate(1, 20), 4)}
    assert worst_instants(phases, [("a", 0), ("b", 0)]) == [
        {("a", 0): 0, ("b", 0): -4},
        {("a", 0): -6, ("b", 0): 0},
    ]


@pytest.mark.parametrize(
    ("rate", "offset", "at"),
    [(Rate(1, 20), 20, "offset"), (Rate(1, 20), -1, "offset"), (Rate(1, 20, 20), 5, "jitter")],
)
def test_offsets_that_cannot_be(rate: Rate, offset: int, at: str) -> None:
    query = query_of([("a", "x"), ("x", "out")], {"out": MS}, rates={"a": rate})
    with pytest.raises(QueryError, match="once in a period") as raised:
        compile_query(with_offsets(query, {"a": offset}), ONE_NODE)
    assert at in str(raised.value)


def random_case(random: Random) -> Query:
    names = [f"s{i}" for i in range(random.randint(2, 4))]
    steps, deadlines, timeouts = [], {}, {}
    for i, name in enumerate(names):
        steps += [(name, f"o{i}"), (f"o{i}", f"p{i}")]
        if random.random() < 0.3:
            steps.append((random.choice(names[:i] or names), f"p{i}"))
            if random.random() < 0.5:
                timeouts[f"p{i}"] = 3 * MS
        steps.append((f"p{i}", f"out{i}"))
        deadlines[f"out{i}"] = random.randint(5, 100) * MS
    steps = list(dict.fromkeys(steps))
    rates = {
        name: Rate(
            random.choice([1, 1, 2]),
            random.choice([10, 20, 40]) * MS,
            random.choice([0, 0, 0, 2]) * MS,
        )
        for name in names
    }
    costs = {step: random.randint(1, 8) * MS // 10 for _, step in steps}
    query = query_of(steps, deadlines, costs=costs, timeouts=timeouts, rates=rates)
    sources = tuple(replace(one, delay=random.choice([0, 0, 3]) * MS) for one in query.sources)
    periodic = {f"o{i}" for i in range(len(names)) if random.random() < 0.2}
    operators = tuple(
        Sample(
            name=one.name,
            inputs=one.inputs,
            cost=one.cost,
            every=20 * MS,
            offset=random.randint(0, 25) * MS,
            jitter=random.choice([0, 1]) * MS,
            hold=50 * MS,
        )
        if one.name in periodic
        else one
        for one in query.operators
    )
    return replace(query, sources=sources, steps=operators)


def test_offsets_make_no_bound_looser_and_no_run_is_beyond() -> None:
    random = Random(7)
    tighter = 0
    for number in range(CASES):
        query = random_case(random)
        offsets = {
            one.name: random.randrange(one.rate.period // MS) * MS
            for one in query.sources
            if one.rate is not None and random.random() < 0.85
        }
        plain = compile_query(query, ONE_NODE)
        plan = compile_query(with_offsets(query, offsets), ONE_NODE)
        known = bounds(plan)
        for output, bound in bounds(plain).items():
            found = known[output]
            assert found is not None
            assert bound is not None
            assert found <= bound
            tighter += found < bound
        result = attack(plan, tries=25, seed=number)
        assert result.exceeded == []
        assert result.discarded == 0
    assert tighter > 20
