"""What a plan holds for engines: both forms of tasks, and the same query on other terms."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.compiler.golden import EXAMPLE
from tests.example_plans import example_plan

from headway.compiler.node_queries import on_one_node
from headway.compiler.passes import compile_query, recompile
from headway.files import load_query
from headway.model.expression import Sql
from headway.model.operators import Filter, Fusion
from headway.model.plan import Plan
from headway.model.query import LoadShedder

EXAMPLES = EXAMPLE.parent


@pytest.fixture(scope="module")
def plan() -> Plan:
    return example_plan(EXAMPLE.name)


def test_every_operator_is_a_task_by_itself_with_the_deadline_it_has_in_a_train(
    plan: Plan,
) -> None:
    operators = [operator.name for operator in plan.query.operators]
    assert sorted(task.operators[0] for task in plan.operator_tasks) == sorted(operators)
    assert all(len(task.operators) == 1 for task in plan.operator_tasks)
    single = {task.operators[0]: task for task in plan.operator_tasks}
    for train in plan.tasks:
        last = single[train.operators[-1]]
        assert last.relative_deadline == train.relative_deadline
        assert last.outputs == train.outputs
        # EDF* inside the train: what comes before must leave time for what follows.
        for before, after in zip(train.operators, train.operators[1:], strict=False):
            follower = single[after]
            latest = follower.relative_deadline - follower.cost
            assert single[before].relative_deadline <= latest
        assert sum(single[name].cost for name in train.operators) == train.cost
    assert plan.scheduled(trains=True) is plan.tasks
    assert plan.scheduled(trains=False) is plan.operator_tasks


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*/query.yaml")), ids=lambda p: p.parent.name)
def test_on_one_node_it_is_what_the_query_gives_without_a_vehicle(path: Path) -> None:
    query = load_query(path).query
    alone = compile_query(query)
    assert on_one_node(alone) is alone
    for vehicle in path.parent.glob("vehicle*.yaml"):
        assert on_one_node(example_plan(path.parent.name, vehicle.name)) == alone


def test_a_plan_compiled_again_for_its_own_query_is_the_same(plan: Plan) -> None:
    assert recompile(plan, plan.query) == replace(plan, verdict=None)


def test_other_costs_and_shedders_change_tasks_and_trees_but_no_place(plan: Plan) -> None:
    value = Sql("-x")
    sources = tuple(
        replace(one, shedder=LoadShedder(at_most=1, per=1000, value=value))
        if one.name == "gps"
        else one
        for one in plan.query.sources
    )
    steps = tuple(
        replace(one, cost=replace(one.cost, base=2 * one.cost.base))
        if isinstance(one, Fusion) and one.cost
        else one
        for one in plan.query.operators
    )
    changed = recompile(plan, replace(plan.query, sources=sources, steps=steps))
    (shed,) = [one.shedder for one in changed.query.sources if one.name == "gps"]
    assert shed is not None
    assert shed.value == replace(value, typed=shed.value.typed)
    assert shed.value.typed is not None
    assert changed.placement == plan.placement
    assert changed.crossings == plan.crossings
    assert changed.verdict is None
    assert sum(task.cost for task in changed.tasks) > sum(task.cost for task in plan.tasks)


def test_every_expression_of_a_plan_has_its_tree_and_keeps_its_text(plan: Plan) -> None:
    written = {o.name: o.where for o in plan.query.operators if isinstance(o, Filter)}
    assert written
    for name, where in written.items():
        assert isinstance(where, Sql), name
        assert where.text
        assert where.typed is not None
