"""Execution times between best and worst: drawn from a seed, never beyond what is declared."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from tests.compiler.build import one_node
from tests.engine.bounds import random_plan
from tests.engine.random_runs import COLUMNS, Shape
from tests.engine.support import compiled, slots_of

from headway.engine.engine import Engine
from headway.engine.execution_times import DrawnTimes
from headway.engine.jobs import Arrival
from headway.engine.results import RunResult
from headway.errors import FileError, InputError
from headway.files import parse_query
from headway.files.forms import cost_plain
from headway.front_door.vehicle_options import VehicleOptions
from headway.model.operators import Gather, Input, Map, UserDefined
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, Cost, Rate
from headway.model.query import Output, Query, Source

MS = MILLISECOND
VARYING = Cost(4 * MS, best=MS)


def chain(cost: Cost, second: Cost) -> Plan:
    steps = tuple(
        Map(name=name, inputs=(Input("input", before),), cost=one, columns=(), keep=True)
        for name, before, one in (("first", "s", cost), ("second", "first", second))
    )
    query = Query(
        name="chain",
        sources=(Source(name="s", schema=COLUMNS, rate=Rate(1, 10 * MS)),),
        steps=steps,
        outputs=(Output(name="out", stream="second", deadline=100 * MS),),
    )
    return compiled(query, one_node(query))


def given(count: int) -> list[Arrival]:
    return [Arrival(t * 10 * MS, "s", (t * 10_000, 1, 1.0)) for t in range(count)]


def lengths(result: RunResult, operator: str) -> list[int]:
    return [slot.end - slot.start for slot in slots_of(result) if slot.operator == operator]


def drawn(plan: Plan, seed: int, count: int = 200) -> RunResult:
    return Engine(plan=plan, times=DrawnTimes(seed)).run(given(count))


def test_times_lie_between_best_and_worst_and_follow_the_seed() -> None:
    plan = chain(VARYING, Cost(MS))
    one, again, other = drawn(plan, 1), drawn(plan, 1), drawn(plan, 2)
    first = lengths(one, "first")
    assert len(first) == 200
    assert all(MS <= time <= 4 * MS for time in first)
    assert max(first) > 3.9 * MS
    assert min(first) < 1.1 * MS
    assert first == lengths(again, "first")
    assert first != lengths(other, "first")
    assert set(lengths(one, "second")) == {MS}


def test_without_a_seed_every_execution_is_the_worst() -> None:
    result = Engine(plan=chain(VARYING, Cost(MS))).run(given(20))
    assert set(lengths(result, "first")) == {4 * MS}


def test_an_operators_times_do_not_depend_on_its_neighbours() -> None:
    alone = drawn(chain(VARYING, Cost(MS)), 5)
    beside = drawn(chain(VARYING, VARYING), 5)
    assert lengths(alone, "first") == lengths(beside, "first")
    assert lengths(beside, "first") != lengths(beside, "second")


@pytest.mark.parametrize("mean", [1_200_000, 2 * MS, 3_700_000])
def test_the_mean_is_the_declared_one(mean: int) -> None:
    random = Random(3)
    cost = Cost(4 * MS, best=MS, mean=mean)
    times = [cost.drawn(random).base for _ in range(20_000)]
    assert all(MS <= time <= 4 * MS for time in times)
    assert abs(sum(times) / len(times) - mean) < 0.02 * MS


def test_items_take_their_time_and_the_base_part_varies() -> None:
    gather = UserDefined(
        name="gather",
        inputs=(Input("a", "left"), Input("b", "right")),
        cost=Cost(2 * MS, per_item=100 * MICROSECOND, best=MS),
        timeout=5 * MS,
        implementation="tests.engine.users:Merge",
        schema=COLUMNS,
        gather=Gather.ALL,
    )
    sources = tuple(
        Source(name=name, schema=COLUMNS, rate=Rate(1, 10 * MS)) for name in ("left", "right")
    )
    outputs = (Output(name="out", stream="gather", deadline=50 * MS),)
    query = Query(name="g", sources=sources, steps=(gather,), outputs=outputs)
    plan = compiled(query, one_node(query))
    arrivals = [
        Arrival(t * 10 * MS, name, (t * 10_000, 1, 1.0))
        for t in range(50)
        for name in ("left", "right")
    ]
    result = Engine(plan=plan, times=DrawnTimes(0)).run(arrivals)
    found = lengths(result, "gather")
    assert len(set(found)) > 10
    assert all(1.2 * MS <= time <= 2.2 * MS for time in found)


def test_with_best_as_worst_the_run_is_that_of_declared_costs() -> None:
    """However it is run: whole trains, batches and operators one by one agree."""
    for seed in range(8):
        made = random_plan(seed, Shape())
        if made is None:
            continue
        plan, patterns = made
        steps = tuple(
            replace(one, cost=replace(one.cost or Cost(0), best=(one.cost or Cost(0)).base))
            for one in plan.query.operators
        )
        same = replace(plan, query=replace(plan.query, steps=steps))
        for _, arrivals in patterns:
            one = Engine(plan=plan).run(arrivals)
            two = Engine(plan=same, times=DrawnTimes(1)).run(arrivals)
            assert {n: list(o) for n, o in one.outputs.items()} == {
                n: list(o) for n, o in two.outputs.items()
            }


# ------------------------------------------------------------ how it is written

QUERY = """
query: q
sources:
  s: {{schema: {{v: double}}, rate: 1 per 100 ms}}
operators:
  o: {{filter: v > 0, from: s, cost: {cost}}}
outputs:
  out: {{from: o, deadline: 1 s}}
"""


@pytest.mark.parametrize(
    ("written", "cost"),
    [
        ("{best: 1 ms, worst: 3 ms}", Cost(3 * MS, best=MS)),
        ("{best: 1 ms, worst: 3 ms, mean: 2 ms}", Cost(3 * MS, best=MS, mean=2 * MS)),
        ("{worst: 3 ms}", Cost(3 * MS)),
        ("{base: 3 ms, best: 1 ms, per_item: 1 us}", Cost(3 * MS, per_item=1000, best=MS)),
    ],
)
def test_a_cost_with_best_and_worst(written: str, cost: Cost) -> None:
    (operator,) = parse_query(QUERY.format(cost=written)).query.operators
    assert operator.cost == cost
    again = QUERY.format(cost=str(cost_plain(cost)).replace("'", ""))
    (same,) = parse_query(again).query.operators
    assert same.cost == cost


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("{best: 1 ms}", "a cost has one worst case"),
        ("{base: 1 ms, worst: 1 ms}", "a cost has one worst case"),
        ("{best: 3 ms, worst: 1 ms}", "the best case of a cost is above its worst"),
        ("{worst: 3 ms, mean: 1 ms}", "a mean cost needs the best and the worst"),
        ("{best: 1 ms, worst: 3 ms, mean: 4 ms}", "the mean of a cost lies outside"),
    ],
)
def test_a_cost_that_cannot_be(written: str, message: str) -> None:
    with pytest.raises(FileError, match=message) as caught:
        parse_query(QUERY.format(cost=written))
    (problem,) = caught.value.problems
    assert problem.place is not None
    assert problem.place.line == 6


def test_what_does_not_go_with_drawn_times() -> None:
    def options(**more: bool) -> VehicleOptions:
        return VehicleOptions(
            policy="s-edf", clock="virtual", speed=None, partitioned=False, batching=False,
            trace=False, cost_seed=1, zero_cost=more.get("zero_cost", False),
            native=more.get("native", False),
        )  # fmt: skip

    options()
    with pytest.raises(InputError, match="cost_seed is not for engine='native'"):
        options(native=True)
    with pytest.raises(InputError, match="cost_seed and zero_cost do not go together"):
        options(zero_cost=True)
