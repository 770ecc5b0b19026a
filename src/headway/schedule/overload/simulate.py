"""One processor, fully preemptive, in virtual time: jobs by earliest deadline within their budgets.

Algorithm 3 of the paper without its step by time units: between two releases nothing can happen but
that a job completes or has used its budget, so the kernel jumps from one to the next. The work is
O(log n) a job. At one instant completions come first, then releases in order of deadline."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush, heapreplace

from headway.model.taskset import OverloadTask, TaskSet, check_hard_load
from headway.schedule.online.reservation import (
    WAITING,
    Job,
    Ledger,
    ReservationPolicy,
    State,
    TaskFacts,
    Used,
)
from headway.schedule.overload.outcome import Outcome, TaskOutcome
from headway.schedule.overload.record import Happening, Record
from headway.schedule.overload.releases import Release

Entry = tuple[int, int, int, Job]


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
    record: Record | None = None,
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
        self, tasks: Sequence[OverloadTask], ledger: Ledger, duration: int, record: Record | None
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
                    if job.state == State.OVERRUN:
                        job.state = State.READY
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
            Job(task, release, deadline, left, use, number)
            for number, (release, deadline, task, left, use) in enumerate(
                releases[first:index], first
            )
        ]
        if ledger.fair and len(jobs) > 1:
            jobs.sort(key=lambda job: (job.deadline, ledger.turn(job)))
        for job in jobs:
            task = job.task
            if ledger.admit(job):
                job.state = State.READY
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
            self._overrun[0][3].state = State.OVERRUN
        return index

    def _used(self, job: Job, now: int) -> None:
        """The first of the ready jobs has used its budget."""
        ready, rank = self._ready, self._rank[job.task]
        if self._ledger.used(job) is Used.LATER:
            heapreplace(ready, (job.due, rank, job.number, job))
            return
        heappop(ready)
        job.state = State.OVERRUN
        heappush(self._overrun, (job.deadline, rank, job.number, job))
        if self._record is not None:
            self._record.add(Happening.OVERRUN, now, job.task, job.number)

    def _complete(self, job: Job, now: int) -> None:
        late = now > job.deadline
        job.state = State.DORMANT
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
