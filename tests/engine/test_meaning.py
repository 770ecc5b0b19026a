"""The meaning of a query does not depend on the policy; costs only make it later."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.compiler.build import one_node, source
from tests.engine.random_runs import COLUMNS, Shape, random_arrivals, random_query, scaled
from tests.engine.reference import Reference
from tests.engine.support import compiled, run

from headway.compiler import compile_query
from headway.engine.jobs import Arrival
from headway.engine.results import RunResult
from headway.model.operators import Input, UserDefined
from headway.model.quantities import MILLISECOND, Cost
from headway.model.query import Output, Query
from headway.model.user_operator import Row
from headway.schedule.online import POLICIES

SIMPLE = Shape(kinds=("filter", "map", "union", "join", "twice"), shedders=False, most_operators=8)
MS = MILLISECOND


def rows_of(result: RunResult) -> dict[str, Counter[Row]]:
    return {name: Counter(record.rows) for name, record in result.outputs.items()}


def random_case(
    seed: int, shape: Shape, *, timeouts: bool = True
) -> tuple[Query, Sequence[Arrival]]:
    draw = random.Random(seed)
    query = random_query(draw, shape)
    if not timeouts:
        steps = tuple(replace(operator, timeout=None) for operator in query.operators)
        query = replace(query, steps=steps)
    return query, random_arrivals(draw, query, draw.choice(("aligned", "phases", "mixed")))


@pytest.mark.parametrize("seed", range(30))
def test_equals_the_reference(seed: int) -> None:
    """Stateless operators and inner joins, under every policy."""
    query, given = random_case(seed, SIMPLE, timeouts=False)
    plan = compile_query(query)
    expected = Reference(query).run(given).outputs
    for policy in POLICIES:
        assert rows_of(run(plan, given, policy, charged=False)) == expected


def test_the_reference_sees_something() -> None:
    sizes = []
    for seed in range(30):
        query, given = random_case(seed, SIMPLE, timeouts=False)
        outputs = Reference(query).run(given).outputs
        sizes.append(sum(count.total() for count in outputs.values()))
    assert sum(size > 50 for size in sizes) >= 15


@pytest.mark.parametrize("seed", range(100, 130))
def test_every_policy_means_the_same(seed: int) -> None:
    """Everything the generator knows, timeouts and windows too: the same tuples at the same
    times."""
    query, given = random_case(seed, Shape())
    plan = compile_query(query)
    first, *others = (run(plan, given, policy, charged=False) for policy in POLICIES)
    for other in others:
        assert {n: list(r) for n, r in other.outputs.items()} == {
            n: list(r) for n, r in first.outputs.items()
        }


@pytest.mark.parametrize("seed", range(200, 220))
def test_costs_only_make_it_later(seed: int) -> None:
    """Without timeouts or lateness a run with costs gives the same tuples, and none earlier."""
    query, given = random_case(seed, SIMPLE, timeouts=False)
    meaning = run(compile_query(query), given, charged=False)
    light = scaled(query, 0.01)
    charged_plan = compiled(light, one_node(light, decision_cost=1000))
    for policy in POLICIES:
        charged = run(charged_plan, given, policy)
        assert rows_of(charged) == rows_of(meaning)
        for name, record in charged.outputs.items():
            for row in set(record.rows):
                assert min(_times(record.rows, record.completed, row)) >= min(
                    _times(meaning.outputs[name].rows, meaning.outputs[name].completed, row)
                )


def _times(rows: list[Row], completed: list[int], row: Row) -> list[int]:
    return [time for one, time in zip(rows, completed, strict=True) if one == row]


def test_where_costs_make_a_timeout_fire_it_is_visible() -> None:
    """Both tuples come together; with costs one of them is too late for the other."""

    def user(
        name: str, cost: int, streams: Sequence[str], timeout: int | None = None
    ) -> UserDefined:
        return UserDefined(
            name=name,
            inputs=tuple(Input(f"in{i}", stream) for i, stream in enumerate(streams)),
            cost=Cost(cost),
            timeout=timeout,
            implementation="tests.engine.users:Merge",
            schema=COLUMNS,
        )

    query = Query(
        name="late",
        sources=tuple(source(name, columns=COLUMNS) for name in ("s0", "s1")),
        steps=(
            user("slow", 5 * MS, ["s0"]),
            user("quick", 2 * MS, ["s1"]),
            user("gather", 0, ["slow", "quick"], timeout=MS),
        ),
        outputs=(Output(name="out", stream="gather", deadline=50 * MS),),
    )
    plan = compile_query(query, one_node(query))
    given = [
        Arrival(10 * MS, name, (10_000, 1, value)) for name, value in (("s0", 1.0), ("s1", 2.0))
    ]
    meaning, charged = run(plan, given, charged=False), run(plan, given)
    assert rows_of(meaning) == {"out": Counter([(10_000, 1, 3.0)])}
    assert rows_of(charged) == {"out": Counter([(10_000, 1, 1.0), (10_000, 1, 2.0)])}
    assert (meaning.summary().timeouts, charged.summary().timeouts) == (0, 2)
    kinds = charged.trace.to_table().column("kind").to_pylist()
    assert kinds.count("timeout") == 2
