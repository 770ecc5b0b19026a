"""Task sets on one processor in virtual time: releases, the run itself, what came of it.

The processor is fully preemptive: jobs by earliest deadline within their budgets. It is algorithm 3
of the paper without its step by time units: between two releases nothing can happen but that a job
completes or has used its budget, so the kernel jumps from one to the next. The work is O(log n) a
job. At one instant completions come first, then releases in order of deadline.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import heappop, heappush, heapreplace
from typing import NamedTuple

import numpy as np

from headway.model.taskset import FULL, OverloadTask, TaskSet, check_hard_load
from headway.schedule.online.reservation import (
    WAITING,
    JobState,
    Ledger,
    ReservationPolicy,
    ReservedJob,
    TaskFacts,
    Used,
)

# ---------------------------------------------------------------- what came of it


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """Counts of the jobs whose deadline lies within the trial."""

    name: str
    hard: bool
    jobs: int
    rejected: int
    late: int
    """admitted but not finished in time"""

    @property
    def misses(self) -> int:
        return self.rejected + self.late

    @property
    def miss_ratio(self) -> float:
        """DMR (equation 4)"""
        return self.misses / self.jobs if self.jobs else 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a trial gave."""

    tasks: tuple[TaskOutcome, ...]
    busy: int
    """time that the processor worked (ns)"""

    @property
    def hard_misses(self) -> int:
        return sum(task.misses for task in self.tasks if task.hard)


class Happening(StrEnum):
    RELEASED = "released"
    REJECTED = "rejected"
    OVERRUN = "overrun"
    REPLENISHED = "replenished"
    COMPLETED = "completed"
    MISSED = "missed"


class Run(NamedTuple):
    """A job on the processor; ``spare``: it had overrun and nothing was ready."""

    task: int
    number: int
    start: int
    end: int
    spare: bool


@dataclass(slots=True)
class TrialRecord:
    """Runs in order of time, each as long as the job was not interrupted, and happenings."""

    runs: list[Run] = field(default_factory=list)
    events: list[tuple[Happening, int, int, int]] = field(default_factory=list)
    """(what, time, task, job number)"""

    def ran(self, task: int, number: int, start: int, end: int, spare: bool) -> None:
        if self.runs:
            last = self.runs[-1]
            if (last.number, last.end, last.spare) == (number, start, spare):
                self.runs[-1] = last._replace(end=end)
                return
        self.runs.append(Run(task, number, start, end, spare))

    def add(self, what: Happening, time: int, task: int, number: int) -> None:
        self.events.append((what, time, task, number))


# ------------------------- releases: drawn before the run, so that every policy meets the same ones


Release = tuple[int, int, int, int, int]
"""(release time, absolute deadline, task, execution time, utilisation)"""


def draw_releases(
    task_set: TaskSet, duration: int, random: np.random.Generator
) -> list[Release]:  # fmt: skip
    """All releases before ``duration`` (ns), in order of admission: by time, then by deadline, then
    by place in the set, hard tasks first."""
    drawn: list[Release] = []
    for index, task in enumerate(task_set.tasks):
        times = _times(task, duration, random)
        for time, use in zip(times, task.utilisation.draw(len(times), random), strict=True):
            execution = max(1, task.deadline * use // FULL)
            drawn.append((time, time + task.deadline, index, execution, use))
    return in_order(task_set.tasks, drawn)


def in_order(tasks: Sequence[OverloadTask], releases: list[Release]) -> list[Release]:
    """Releases as admission takes them."""
    return sorted(releases, key=release_order(tasks))


def release_order(tasks: Sequence[OverloadTask]) -> Callable[[Release], tuple[int, ...]]:
    """The key of :func:`in_order`."""
    soft = [not task.hard for task in tasks]
    return lambda one: (one[0], one[1], soft[one[2]], one[2])


def _times(task: OverloadTask, duration: int, random: np.random.Generator) -> list[int]:
    """Periodic tasks begin at 0 (section 2.3); sporadic ones at any time within their first gap."""
    if not task.sporadic:
        return list(range(0, duration, task.period))
    first = int(random.integers(0, task.period))
    if task.mean_gap is None or task.mean_gap == task.period:
        return list(range(first, duration, task.period))
    times, more = [first], task.mean_gap - task.period
    most = duration // task.period + 1
    for extra in random.exponential(more, most):
        times.append(times[-1] + task.period + int(extra))
        if times[-1] >= duration:
            break
    return [time for time in times if time < duration]


# ---------------------------------------------------------------- the run


Entry = tuple[int, int, int, ReservedJob]


def facts_of(tasks: Sequence[OverloadTask]) -> list[TaskFacts]:
    return [
        TaskFacts(task.name, task.hard, task.period, task.deadline, task.average, task.peak)
        for task in tasks
    ]


def simulate(
    task_set: TaskSet,
    releases: Sequence[Release],
    policy: ReservationPolicy,
    duration: int,
    record: TrialRecord | None = None,
) -> Outcome:
    """Runs the releases (see :func:`in_order`) until ``duration``; TaskSetError when the policy
    reserves and the hard tasks do not fit."""
    if policy.guarded:
        check_hard_load(task_set)
    ledger = policy.open(facts_of(task_set.tasks), task_set.overhead)
    trial = _Trial(task_set.tasks, ledger, duration, record)
    busy = trial.run(releases)
    return Outcome(tuple(trial.counted(releases)), busy)


class _Trial:
    def __init__(
        self,
        tasks: Sequence[OverloadTask],
        ledger: Ledger,
        duration: int,
        record: TrialRecord | None,
    ) -> None:
        self._tasks = tasks
        self._ledger = ledger
        self._duration = duration
        self._record = record
        order = sorted(range(len(tasks)), key=lambda task: (not tasks[task].hard, task))
        self._rank = [order.index(task) for task in range(len(tasks))]
        self._ready: list[Entry] = []
        self._overrun: list[Entry] = []
        self._met = [0] * len(tasks)
        self._rejected = [0] * len(tasks)

    def counted(self, releases: Sequence[Release]) -> list[TaskOutcome]:
        jobs = [0] * len(self._tasks)
        for release in releases:
            jobs[release[2]] += release[1] <= self._duration
        return [
            TaskOutcome(task.name, task.hard, count, rejected, count - rejected - met)
            for task, count, rejected, met in zip(
                self._tasks, jobs, self._rejected, self._met, strict=True
            )
        ]

    def run(self, releases: Sequence[Release]) -> int:
        ready, overrun, ledger, record = self._ready, self._overrun, self._ledger, self._record
        duration = self._duration
        index, count = 0, len(releases)
        now = busy = 0
        while True:
            if index < count and releases[index][0] <= now:
                index = self._release(releases, index, now)
            until = releases[index][0] if index < count else duration
            until = min(until, duration)
            while now < until:
                if ready:
                    job = ready[0][3]
                    time = job.left
                    if job.budget < time and ledger.overloaded:
                        if job.budget > 0:
                            time = job.budget
                        elif len(ready) > 1 or not ledger.alone(job):
                            self._used(job, now)
                            continue
                    spare = False
                elif overrun:
                    job = overrun[0][3]
                    time, spare = job.left, True
                    if job.state == JobState.OVERRUN:
                        job.state = JobState.READY
                        job.budget = ledger.budget(job)
                        if record is not None:
                            record.add(Happening.REPLENISHED, now, job.task, job.number)
                else:
                    now = until
                    break
                time = min(time, until - now)
                if record is not None:
                    record.ran(job.task, job.number, now, now + time, spare)
                now += time
                busy += time
                job.left -= time
                job.budget -= time
                if not job.left:
                    heappop(overrun if spare else ready)
                    self._complete(job, now)
            if now >= duration:
                return busy

    def _release(self, releases: Sequence[Release], index: int, now: int) -> int:
        """Admission of all that is released by now; a job that ran on spare time has overrun
        again."""
        ledger, ready, record = self._ledger, self._ready, self._record
        ledger.returns_until(now)
        first = index
        while index < len(releases) and releases[index][0] <= now:
            index += 1
        jobs = [
            ReservedJob(task, release, deadline, left, use, number)
            for number, (release, deadline, task, left, use) in enumerate(
                releases[first:index], first
            )
        ]
        if ledger.fair and len(jobs) > 1:
            jobs.sort(key=lambda job: (job.deadline, ledger.turn(job)))
        for job in jobs:
            task = job.task
            if ledger.admit(job):
                job.state = JobState.READY
                if job.due != WAITING:
                    heappush(ready, (job.due, self._rank[task], job.number, job))
                if record is not None:
                    record.add(Happening.RELEASED, now, task, job.number)
                continue
            self._rejected[task] += job.deadline <= self._duration
            ledger.missed(job, True)
            if record is not None:
                record.add(Happening.REJECTED, now, task, job.number)
        if ready and self._overrun:
            self._overrun[0][3].state = JobState.OVERRUN
        return index

    def _used(self, job: ReservedJob, now: int) -> None:
        """The first of the ready jobs has used its budget."""
        ready, rank = self._ready, self._rank[job.task]
        if self._ledger.used(job) is Used.LATER:
            heapreplace(ready, (job.due, rank, job.number, job))
            return
        heappop(ready)
        job.state = JobState.OVERRUN
        heappush(self._overrun, (job.deadline, rank, job.number, job))
        if self._record is not None:
            self._record.add(Happening.OVERRUN, now, job.task, job.number)

    def _complete(self, job: ReservedJob, now: int) -> None:
        late = now > job.deadline
        job.state = JobState.DORMANT
        self._met[job.task] += not late and job.deadline <= self._duration
        if self._record is not None:
            what = Happening.MISSED if late else Happening.COMPLETED
            self._record.add(what, now, job.task, job.number)
        if self._ledger.counts:
            following = self._ledger.on_complete(job, now)
            self._ledger.missed(job, late)
            if following is not None:
                entry = (following.due, self._rank[job.task], following.number, following)
                heappush(self._ready, entry)
