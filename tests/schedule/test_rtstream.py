"""RTSTREAM: one deadline a query, and data admission by prediction."""

from __future__ import annotations

import pytest
from tests.compiler.build import one_node, query_of
from tests.engine.support import compiled, run, slots_of

from headway.engine.jobs import Arrival
from headway.engine.program import tasks_for
from headway.model.quantities import MILLISECOND
from headway.model.taskset import FULL
from headway.schedule.online.reservation import ReservedJob, TaskFacts
from headway.schedule.online.rtstream import DataAdmission, RealTimeStreams

MS = MILLISECOND
ROWS = [
    ("s", "o1"), ("o1", "o2"), ("o2", "soon"), ("o1", "o3"), ("o3", "later"),
    ("t", "o4"), ("o4", "last"),
]  # fmt: skip
DEADLINES = {"soon": 20 * MS, "later": 80 * MS, "last": 50 * MS}


def test_a_query_has_the_shortest_deadline_of_its_outputs() -> None:
    """s has two outputs that share o1; t is a query of its own."""
    query = query_of(ROWS, DEADLINES, costs=MS)
    tasks, order = tasks_for(compiled(query, one_node(query)), RealTimeStreams())
    found = {task.operators[-1]: order.query_deadline[task.name] // MS for task in tasks}
    assert found == {"o1": 20, "o2": 20, "o3": 20, "o4": 50}


def test_the_output_with_the_later_deadline_goes_with_the_other() -> None:
    """The second tuple of s is due after the first one's whole query, o3 for an output with much
    time included; under S-EDF o3 of both goes last."""
    query = query_of(ROWS, DEADLINES, costs=2 * MS)
    plan = compiled(query, one_node(query))
    given = [Arrival(0, "s", (0, 1.0)), Arrival(MS, "s", (1_000, 1.0))]

    def order(policy: str) -> str:
        return " ".join(slot.operator for slot in slots_of(run(plan, given, policy)))

    assert order("rtstream") == "o1 o2 o3 o1 o2 o3"
    assert order("s-edf") == "o1 o1 o2 o2 o3 o3"


def job(task: int, release: int, utilisation: int) -> ReservedJob:
    return ReservedJob(task, release, release + 10, 1, utilisation, release)


def books(*averages: int) -> DataAdmission:
    return DataAdmission(
        [TaskFacts(f"t{place}", False, 10, 10, one, one) for place, one in enumerate(averages)]
    )


def test_within_the_processor_everything_is_let_in() -> None:
    ledger = books(FULL // 2, FULL // 2)
    assert all(ledger.admit(job(task, at, FULL // 2)) for at in range(5) for task in range(2))


def test_in_overload_so_much_is_let_in_as_there_is_room_for() -> None:
    """200 % is predicted: every other job of each task, hard or soft."""
    ledger = books(FULL, FULL)
    found = [[ledger.admit(job(task, at, FULL)) for at in range(6)] for task in range(2)]
    assert found == [[False, True] * 3] * 2


def test_what_comes_next_is_predicted_from_the_last() -> None:
    """A job's own work is not known before it has run: the first large one gets in, the one behind
    it is judged by it."""
    ledger = books(FULL // 2)
    assert ledger.admit(job(0, 0, 2 * FULL))
    assert not ledger.admit(job(0, 1, FULL // 2))
    assert ledger.admit(job(0, 2, FULL // 2))


def test_the_share_is_of_the_period_and_the_deadline_that_of_the_task() -> None:
    """A deadline of half the period asks for half as much of the processor."""
    ledger = DataAdmission([TaskFacts("t", True, 20, 10, FULL, FULL)] * 2)
    jobs = [job(task, at, FULL) for at in range(3) for task in range(2)]
    assert all(ledger.admit(one) for one in jobs)
    late = ReservedJob(0, 100, 103, 1, FULL, 9)
    assert ledger.admit(late)
    assert late.due == 110


@pytest.mark.parametrize("overhead", [0, FULL // 2])
def test_overhead_is_no_room(overhead: int) -> None:
    ledger = DataAdmission([TaskFacts("t", False, 10, 10, FULL, FULL)], overhead)
    found = [ledger.admit(job(0, at, FULL)) for at in range(4)]
    assert found == ([False, True] * 2 if overhead else [True] * 4)
