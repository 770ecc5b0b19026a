"""Operator paths as tasks (figure 3): rows, joins, branches."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.invoke import headway
from tests.example_plans import example_plan

from headway.compiler import compile_query
from headway.engine.engine import Engine
from headway.errors import TaskSetError, UnsupportedError
from headway.files import load_vehicle, parse_query
from headway.model.plan import Plan
from headway.model.quantities import MILLISECOND
from headway.model.taskset import FULL, Constant, OverloadTask, TaskKind, TaskSet
from headway.model.vehicle import Node, Vehicle
from headway.schedule.overload.admission_over_nodes import Admission, check_paths
from headway.schedule.overload.plan_paths import operator_paths, paths_over_nodes, task_sets_of
from headway.schedule.overload.soft_expectations import Chance, expectations, soft_room

BRANCH = """query: branch
schemas:
  A: {v: double}
sources:
  a: {schema: A, rate: 1 per 10 ms}
  b: {schema: A, rate: 1 per 10 ms}
operators:
  first: {map: {v: v}, from: a, cost: 1 ms}
  both: {union: [first, b], cost: 1 ms}
  slow: {map: {v: v}, from: both, cost: 2 ms}
  quick: {map: {v: v}, from: both, cost: 1 ms}
outputs:
  late: {from: slow, deadline: 50 ms, criticality: soft}
  soon: {from: quick, deadline: 10 ms, criticality: hard}
"""


def branch() -> Plan:
    vehicle = Vehicle(name="one", nodes=(Node(name="ecu"),), sensors=(("a", "ecu"), ("b", "ecu")))
    return compile_query(parse_query(BRANCH).query, vehicle)


def test_the_key_path_owns_what_is_shared() -> None:
    """Figure 3 (c), and (b): the union runs for tuples of both sources."""
    paths = {path.name: path.operators for path in operator_paths(branch())}
    assert paths == {
        "a→soon": ("first", "both", "quick"),
        "b→soon": ("both", "quick"),
        "a→late": ("slow",),
        "b→late": ("slow",),
    }


def test_utilisations_come_from_costs_and_rates() -> None:
    (task_set,) = task_sets_of(branch())
    tasks = {task.name: task for task in task_set.tasks}
    assert {name: task.peak / FULL for name, task in tasks.items()} == pytest.approx(
        {"a→soon": 0.3, "b→soon": 0.2, "a→late": 0.2, "b→late": 0.2}, abs=1e-5
    )
    assert {task.deadline for task in tasks.values()} == {10 * MILLISECOND}
    assert [task.hard for task in tasks.values()] == [True, True, False, False]


def test_no_work_is_lost_or_counted_twice() -> None:
    plan = example_plan("collision_warning")
    assert plan.verdict is not None
    nodes = {node.name for node in plan.vehicle.nodes}
    declared = {load.name: load.utilisation for load in plan.verdict.loads if load.name in nodes}
    summed = dict.fromkeys(declared, 0.0)
    for path in operator_paths(plan):
        for node, load in path.loads.items():
            summed[node] += load
    assert summed == pytest.approx(declared, rel=1e-6)


@pytest.mark.parametrize("vehicle", ["vehicle.yaml", "vehicle_modern.yaml"])
def test_paths_over_nodes_keep_the_deadlines_of_their_outputs(vehicle: str) -> None:
    plan = example_plan("collision_warning", vehicle)
    deadlines = {output.name: output.deadline or 0 for output in plan.query.outputs}
    paths = paths_over_nodes(plan)
    assert max(len(path.stages) for path in paths) == 3
    assert all(path.deadline <= deadlines[path.name.split("→")[1]] for path in paths)
    left = check_paths(paths)
    assert all(left[task_set.name] > 0 for task_set in task_sets_of(plan))
    admission, soft = Admission(paths), [path for path in paths if not path.hard]
    assert soft
    assert all(admission.admit(p, 0, [stage.peak for stage in p.stages]) for p in paths)


def test_hard_paths_that_do_not_fit_are_refused_by_node_and_output(tmp_path: Path) -> None:
    short = BRANCH.replace("deadline: 10 ms", "deadline: 4 ms")
    file, on = tmp_path / "query.yaml", tmp_path / "vehicle.yaml"
    file.write_text(short)
    on.write_text("vehicle: one\nnodes:\n  ecu: {}\nsensors: {a: ecu, b: ecu}\n")
    outcome = headway("loadtest", file, "--vehicle", on, "--trials", "1", "--duration", "100")
    assert outcome.code == 2
    assert "on 'ecu' the hard tasks need 125 % of a processor that has 100 %" in outcome.err
    assert outcome.problems[0]["line"] == str(
        short.split("\n").index("  soon: {from: quick, deadline: 4 ms, criticality: hard}") + 1
    )
    plan = compile_query(parse_query(short).query, load_vehicle(on).vehicle)
    with pytest.raises(TaskSetError, match="on 'ecu' the hard tasks need 125 %"):
        Engine(plan=plan, policy="rop-edf")


def test_several_cores_are_refused() -> None:
    vehicle = Vehicle(
        name="two", nodes=(Node(name="ecu", cores=2),), sensors=(("a", "ecu"), ("b", "ecu"))
    )
    plan = compile_query(parse_query(BRANCH).query, vehicle)
    with pytest.raises(UnsupportedError, match="reservations are for one processor; got 2 cores"):
        task_sets_of(plan)


def soft(name: str, use: int) -> OverloadTask:
    return OverloadTask(
        name=name, kind=TaskKind.SOFT, period=MILLISECOND, deadline=MILLISECOND,
        utilisation=Constant(use),
    )  # fmt: skip


def test_what_soft_tasks_may_expect() -> None:
    hard = OverloadTask(
        name="H", kind=TaskKind.HARD, period=MILLISECOND, deadline=MILLISECOND,
        utilisation=Constant(600_000),
    )  # fmt: skip
    calm = TaskSet(name="calm", tasks=(hard, soft("a", 100_000), soft("b", 300_000)))
    assert soft_room(calm) == 400_000
    assert {one.whole_jobs for one in expectations(calm)} == {Chance.ALWAYS}
    assert {one.shares for one in expectations(calm)} == {Chance.ALWAYS}
    full = TaskSet(name="full", tasks=(hard, soft("a", 100_000), soft("b", 500_000)))
    a, b = expectations(full)
    assert (a.whole_jobs, b.whole_jobs) == (Chance.SOMETIMES, Chance.NEVER)
    assert (a.reserved, b.reserved) == (66_666, 333_333)
