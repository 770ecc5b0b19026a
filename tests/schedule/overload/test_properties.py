"""Theorem 1 and what it rests on, over random task sets; and that wrong policies are caught."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from tests.schedule.overload.support import MS, random_task_set

from headway.model.taskset import FULL, Constant, OverloadTask, TaskKind, TaskSet
from headway.schedule.online import overload_policy_named
from headway.schedule.online.er_edf import SharedCapacity
from headway.schedule.online.reservation import (
    UNLIMITED,
    Ledger,
    ReservationPolicy,
    ReservedJob,
    TaskFacts,
)
from headway.schedule.online.rop_edf import ReservedEdf1, ReservedEdf2, SplitCapacity
from headway.schedule.overload.one_processor import (
    Release,
    Run,
    TrialRecord,
    draw_releases,
    in_order,
    simulate,
)

SETS = 2_000
DURATION = 300 * MS
POLICIES = ("rop-edf-1", "rop-edf-2")


def hard_misses(policy: ReservationPolicy, sets: int = SETS, seed: int = 6) -> int:
    found = 0
    for number in range(sets):
        random = np.random.default_rng([seed, number])
        task_set = random_task_set(random)
        releases = draw_releases(task_set, DURATION, random)
        found += simulate(task_set, releases, policy, DURATION).hard_misses
    return found


@pytest.mark.parametrize("policy", [*POLICIES, "cbs"])
def test_hard_tasks_never_miss(policy: str) -> None:
    assert hard_misses(overload_policy_named(policy)) == 0


class Mutant(ReservedEdf1):
    """Hard and soft jobs reserve from one capacity."""

    def open(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> Ledger:  # type: ignore[override]
        return SharedCapacity(tasks, overhead)


class Unlimited(ReservedEdf2):
    """Budgets are not enforced."""

    def open(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> Ledger:  # type: ignore[override]
        ledger = super().open(tasks, overhead)
        ledger.overloaded = False
        return ledger


@pytest.mark.parametrize("mutant", [Mutant(), Unlimited()], ids=["shared", "no budgets"])
def test_a_wrong_policy_is_caught(mutant: ReservationPolicy) -> None:
    assert hard_misses(mutant, sets=50) > 0


@pytest.mark.parametrize("policy", ["op-edf", "er-edf", "rate-monotonic"])
def test_the_rivals_miss(policy: str) -> None:
    assert hard_misses(overload_policy_named(policy), sets=50) > 0


@pytest.mark.parametrize("policy", ["rop-edf-1-paper", "rop-edf-2-paper"])
def test_the_printed_algorithm_is_not_safe(policy: str) -> None:
    """Why reservations are held until the deadline here."""
    assert hard_misses(overload_policy_named(policy)) > 0


def test_the_smallest_counterexample_to_returning_on_completion() -> None:
    """H needs 5 of 10 ms. S1 completes at 4.95 ms, and S2 takes its place before H has run."""

    def task(name: str, kind: TaskKind, deadline: int, use: int) -> OverloadTask:
        return OverloadTask(
            name=name, kind=kind, period=20 * MS, deadline=deadline, utilisation=Constant(use)
        )

    half = FULL // 2
    tasks = (
        task("H", TaskKind.HARD, 10 * MS, half),
        task("S1", TaskKind.SOFT, 9_900_000, half),
        task("S2", TaskKind.SOFT, 5 * MS, half),
    )
    releases: list[Release] = [
        (0, 10 * MS, 0, 5 * MS, half),
        (0, 9_900_000, 1, 4_950_000, half),
        (4_950_000, 9_950_000, 2, 2_500_000, half),
    ]
    task_set = TaskSet(name="counterexample", tasks=tasks)
    ordered = in_order(tasks, releases)
    printed = simulate(task_set, ordered, overload_policy_named("rop-edf-1-paper"), 20 * MS)
    held = simulate(task_set, ordered, overload_policy_named("rop-edf-1"), 20 * MS)
    assert [one.misses for one in printed.tasks] == [1, 0, 0]
    assert [one.misses for one in held.tasks] == [0, 0, 1]


def test_under_policy_1_the_only_misses_are_rejections() -> None:
    for number in range(300):
        random = np.random.default_rng([1, number])
        task_set = random_task_set(random)
        releases = draw_releases(task_set, DURATION, random)
        outcome = simulate(task_set, releases, ReservedEdf1(), DURATION)
        assert [task.late for task in outcome.tasks] == [0] * len(task_set.tasks)


class Books:
    """Keeps books of its own beside a ledger's."""

    def __init__(self, ledger: SplitCapacity) -> None:
        self.ledger = ledger
        self.held: dict[int, tuple[bool, int, int]] = {}
        self.done: list[tuple[int, int]] = []
        self.hard, self.soft = ledger.hard_left, ledger.soft_left
        self.looks = 0
        admit, complete, returns = ledger.admit, ledger.on_complete, ledger.returns_until

        def admitting(job: ReservedJob) -> bool:
            admitted = admit(job)
            if admitted:
                self.held[job.number] = (ledger.tasks[job.task].hard, job.held, job.deadline)
            self.check(job.release)
            return admitted

        def completing(job: ReservedJob, now: int) -> ReservedJob | None:
            following = complete(job, now)
            hard, held, deadline = self.held.pop(job.number)
            if not hard and deadline > now:
                self.done.append((deadline, held))
            self.check(now)
            return following

        def returning(now: int) -> None:
            returns(now)
            self.done = [one for one in self.done if one[0] > now]

        ledger.admit, ledger.on_complete = admitting, completing  # type: ignore[method-assign]
        ledger.returns_until = returning  # type: ignore[method-assign]

    def check(self, now: int) -> None:
        self.looks += 1
        hard = sum(held for is_hard, held, _ in self.held.values() if is_hard)
        soft = sum(held for is_hard, held, _ in self.held.values() if not is_hard)
        soft += sum(held for _, held in self.done)
        assert self.ledger.hard_left == self.hard - hard >= 0
        assert self.ledger.soft_left == self.soft - soft >= (self.ledger.overhead if soft else 0)


@pytest.mark.parametrize("policy", [ReservedEdf1, ReservedEdf2])
def test_reservations_sum_to_what_is_admitted_at_every_instant(
    policy: type[ReservedEdf1 | ReservedEdf2],
) -> None:
    for number in range(100):
        random = np.random.default_rng([2, number])
        task_set = random_task_set(random)
        releases = draw_releases(task_set, DURATION, random)
        books: list[Books] = []

        class Watched(policy):  # type: ignore[misc,valid-type]
            def open(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> SplitCapacity:
                ledger: SplitCapacity = super().open(tasks, overhead)
                books.append(Books(ledger))  # noqa: B023
                return ledger

        simulate(task_set, releases, Watched(), DURATION)
        assert books[0].looks > len(releases) // 2


def budgets_kept(runs: Sequence[Run], budgets: dict[int, int], ready: dict[int, int]) -> bool:
    """A job beyond its budget ran only in spare time, or alone: nothing else became ready."""
    used: dict[int, int] = {}
    for run in runs:
        if run.spare:
            continue
        over = used.get(run.number, 0) + run.end - run.start - budgets[run.number]
        used[run.number] = used.get(run.number, 0) + run.end - run.start
        if over > 0:
            beyond = max(run.start, run.end - over)
            if any(
                beyond < time < run.end for number, time in ready.items() if budgets.get(number)
            ):
                return False
    return True


@pytest.mark.parametrize("policy", POLICIES)
def test_no_budget_is_exceeded_in_overload_while_another_job_is_ready(policy: str) -> None:
    checked = 0
    for number in range(150):
        random = np.random.default_rng([3, number])
        task_set = random_task_set(random)
        if sum(task.peak for task in task_set.tasks) + task_set.overhead <= FULL:
            continue
        releases = draw_releases(task_set, DURATION, random)
        budgets: dict[int, int] = {}
        chosen = overload_policy_named(policy)
        opened = chosen.open

        def opening(
            tasks: Sequence[TaskFacts],
            overhead: int = 0,
            opened: object = opened,
            budgets: dict[int, int] = budgets,
        ) -> Ledger:
            ledger: Ledger = opened(tasks, overhead)  # type: ignore[operator]
            admit = ledger.admit

            def noting(job: ReservedJob) -> bool:
                admitted = admit(job)
                if admitted:
                    assert job.budget < UNLIMITED
                    budgets[job.number] = job.budget
                return admitted

            ledger.admit = noting  # type: ignore[method-assign]
            return ledger

        chosen.open = opening  # type: ignore[method-assign]
        record = TrialRecord()
        simulate(task_set, releases, chosen, DURATION, record)
        times = {index: release[0] for index, release in enumerate(releases)}
        assert budgets_kept(record.runs, budgets, times)
        checked += 1
    assert checked > 100


def test_the_budget_checker_fails_on_a_wrong_trial() -> None:
    assert not budgets_kept([Run(0, 0, 0, 10, False)], {0: 4, 1: 5}, {0: 0, 1: 6})
    assert budgets_kept([Run(0, 0, 0, 10, False)], {0: 4, 1: 5}, {0: 0, 1: 10})
