"""Automatic batches: fewer decisions, the same tuples, and every promise still kept."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from unittest.mock import patch

import pytest
from tests.compile.build import one_node
from tests.runtime.support import compiled, in_order

from headway.compile.compilation import Compilation
from headway.compile.judge import batches
from headway.compile.judge.batches import batch_budget
from headway.errors import InputError, PlacementError
from headway.model.arrival import Rate
from headway.model.cost import Cost
from headway.model.expression import Column, PythonCall, Sql
from headway.model.operators import Filter, Input, Map, Operator, Union
from headway.model.plan import Plan
from headway.model.query import Output, Query, Source
from headway.model.schema import DataType, schema
from headway.model.time import MICROSECOND, MILLISECOND
from headway.runtime import engine
from headway.runtime.backlog import Backlog
from headway.runtime.engine import Engine, RunResult
from headway.runtime.kernel import Arrival
from headway.runtime.operators.base import Row
from headway.runtime.trace import EventKind

COLUMNS = schema(k="int", v="double")
US, MS = MICROSECOND, MILLISECOND


# -------------------------------------------------------------------- queries


def sensor(
    name: str, count: int, period: int, *, delay: int = 0, lateness: int = 100 * MS
) -> Source:
    rate = Rate(count, period)
    return Source(
        name=name, schema=COLUMNS, rate=rate, delay=delay, lateness=lateness, gap=2 * period
    )


def chain(stream: str, operators: int, cost: int) -> list[Operator]:
    found: list[Operator] = []
    for place in range(operators):
        inputs, stream = (Input("input", stream),), f"{stream}_{place}"
        columns = (Column("v", Sql("v + 1")),)
        found.append(Map(name=stream, inputs=inputs, cost=Cost(cost), columns=columns, keep=True))
    return found


def chains(*parts: tuple[Source, int, int, int]) -> Plan:
    """For each (source, operators, cost of each, deadline) a train to an output of its own."""
    steps: list[Operator] = []
    outputs = []
    for source, operators, cost, deadline in parts:
        steps += chain(source.name, operators, cost)
        outputs.append(Output(name=f"out_{source.name}", stream=steps[-1].name, deadline=deadline))
    query = Query(
        name="chains",
        sources=tuple(part[0] for part in parts),
        steps=tuple(steps),
        outputs=tuple(outputs),
    )
    return compiled(query, one_node(query))


def burst(source: str, time: int, count: int, timestamp: int | None = None) -> list[Arrival]:
    at = time // US if timestamp is None else timestamp
    return [Arrival(time, source, (at, number, float(number))) for number in range(count)]


def random_query(draw: random.Random) -> Query:
    """Sources that send bursts, some in disorder, through filters, maps and unions; trains that
    follow trains."""
    sources = [
        sensor(
            f"s{index}",
            draw.choice((1, 5, 20, 40)),
            draw.choice((2, 5, 10)) * MS,
            delay=draw.choice((0, 0, 1, 5)) * MS,
            lateness=draw.choice((0, 2, 20)) * MS,
        )
        for index in range(draw.randint(1, 3))
    ]
    streams = [source.name for source in sources]
    unread = dict.fromkeys(streams)
    steps: list[Operator] = []
    for index in range(draw.randint(1, 8)):
        name, cost = f"o{index}", Cost(draw.choice((5, 10, 20, 50, 100, 400)) * US)
        kind = draw.choice(("filter", "filter", "map", "map", "map", "union"))
        stream = (
            draw.choice(list(unread) or streams) if draw.random() < 0.7 else draw.choice(streams)
        )
        only = (Input("input", stream),)
        if kind == "union" and len(streams) > 1:
            other = draw.choice([one for one in streams if one != stream])
            unread.pop(other, None)
            both = (Input("a", stream), Input("b", other))
            steps.append(Union(name=name, inputs=both, cost=cost))
        elif kind == "filter":
            where = Sql(draw.choice(("v >= 0", "v >= 30", "k = 1")))
            steps.append(Filter(name=name, inputs=only, cost=cost, where=where))
        else:
            columns = (Column("v", Sql("v + 1")),)
            steps.append(Map(name=name, inputs=only, cost=cost, columns=columns, keep=True))
        unread.pop(stream, None)
        streams.append(name)
        unread[name] = None
    return Query(
        name="bursts",
        sources=tuple(sources),
        steps=tuple(steps),
        outputs=tuple(
            Output(name=f"out_{s}", stream=s, deadline=draw.choice((2, 3, 5, 8, 12, 20, 50)) * MS)
            for s in unread
        ),
    )


def cheaper(operator: Operator) -> Operator:
    assert operator.cost is not None
    return replace(operator, cost=Cost(max(1, operator.cost.base // 2)))


def safe_plan(draw: random.Random) -> Plan | None:
    """A random plan whose promises hold, its costs lowered until they do."""
    query = random_query(draw)
    costs = draw.choice(((0, 0), (0, 0), (1000, 1000), (2000, 2600)))
    for _ in range(6):
        vehicle = one_node(query, decision_cost=costs[0], preemption_cost=costs[1])
        try:
            plan = compiled(query, vehicle)
        except PlacementError:
            plan = None
        if plan is not None and plan.verdict is not None and plan.verdict.safe:
            return plan
        query = replace(query, steps=tuple(cheaper(operator) for operator in query.operators))
    return None


def arrivals_of(draw: random.Random, query: Query, until: int = 40 * MS) -> Sequence[Arrival]:
    """Bursts within rates and delays; their tuples shuffled, so timestamps are in disorder."""
    found: list[Arrival] = []
    for source in query.sources:
        assert source.rate is not None
        rate, way = source.rate, draw.choice((0, 1, 2, 2))
        time = draw.choice((0, 0, draw.randint(0, rate.period // US) * US))
        while time <= until:
            for _ in range(rate.count):
                age = (0, source.delay, draw.randint(0, source.delay))[way]
                timestamp = max(0, -(-(time - age) // US))
                row = (timestamp, draw.randint(0, 2), float(draw.randint(0, 99)))
                found.append(Arrival(time, source.name, row))
            time += rate.period + draw.choice((0, 0, 0, draw.randint(0, 3000) * US))
    draw.shuffle(found)
    return in_order(found)


def run(plan: Plan, arrivals: Iterable[Arrival], *, batching: bool = False) -> RunResult:
    return Engine(plan=plan, batching=batching).run(arrivals)


def misses(result: RunResult) -> dict[str, int]:
    return {name: found for name, one in result.outputs.items() if (found := one.misses)}


def tuples(result: RunResult) -> dict[str, Counter[Row]]:
    return {name: Counter(record.rows) for name, record in result.outputs.items()}


def dropped(result: RunResult) -> Counter[tuple[str, str, str]]:
    return Counter((one.where, one.kind, repr(one.row)) for _, one in result.side.dropped)


def batches_in(result: RunResult) -> list[int]:
    """How many tuples each batch held."""
    return [event[8] for event in result.trace.events if event[0] == EventKind.BATCH]


def ran(result: RunResult) -> dict[str, list[int]]:
    """Unit -> how many tuples ended after n operators, by n."""
    return {unit.name: unit.ran for unit in result.kernel.program.units}


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
    kept = batches._kept

    def watched(compilation: Compilation, budget: int) -> bool:
        tried.append(budget)
        return kept(compilation, budget)

    with patch.object(batches, "_kept", watched):
        budget = batch_budget(plan)
    assert plan.verdict is not None
    slack = min(promise.slack or 0 for promise in plan.verdict.promises)
    if budget:
        assert tried[-1] == budget
        assert budget == slack or tried[-2] in (2 * budget, 2 * budget + 1)
    else:
        assert slack < 2 * batches.FINEST or tried[-1] < 2 * batches.FINEST


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


# -------------------------------------------------------------------- odd tuples in a burst


def test_malformed_and_late_tuples_in_a_burst_fare_as_without_batches() -> None:
    source = sensor("s", 40, 10 * MS, delay=5 * MS, lateness=2 * MS)
    plan = chains((source, 3, 10 * US, 20 * MS))
    rows: list[object] = [(10_000 + number, number, float(number)) for number in range(40)]
    rows[3] = (10_003, "three", 3.0)
    rows[10] = (10_010, 1)
    rows[11] = None
    rows[20] = (6_000, 20, 20.0)  # late: 4 ms behind
    rows[25] = (9_500, 25, 25.0)  # behind, but not late
    arrivals = [Arrival(11 * MS, "s", row) for row in rows]  # type: ignore[arg-type]
    single, batched = run(plan, arrivals), run(plan, arrivals, batching=True)
    assert dropped(batched) == dropped(single)
    assert len(batched.side.dropped) == 3
    assert tuples(batched) == tuples(single)
    assert len(batched.outputs["out_s"]) == 37
    assert batched.kernel.arrived == 40
    assert ran(batched) == ran(single)
    assert sum(batches_in(batched)) >= 35
    assert misses(batched) == {}


def test_tuples_leave_in_the_order_of_single_scheduling() -> None:
    source = sensor("s", 30, 10 * MS, delay=5 * MS)
    plan = chains((source, 1, 10 * US, 20 * MS))
    draw = random.Random(5)
    arrivals = [
        Arrival(10 * MS, "s", (draw.randint(5_000, 10_000), number, 0.0)) for number in range(30)
    ]
    single, batched = run(plan, arrivals), run(plan, arrivals, batching=True)
    assert batched.outputs["out_s"].rows == single.outputs["out_s"].rows
    assert batches_in(batched) == [30]


def test_a_failing_function_costs_its_tuple_only() -> None:
    logarithm = PythonCall("math:log", ("v",), DataType.DOUBLE)  # of 0 it raises
    columns, only = (Column("v", logarithm),), (Input("input", "s"),)
    query = Query(
        name="fails",
        sources=(sensor("s", 20, 10 * MS),),
        steps=(Map(name="f", inputs=only, cost=Cost(10 * US), columns=columns, keep=True),),
        outputs=(Output(name="out", stream="f", deadline=9 * MS),),
    )
    plan = compiled(query, one_node(query))
    single, batched = run(plan, burst("s", 0, 20)), run(plan, burst("s", 0, 20), batching=True)
    assert dropped(batched) == dropped(single)
    assert tuples(batched) == tuples(single)
    assert [(one.where, one.kind) for _, one in batched.side.dropped] == [("f", "failed")]
    assert len(batched.outputs["out"]) == 19


# -------------------------------------------------------------------- the backlog alone


def rows_of(*timestamps: int) -> list[Row]:
    return [(timestamp,) for timestamp in timestamps]


def taken(backlog: Backlog, most: int, limit: int | None = None) -> list[int]:
    return [row[0] for row in backlog.take(most, lambda row: row[0], limit)]


def test_backlog_gives_the_oldest_first() -> None:
    backlog = Backlog()
    assert backlog.add(rows_of(1, 5, 9)) == []
    assert backlog.add(rows_of(0, 2, 12)) == rows_of(0)
    assert (len(backlog), backlog.oldest) == (5, 1)
    assert taken(backlog, 2) == [1, 2]
    assert backlog.add(rows_of(3, 5, 6)) == rows_of(3)
    assert taken(backlog, 9, limit=6) == [5, 5, 6]
    assert taken(backlog, 9, limit=0) == [9]
    assert taken(backlog, 9) == [12]
    assert not backlog


def test_backlog_is_the_same_as_a_sorted_list() -> None:
    draw = random.Random(1)
    backlog = Backlog()
    model: list[int] = []
    for _ in range(3000):
        if draw.random() < 0.5:
            new = sorted(draw.randint(0, 100) for _ in range(draw.randint(1, 6)))
            older = [row[0] for row in backlog.add(rows_of(*new))]
            assert older == ([one for one in new if one < model[0]] if model else [])
            model = sorted([*model, *new[len(older) :]])
        elif model:
            most, limit = draw.randint(1, 8), draw.choice((None, draw.randint(0, 100)))
            wanted = within(model[:most], limit)
            assert taken(backlog, most, limit) == wanted
            model = model[len(wanted) :]
        assert len(backlog) == len(model)
        assert not model or backlog.oldest == model[0]


def within(timestamps: Iterable[int], limit: int | None) -> list[int]:
    first, *rest = timestamps
    return [first, *(one for one in rest if limit is None or one <= limit)]
