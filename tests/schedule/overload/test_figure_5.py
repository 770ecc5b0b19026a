"""Table 1 and figure 5 of the ROP-EDF paper, exactly."""

from __future__ import annotations

import pytest
from tests.schedule.overload.support import GOLDEN, MS, figure_5

from headway.model.taskset import FULL
from headway.schedule.online import OVERLOAD_POLICIES, overload_policy_named
from headway.schedule.online.er_edf import SharedCapacity
from headway.schedule.online.reservation import ReservedJob, TaskFacts
from headway.schedule.overload.one_processor import Happening, TrialRecord, simulate

DURATION = 24 * MS
ROP = [name for name in OVERLOAD_POLICIES if name.startswith("rop-edf")]


def happened(record: TrialRecord, what: Happening) -> list[list[object]]:
    names = list(GOLDEN["tasks"])
    return [[names[task], time // MS] for kind, time, task, _ in record.events if kind is what]


def run(policy: str) -> TrialRecord:
    task_set, releases = figure_5()
    record = TrialRecord()
    simulate(task_set, releases, overload_policy_named(policy), DURATION, record)
    return record


def test_er_edf_runs_as_drawn() -> None:
    record, names = run("er-edf"), list(GOLDEN["tasks"])
    runs = [[names[one.task], one.start / MS, one.end / MS] for one in record.runs]
    wanted = GOLDEN["er_edf"]["runs_until_10"]
    assert runs[: len(wanted)] == wanted
    assert runs[len(wanted)][1] >= 10


def test_er_edf_replenishes_and_rejects_as_drawn() -> None:
    record = run("er-edf")
    until_10 = [one for one in happened(record, Happening.REPLENISHED) if one[1] <= 10]  # type: ignore[operator]
    assert until_10 == GOLDEN["er_edf"]["replenished"]
    assert happened(record, Happening.REJECTED) == GOLDEN["er_edf"]["rejected"]


def test_er_edf_has_a_fifth_left_when_the_hard_job_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    left: dict[int, int] = {}
    admit = SharedCapacity.admit

    def noting(self: SharedCapacity, job: ReservedJob) -> bool:
        left[job.release] = self.capacity
        return admit(self, job)

    monkeypatch.setattr(SharedCapacity, "admit", noting)
    run("er-edf")
    assert left[12 * MS] == GOLDEN["er_edf"]["capacity_left_at_12"] * FULL


@pytest.mark.parametrize("policy", ROP)
def test_rop_edf_admits_the_hard_job(policy: str) -> None:
    rejected = happened(run(policy), Happening.REJECTED)
    hard = [one for one in rejected if GOLDEN["tasks"][one[0]]["kind"] == "hard"]
    assert hard == GOLDEN["rop_edf"]["rejected_hard"]


def test_states_follow_figure_4() -> None:
    """dormant -> ready -> (overrun -> ready)* -> dormant"""
    record = run("er-edf")
    follows = {
        None: {Happening.RELEASED, Happening.REJECTED},
        Happening.RELEASED: {Happening.OVERRUN, Happening.COMPLETED, Happening.MISSED},
        Happening.OVERRUN: {Happening.REPLENISHED},
        Happening.REPLENISHED: {
            Happening.REPLENISHED,
            Happening.COMPLETED,
            Happening.MISSED,
            Happening.OVERRUN,
        },
    }
    last: dict[int, Happening | None] = {}
    for what, _, _, number in record.events:
        assert what in follows[last.get(number)]
        last[number] = what


def test_a_ledger_without_reservations_admits_everybody() -> None:
    task = TaskFacts("a", True, MS, MS, FULL, FULL)
    ledger = overload_policy_named("op-edf").open([task, task])
    assert all(ledger.admit(ReservedJob(index, 0, MS, MS, FULL, index)) for index in (0, 1))
