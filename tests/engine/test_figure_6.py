"""The worked example of the S-EDF paper (figures 6 and 7), slot by slot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.compiler.build import one_node, query_of
from tests.compiler.golden import golden
from tests.engine.support import run, slots_of

from headway.compiler import compile_query
from headway.engine.jobs import Arrival
from headway.engine.results import RunResult
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND

GOLDEN = Path(__file__).parents[1] / "golden" / "sedf_fig6_run.json"
RUN: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))
FACTS: dict[str, Any] = {**golden("sedf_fig6.json"), **RUN}
UNIT = MILLISECOND
POLICIES = {"s_edf": "s-edf", "fifo_plus": "fifo+"}


def plan() -> Plan:
    query = query_of(
        FACTS["query"]["streams"],
        {name: deadline * UNIT for name, deadline in FACTS["query"]["deadlines"].items()},
        costs={name: cost * UNIT for name, cost in FACTS["query"]["operators"].items()},
        timeouts={name: time * UNIT for name, time in FACTS["query"]["timeouts"].items()},
    )
    return compile_query(query, one_node(query))


def tuples() -> dict[float, str]:
    """Tuples are told apart by their value, which the operators pass on."""
    return {float(number): one["tuple"] for number, one in enumerate(FACTS["input"])}


def arrivals() -> list[Arrival]:
    found = [
        Arrival(
            one["arrives"] * UNIT,
            one["stream"],
            (one["timestamp"] * UNIT // MICROSECOND, float(number)),
        )
        for number, one in enumerate(FACTS["input"])
    ]
    return sorted(found)


def run_figure(policy: str, *, fast_path: bool = True) -> RunResult:
    return run(plan(), arrivals(), policy, fast_path=fast_path)


@pytest.mark.parametrize("fast_path", [True, False])
@pytest.mark.parametrize("name", POLICIES)
def test_slot_by_slot(name: str, fast_path: bool) -> None:
    result = run_figure(POLICIES[name], fast_path=fast_path)
    slots = [(slot.start // UNIT, slot.operator) for slot in slots_of(result)]
    assert slots == [(start, operator) for start, operator, _ in FACTS[name]["slots"]]
    assert all(slot.end - slot.start == UNIT for slot in slots_of(result))


@pytest.mark.parametrize("fast_path", [True, False])
@pytest.mark.parametrize("name", POLICIES)
def test_outputs_and_misses(name: str, fast_path: bool) -> None:
    result = run_figure(POLICIES[name], fast_path=fast_path)
    names = tuples()
    done = {
        output: {names[one.row[1]]: one.completed // UNIT for one in record}
        for output, record in result.outputs.items()
    }
    assert done == FACTS[name]["outputs"]
    missed = [
        [output, names[one.row[1]]]
        for output, record in result.outputs.items()
        for one in record
        if one.missed
    ]
    assert missed == FACTS[name]["missed"]
    assert result.summary().miss_ratio == (0.25 if missed else 0.0)


def test_trains_and_their_deadlines() -> None:
    compiled = plan()
    assert [list(task.operators) for task in compiled.tasks] == FACTS["trains"]
    sensed = {one["tuple"]: one["timestamp"] for one in FACTS["input"]}
    deadlines = {
        f"{name} in ({','.join(task.operators)})": sensed[name] + task.relative_deadline // UNIT
        for name in ("p1", "p2")
        for task in compiled.tasks
        if task.operators != ("o2",)
    }
    assert deadlines == FACTS["deadlines"]


def test_the_preempted_train_resumes_where_it_stopped() -> None:
    """Tuple p1 in (o6, o7): o6 at 7, then p2 goes first, o7 at 11."""
    kinds = run_figure("s-edf").trace.to_table().to_pylist()
    (preempted,) = [one for one in kinds if one["kind"] == "preempt"]
    resumed = [one["start"] // UNIT for one in kinds if one["kind"] == "resume"]
    assert preempted["start"] == 8 * UNIT
    assert resumed == [11]
    assert run_figure("s-edf").summary().timeouts == 1
