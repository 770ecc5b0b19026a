"""Conservation: in = out + filtered + shed + late + failed + still inside, for every operator."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from tests.compiler.build import one_node, source
from tests.engine.bounds import random_plan
from tests.engine.kernels import kernel_of
from tests.engine.random_runs import (
    COLUMNS,
    STATELESS,
    Shape,
    random_arrivals,
    random_query,
    scaled,
)
from tests.engine.reference import Reference
from tests.engine.support import compiled, run

from headway.engine.jobs import Arrival
from headway.engine.operator_counts import OperatorCount, operator_counts
from headway.engine.results import RunResult
from headway.model.expression import Column, PythonCall, Sql
from headway.model.graph import graph_of
from headway.model.operators import Aggregate, Filter, Input, Join, Map, Union, UserDefined
from headway.model.quantities import MILLISECOND, Cost
from headway.model.query import Output, Query
from headway.model.schema import DataType
from headway.schedule.online import POLICIES


def by_name(result: RunResult) -> dict[str, OperatorCount]:
    return {count.operator: count for count in operator_counts(result)}


def complaints(result: RunResult, query: Query, arrived: Counter[str]) -> list[str]:
    """What does not add up."""
    counts = by_name(result)
    graph = graph_of(query)
    found = [
        f"{name}: {counts[name].consumed} of {arrived[name]} arrivals"
        for name in graph.sources
        if counts[name].consumed != arrived[name] or counts[name].used != counts[name].produced
    ]
    for name, operator in graph.operators.items():
        count = counts[name]
        offered = sum(counts[stream].produced for stream in operator.streams)
        if count.consumed != offered:
            found.append(f"{name}: consumed {count.consumed} of {offered}")
        if min(count.used, count.filtered, count.produced) < 0:
            found.append(f"{name}: less than nothing in {count}")
        if isinstance(operator, Filter | Map | Union) and count.used != count.produced:
            found.append(f"{name}: {count}")
        if isinstance(operator, Map | Union) and count.filtered:
            found.append(f"{name} filters: {count}")
        doubles = isinstance(operator, UserDefined) and operator.timeout is None
        if doubles and count.produced != 2 * count.consumed:
            found.append(f"{name}: {count}")
        if isinstance(operator, UserDefined | Aggregate) and count.kept:
            found.append(f"{name} keeps tuples after the end: {count}")
    found += [
        f"{output.name}: {len(result.outputs[output.name])} tuples"
        for output in query.outputs
        if len(result.outputs[output.name]) != counts[output.stream].produced
    ]
    return found


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(800_000, 800_012))
def test_everything_adds_up(seed: int, policy: str) -> None:
    """On one or several nodes, with shedders, late tuples, windows and timeouts."""
    made = random_plan(seed, Shape(most_operators=7), patterns=("mixed", "aligned"))
    if made is None:
        return
    plan, patterns = made
    for _, given in patterns:
        arrived = Counter(arrival.source for arrival in given)
        for charged in (True, False):
            result = run(plan, given, policy, charged=charged)
            assert complaints(result, plan.query, arrived) == []


def test_the_cases_have_everything() -> None:
    kinds: Counter[str] = Counter()
    for seed in range(800_000, 800_012):
        made = random_plan(seed, Shape(most_operators=7), patterns=("mixed", "aligned"))
        if made is None:
            continue
        plan, patterns = made
        for _, given in patterns:
            for count in operator_counts(run(plan, given)):
                for what in ("filtered", "late", "shed", "kept"):
                    kinds[what] += getattr(count, what) > 0
    assert min(kinds[what] for what in ("filtered", "late", "shed", "kept")) >= 1, kinds


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(10))
def test_counts_are_those_of_the_reference(seed: int, policy: str) -> None:
    """Operator by operator: fused and stepped, the counters come to the same."""
    draw = random.Random(seed)
    shape = Shape(kinds=(*STATELESS, "twice"), shedders=False, most_operators=8)
    query = scaled(random_query(draw, shape), 0.01)
    given = random_arrivals(draw, query, "mixed")
    expected = Reference(query).run(given)
    plan = compiled(query, one_node(query, decision_cost=1000))
    for charged in (True, False):
        counts = by_name(run(plan, given, policy, charged=charged))
        for operator in query.operators:
            count = counts[operator.name]
            assert count.consumed == expected.consumed[operator.name], operator.name
            assert count.produced == expected.produced[operator.name], operator.name


def test_the_fast_way_is_counted_too() -> None:
    """Without the tuples that ran through whole trains the books do not balance."""
    draw = random.Random(3)
    query = scaled(random_query(draw, Shape(kinds=("map",), most_sources=1, shedders=False)), 0.01)
    given = random_arrivals(draw, query, "phases")
    result = run(compiled(query, one_node(query)), given)
    arrived = Counter(arrival.source for arrival in given)
    assert complaints(result, query, arrived) == []
    units = kernel_of(result).program.units
    assert any(sum(unit.ran) for unit in units)
    for unit in units:
        unit.ran = [0] * len(unit.ran)
    assert complaints(result, query, arrived) != []


def test_a_failure_inside_a_train_is_booked_on_its_operator() -> None:
    call = PythonCall("tests.engine.operators.users:reciprocal", ("v",), DataType.DOUBLE)
    steps = tuple(
        Map(
            name=name, inputs=(Input("input", stream),), cost=Cost(1000), columns=columns, keep=True
        )
        for name, stream, columns in (
            ("first", "s", ()),
            ("inverse", "first", (Column("v", call),)),
            ("last", "inverse", ()),
        )
    )
    query = Query(
        name="failing",
        sources=(source("s", columns=COLUMNS),),
        steps=steps,
        outputs=(Output(name="out", stream="last", deadline=MILLISECOND),),
    )
    given = [Arrival(n * MILLISECOND, "s", (n * 1000, 1, float(n % 3))) for n in range(9)]
    counts = by_name(run(compiled(query, one_node(query)), given))
    assert (counts["inverse"].consumed, counts["inverse"].failed) == (9, 3)
    assert (counts["first"].failed, counts["last"].failed) == (0, 0)
    assert counts["last"].produced == counts["last"].consumed == 6


def test_a_join_keeps_what_may_still_match() -> None:
    join = Join(
        name="pair",
        inputs=(Input("a", "s0"), Input("b", "s1")),
        cost=Cost(0),
        within=MILLISECOND,
        columns=(Column("v", Sql("a.v")),),
    )
    query = Query(
        name="join",
        sources=(source("s0", columns=COLUMNS), source("s1", columns=COLUMNS)),
        steps=(join,),
        outputs=(Output(name="out", stream="pair", deadline=MILLISECOND),),
    )
    given = [Arrival(n * MILLISECOND, f"s{n % 2}", (n * 1000, 1, 1.0)) for n in range(6)]
    counts = by_name(run(compiled(query, one_node(query)), given))
    assert (counts["pair"].consumed, counts["pair"].produced, counts["pair"].kept) == (6, 5, 6)
