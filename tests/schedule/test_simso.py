"""Without precedence between tasks S-EDF is EDF: finish times as SimSo's ``EDF_mono`` has them.

SimSo preempts at any instant, this engine between operators. So a task of C ms is a train of C
operators of 1 ms; releases are whole milliseconds, and preemption points are wherever SimSo can
preempt. ``benchmarks/oracle_simso.py`` made the fixture.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.compiler.build import one_node, query_of
from tests.engine.support import compiled, completions, in_order, run

from headway.engine.jobs import Arrival
from headway.engine.results import RunResult
from headway.model.quantities import MICROSECOND, MILLISECOND, SECOND, Rate
from headway.schedule.online import Policy
from headway.schedule.online.s_edf import StreamEdf

FIXTURE = Path(__file__).parents[1] / "fixtures" / "simso_edf.json"
CASES: list[dict[str, Any]] = json.loads(FIXTURE.read_text(encoding="utf-8"))["cases"]
DURATION = 120
MS = MILLISECOND


def replayed(case: dict[str, Any], policy: Policy) -> RunResult:
    streams: list[tuple[str, str]] = []
    deadlines: dict[str, int] = {}
    arrivals: list[Arrival] = []
    for number, task in enumerate(case["tasks"]):
        chain = [f"s{number}", *(f"t{number}_{i}" for i in range(task["cost"])), f"out{number}"]
        streams += pairwise(chain)
        deadlines[f"out{number}"] = task["deadline"] * MS
        arrivals += [
            Arrival(time * MS, f"s{number}", (time * MS // MICROSECOND, 0.0))
            for time in range(task["phase"], DURATION, task["period"])
        ]
    # Some sets ask for more than there is, which the compiler would refuse: a lower rate is
    # declared.
    rates = {f"s{number}": Rate(1, SECOND) for number in range(len(case["tasks"]))}
    query = query_of(streams, deadlines, costs=MS, rates=rates)
    return run(compiled(query, one_node(query)), in_order(arrivals), policy)


def finished(case: dict[str, Any], policy: Policy) -> list[list[list[float]]]:
    """By task: (release, finish) of the jobs that end within the simulated time, in ms."""
    result = replayed(case, policy)
    return [
        [
            [sensed // MS, completed / MS]
            for sensed, completed in completions(result, f"out{number}")
            if completed <= DURATION * MS
        ]
        for number in range(len(case["tasks"]))
    ]


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_finish_times_are_those_of_simso(case: dict[str, Any]) -> None:
    assert finished(case, StreamEdf()) == case["finished"]


def test_the_sets_tell_schedulers_apart() -> None:
    """Preemption matters in them, some are overloaded, and a train that never yields is caught."""

    class NeverYields(StreamEdf):
        preemptive = False

    loads = [sum(task["cost"] / task["period"] for task in case["tasks"]) for case in CASES]
    assert len(CASES) == 20
    assert max(loads) > 1
    assert sum(replayed(case, StreamEdf()).kernel.preemptions > 0 for case in CASES) >= 10
    assert any(finished(case, NeverYields()) != case["finished"] for case in CASES)
