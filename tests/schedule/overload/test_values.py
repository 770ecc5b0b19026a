"""Counts and ratios of overload trials, worked out by hand, at their boundaries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from headway.errors import InputError
from headway.model.quantities import MILLISECOND
from headway.model.taskset import FULL, OverloadTask, Range, TaskKind, TaskSet
from headway.schedule.online import overload_policy_named
from headway.schedule.online.reservation import TaskFacts
from headway.schedule.online.rop_edf import ReservedEdf1, WholeJobs
from headway.schedule.overload.admission_over_nodes import NodePath, Stage
from headway.schedule.overload.load_trials import (
    LoadRow,
    check_end_to_end_policies,
    draw_path_jobs,
    end_to_end_policies,
    load_cells,
    run_load_trial,
    run_path_trial,
    run_path_trials,
)
from headway.schedule.overload.one_processor import (
    Happening,
    Release,
    TaskOutcome,
    TrialRecord,
    simulate,
)

MS = MILLISECOND


def test_a_miss_is_rejected_or_late() -> None:
    task = TaskOutcome(name="t", hard=True, jobs=12, rejected=1, late=2)
    assert task.misses == 3
    assert task.miss_ratio == 0.25
    assert TaskOutcome(name="t", hard=True, jobs=0, rejected=0, late=0).miss_ratio == 0.0


def one_task(peak: int = FULL) -> TaskSet:
    task = OverloadTask(
        name="t",
        kind=TaskKind.HARD,
        period=10 * MS,
        deadline=10 * MS,
        utilisation=Range(1, peak, peak),
    )
    return TaskSet(name="one", tasks=(task,))


def release(at: int, deadline: int, execution: int) -> Release:
    return (at, deadline, 0, execution, execution * FULL // (deadline - at))


@pytest.mark.parametrize(("execution", "late"), [(10 * MS, 0), (10 * MS + 1, 1)])
def test_completion_exactly_at_the_deadline(execution: int, late: int) -> None:
    record = TrialRecord()
    found = simulate(
        one_task(),
        [release(0, 10 * MS, execution)],
        overload_policy_named("op-edf"),
        20 * MS,
        record,
    )
    (task,) = found.tasks
    assert (task.jobs, task.rejected, task.late) == (1, 0, late)
    last = Happening.MISSED if late else Happening.COMPLETED
    assert record.events[-1][:2] == (last, execution)
    assert found.hard_misses == late


@pytest.mark.parametrize(("duration", "jobs"), [(10 * MS, 1), (10 * MS - 1, 0)])
def test_a_job_counts_when_its_deadline_lies_within_the_trial(duration: int, jobs: int) -> None:
    """It is late either way; beyond the trial nobody asks."""
    late = release(0, 10 * MS, 11 * MS)
    found = simulate(one_task(), [late], overload_policy_named("op-edf"), duration)
    (task,) = found.tasks
    assert (task.jobs, task.late) == (jobs, jobs)


@pytest.mark.parametrize(
    ("policy", "order"),
    [
        ("rate-monotonic", [1, 0]),  # the shorter period first, though its deadline is later
        ("op-edf", [0, 1]),
    ],
)
def test_whose_job_runs_first(policy: str, order: list[int]) -> None:
    """Nothing is rejected under either, though there is more than one can do."""
    tasks = tuple(
        OverloadTask(
            name=f"t{period}",
            kind=TaskKind.SOFT,
            period=period * MS,
            deadline=deadline * MS,
            utilisation=Range(1, FULL, FULL),
        )
        for period, deadline in ((20, 8), (10, 10))
    )
    record = TrialRecord()
    releases = [(0, 8 * MS, 0, 6 * MS, 750_000), (0, 10 * MS, 1, 6 * MS, 600_000)]
    found = simulate(
        TaskSet(name="two", tasks=tasks), releases, overload_policy_named(policy), 50 * MS, record
    )
    assert [run.task for run in record.runs] == order
    assert [(task.jobs, task.rejected) for task in found.tasks] == [(1, 0), (1, 0)]
    assert sum(task.late for task in found.tasks) == 1
    assert found.busy == 12 * MS


def test_rows_of_a_trial() -> None:
    """A task of 50 % alone misses nothing; one of 150 % with itself misses what its counts say."""
    rows = list(
        run_load_trial(
            one_task(FULL // 2),
            load=50,
            trial=3,
            policies=["op-edf"],
            duration=100 * MS,
            seed=1,
        )
    )
    assert [(row.load, row.trial, row.policy, row.task, row.hard) for row in rows] == [
        (50, 3, "op-edf", "t", True)
    ]
    assert rows[0].jobs > 5
    assert (rows[0].rejected, rows[0].late, rows[0].miss_ratio) == (0, 0, 0.0)


def row(trial: int, jobs: int, rejected: int, miss_ratio: float) -> LoadRow:
    return LoadRow(
        load=120,
        trial=trial,
        policy="cbs",
        task="t",
        hard=False,
        jobs=jobs,
        rejected=rejected,
        late=0,
        miss_ratio=miss_ratio,
    )


def test_a_cell_is_the_mean_over_its_trials() -> None:
    (cell,) = load_cells([row(0, 4, 1, 0.25), row(1, 8, 6, 0.75)])
    assert (cell.load, cell.policy, cell.task, cell.hard) == (120, "cbs", "t", False)
    assert (cell.mean, cell.least, cell.most) == (0.5, 0.25, 0.75)
    assert cell.deviation == pytest.approx(0.125**0.5)  # of two values: |a - b| / sqrt(2)
    assert cell.rejected == (1 / 4 + 6 / 8) / 2
    (alone,) = load_cells([row(0, 0, 0, 0.5)])
    assert (alone.mean, alone.deviation, alone.rejected) == (0.5, 0.0, 0.0)


def path(peak: int, gap: int = 20 * MS) -> NodePath:
    stage = Stage(node="n", window=10 * MS, peak=peak)
    return NodePath(name="p", kind=TaskKind.SOFT, gap=gap, stages=(stage,))


def test_jobs_of_a_path_that_are_late() -> None:
    """Of two jobs of 60 % of one window, released at once, the second ends at 12 of 10 ms."""
    both = [(0, 0), (0, 0)]
    found = run_path_trial([path(600_000)], both, "op-edf", 10 * MS)
    assert (found.jobs, found.rejected, found.late) == ([2], [0], [1])
    # their deadline at the very end of the trial still counts, one after it does not
    found = run_path_trial([path(600_000)], both, "op-edf", 10 * MS - 1)
    assert (found.jobs, found.rejected, found.late) == ([0], [0], [0])
    # 50 % twice is exactly all there is
    found = run_path_trial([path(500_000)], both, "op-edf", 10 * MS)
    assert (found.jobs, found.late) == ([2], [0])


def test_a_rejected_job_of_a_path_is_told_on_its_first_node() -> None:
    """60 % of the window is taken until 10 ms: the second job is turned down, a third at 10 is not.
    The counts leave out what is due after the trial."""
    stages = (
        Stage(node="n", window=10 * MS, peak=600_000, latency=MS),
        Stage(node="m", window=5 * MS, peak=100_000),
    )
    two = NodePath(name="p", kind=TaskKind.SOFT, gap=20 * MS, stages=stages)
    assert two.deadline == 16 * MS
    assert [one[1:] for one in two.windows(MS)] == [(MS, 11 * MS), (12 * MS, 17 * MS)]
    found = run_path_trial([two], [(0, 0), (0, 0), (10 * MS, 0)], "rop-edf-1", 16 * MS)
    assert (found.jobs, found.rejected, found.late) == ([2], [1], [0])
    told = {
        node: [event[1:] for event in trial.record.events if event[0] is Happening.REJECTED]
        for node, trial in found.nodes.items()
    }
    assert told == {"n": [(0, 0, 2)], "m": []}  # numbered after those that run there


def test_the_miss_ratio_of_paths() -> None:
    rows = run_path_trials(
        lambda load: [path(load * 10_000, gap=10 * MS if load > 100 else 20 * MS)],
        loads=[60, 130],
        trials=1,
        policies=["op-edf"],
        duration=100 * MS,
    )
    assert [row.load for row in rows] == [60, 130]
    for one in rows:
        assert one.jobs >= 4
        assert one.miss_ratio == (one.rejected + one.late) / one.jobs
    assert rows[0].miss_ratio == 0.0
    assert rows[1].late == rows[1].jobs


def test_who_admits_end_to_end() -> None:
    assert end_to_end_policies() == ["rop-edf-1", "op-edf"]  # those that guard first
    check_end_to_end_policies(["op-edf", "rop-edf"])
    with pytest.raises(
        InputError, match="'er-edf' does not admit end to end; one of rop-edf-1, op"
    ):
        check_end_to_end_policies(["op-edf", "er-edf"])


def soft_task(name: str, average: int, peak: int = FULL, period: int = 10 * MS) -> OverloadTask:
    return OverloadTask(
        name=name,
        kind=TaskKind.SOFT,
        period=period,
        deadline=period,
        utilisation=Range(1, peak, average),
    )


def test_a_job_alone_goes_on_beyond_its_budget() -> None:
    """Two soft tasks of 50 %: under ER-EDF each has 5 of 10 ms. A job of 8 ms alone is not cut, as
    one of all the time there is would be, or one beside another."""
    tasks = TaskSet(name="two", tasks=(soft_task("a", 500_000), soft_task("b", 500_000)))

    def told(*releases: Release) -> list[tuple[Happening, int, int]]:
        record = TrialRecord()
        policy = overload_policy_named("er-edf")
        simulate(tasks, list(releases), policy, 20 * MS, record)
        return [event[:3] for event in record.events if event[0] is not Happening.RELEASED]

    long = (0, 10 * MS, 0, 8 * MS, 800_000)
    assert told(long) == [(Happening.COMPLETED, 8 * MS, 0)]
    whole = (0, 10 * MS, 0, 10 * MS, FULL)
    assert told(whole)[0] == (Happening.OVERRUN, 5 * MS, 0)
    other = (0, 10 * MS, 1, 1 * MS, 100_000)
    assert told(long, other)[0] == (Happening.OVERRUN, 5 * MS, 0)
    unseen = simulate(tasks, [whole], overload_policy_named("er-edf"), 20 * MS)
    assert (unseen.busy, unseen.tasks[0].late) == (10 * MS, 0)


def test_jobs_of_a_server_go_one_after_another() -> None:
    """The second job of `a` waits for the first, and `b` goes between them: its server is due
    before that of `a` is again."""
    tasks = TaskSet(
        name="two", tasks=(soft_task("a", 500_000), soft_task("b", 500_000, period=11 * MS))
    )
    record = TrialRecord()
    releases = [
        (0, 10 * MS, 0, 4 * MS, 400_000),
        (0, 10 * MS, 0, 4 * MS, 400_000),
        (0, 11 * MS, 1, 2 * MS, 181_818),
    ]
    simulate(tasks, releases, overload_policy_named("cbs"), 40 * MS, record)
    assert (record.runs[0].task, record.runs[0].number) == (0, 0)
    assert sum(run.end - run.start for run in record.runs) == 10 * MS
    done = [(event[2], event[3]) for event in record.events if event[0] is Happening.COMPLETED]
    assert done.index((0, 0)) < done.index((0, 1))


def test_paths_begin_at_any_time_within_their_gap() -> None:
    generator = np.random.default_rng(1)
    assert draw_path_jobs([path(1, gap=1)], 4, generator) == [(0, 0), (1, 0), (2, 0), (3, 0)]
    firsts = {draw_path_jobs([path(1, gap=3)], 3, generator)[0][0] for _ in range(40)}
    assert firsts == {0, 1, 2}
    both = draw_path_jobs([path(1, gap=2), path(1, gap=2)], 8, generator)
    assert both == sorted(both)
    assert [index for _, index in both].count(0) == [index for _, index in both].count(1) == 4


class Watched(ReservedEdf1):
    """Its books can be looked at."""

    books: WholeJobs

    def open(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> WholeJobs:
        self.books = super().open(tasks, overhead)
        return self.books


def test_the_books_are_told_how_each_job_ended() -> None:
    """Of three jobs of 60 % of one window the second is turned down, the others end in time."""
    policy = Watched()
    one = TaskSet(name="one", tasks=(soft_task("a", 600_000),))
    releases = [(at, at + 10 * MS, 0, 6 * MS, 600_000) for at in (0, 0, 10 * MS)]
    found = simulate(one, releases, policy, 40 * MS)
    assert (found.tasks[0].rejected, found.tasks[0].late) == (1, 0)
    assert (policy.books._ended, policy.books._misses) == ([3], [1])


def test_a_run_that_nobody_interrupts_is_one() -> None:
    """Another job is released meanwhile, and runs after it."""
    tasks = TaskSet(name="two", tasks=(soft_task("a", FULL), soft_task("b", FULL)))
    record = TrialRecord()
    releases = [(0, 10 * MS, 0, 4 * MS, 400_000), (MS, 11 * MS, 1, 2 * MS, 200_000)]
    simulate(tasks, releases, overload_policy_named("op-edf"), 40 * MS, record)
    assert [tuple(run) for run in record.runs] == [
        (0, 0, 0, 4 * MS, False),
        (1, 1, 4 * MS, 6 * MS, False),
    ]


def test_a_path_is_told_with_its_highest_peak() -> None:
    stages = (Stage(node="n", window=MS, peak=3), Stage(node="m", window=MS, peak=7))
    two = NodePath(name="p", kind=TaskKind.SOFT, gap=20 * MS, stages=stages)
    found = run_path_trial([two], [(0, 0)], "op-edf", 10 * MS)
    (task,) = found.nodes["n"].task_set.tasks
    assert (task.utilisation.peak, task.period, task.deadline) == (7, 20 * MS, 2 * MS)
