"""Operator paths as tasks in the engine (figure 3), and how much room they leave."""

from __future__ import annotations

import pytest
from tests.engine.reserving.small import MS, TWO_STEPS, misses, plan_of, run

from headway.compiler.latency.soft_room import soft_rooms
from headway.engine.path_tasks import PathTasks
from headway.engine.program import build_program
from headway.schedule.online import engine_policy_named
from headway.schedule.overload.plan_paths import operator_paths

BRANCH = """query: branch
schemas:
  A: {v: double}
sources:
  a: {schema: A, rate: 1 per 20 ms}
  b: {schema: A, rate: 1 per 40 ms}
operators:
  both: {union: [a, b], cost: 1 ms}
  quick: {map: {v: v}, from: both, cost: 1 ms}
  slow: {map: {v: v}, from: both, cost: 2 ms}
  slower: {map: {v: v}, from: slow, cost: 2 ms}
  aside: {map: {v: v}, from: slow, cost: 1 ms}
outputs:
  soon: {from: quick, deadline: 15 ms, criticality: soft}
  late: {from: slower, deadline: 30 ms, criticality: soft}
  last: {from: aside, deadline: 40 ms, criticality: soft}
"""


def tasks_of(text: str) -> tuple[PathTasks, dict[str, object]]:
    plan = plan_of(text)
    program = build_program(plan, engine_policy_named("rop-edf"))
    return PathTasks(plan, program), {unit.operators[0]: unit for unit in program.units}


def name_of(tasks: PathTasks, unit: object, source: str) -> str:
    place = tasks.place(unit, source)  # type: ignore[arg-type]
    return tasks.facts[place.node][place.task].name


def test_trains_of_a_path_are_one_task_and_branches_begin_another() -> None:
    tasks, units = tasks_of(BRANCH)
    named = {head: name_of(tasks, unit, "a") for head, unit in units.items()}
    assert named == {
        "both": "a→soon",
        "quick": "a→soon",
        "slow": "a→late",
        "slower": "a→late",
        "aside": "a→last",
    }
    assert name_of(tasks, units["both"], "b") == "b→soon"


def test_a_job_asks_for_its_whole_path_on_the_node_until_the_last_deadline() -> None:
    tasks, units = tasks_of(BRANCH)
    trunk, branch = units["both"], units["slow"]
    work = tasks.work(trunk, "input1", "a")  # type: ignore[arg-type]
    assert (work.of(1), work.last, work.bounded) == (2 * MS, 15 * MS, True)
    work = tasks.work(branch, "input", "a")  # type: ignore[arg-type]
    assert (work.of(1), work.last) == (4 * MS, 30 * MS)


@pytest.mark.parametrize("policy", ["rop-edf-1", "rop-edf-2", "cbs", "er-edf"])
def test_several_deadlines_of_one_tuple_are_all_met(policy: str) -> None:
    arrivals = [(20.0 * n, "a") for n in range(20)] + [(40.0 * n, "b") for n in range(10)]
    result = run(plan_of(BRANCH), policy, arrivals)
    assert {one.output: one.tuples for one in result.summary().outputs} == {
        "soon": 30, "late": 30, "last": 30,
    }  # fmt: skip
    assert set(misses(result).values()) == {0}


def test_what_a_hard_output_needs_is_hard_even_if_a_soft_one_wants_it_sooner() -> None:
    text = BRANCH.replace("late: {from: slower, deadline: 30 ms, criticality: soft}",
                          "late: {from: slower, deadline: 30 ms, criticality: hard}")  # fmt: skip
    kinds = {path.name: (path.kind.value, path.operators) for path in operator_paths(plan_of(text))}
    assert kinds["a→late"] == ("hard", ("both", "slow", "slower"))
    assert kinds["a→soon"] == ("soft", ("quick",))


def test_the_room_for_soft_jobs_is_less_by_what_an_operator_holds_up() -> None:
    """`distance` needs 10 of 20 ms; a soft operator of 4 ms may be under way: 6 of 20 are left."""
    (room,) = soft_rooms(plan_of(TWO_STEPS)).values()
    assert 0.29 < room / 1e6 <= 0.30
    finer = TWO_STEPS.replace("cost: 4 ms", "cost: 1 ms")
    (room,) = soft_rooms(plan_of(finer)).values()
    assert 0.44 < room / 1e6 <= 0.45
