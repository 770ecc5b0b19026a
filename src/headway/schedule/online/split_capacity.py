"""The books of ROP-EDF: capacity for hard tasks apart from that of soft ones (algorithms 1 and 2).

The paper returns a reservation when its job completes, and enforces budgets only while the peaks
of the jobs *present* exceed 1 − α. Neither is safe. A soft job that completes early makes room for
another whose deadline comes before that of a waiting hard job, so that both run ahead of it: more
than 1 − C_SUMH of soft work in front of one hard deadline. ``docs/overload.md`` has the example.
So here a reservation ends at the completion *and not before the deadline*, and budgets hold
whenever the peaks of all tasks exceed 1 − α. Then the densities U = C/D of the jobs between release
and deadline never sum to more than 1, and theorem 1 follows for every arrival pattern.
``early`` is the paper's letter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from heapq import heappop, heappush

from headway.model.taskset import FULL
from headway.schedule.online.reservation import Job, Ledger, TaskFacts


class SplitCapacity(Ledger, ABC):
    """Algorithms 1 and 2 for hard tasks; subclasses say what soft jobs reserve."""

    counts = True

    def __init__(
        self, tasks: Sequence[TaskFacts], overhead: int = 0, *, early: bool = False
    ) -> None:
        """``early``: return on completion and look at the jobs present, as printed."""
        super().__init__(tasks, overhead)
        self.hard_left = sum(task.peak for task in self.tasks if task.hard)
        """C_SUMH"""
        self.soft_capacity = self.soft_left = FULL - self.hard_left
        """C_S at the beginning, and now"""
        self._peaks = 0 if early else sum(task.peak for task in self.tasks)
        """PC_SUMRT"""
        self._early = early
        self.overloaded = self._peaks + overhead > FULL
        self._returns: list[tuple[int, int, int]] = []
        """(deadline, what is held until then, task)"""

    @abstractmethod
    def share(self, job: Job) -> int | None:
        """What a soft job reserves; none: it may not be released now."""

    def admit(self, job: Job) -> bool:
        task = self.tasks[job.task]
        if task.hard:
            if task.peak > self.hard_left:
                return False
            self.hard_left -= task.peak
            job.held = task.peak
        else:
            share = self.share(job)
            if share is None or self.soft_left - share < self.overhead:
                return False
            self.soft_left -= share
            job.held = share
        job.budget = self.budget(job)
        if self._early:
            self._count(task.peak)
        return True

    def budget(self, job: Job) -> int:
        return job.window * job.held // FULL

    def on_complete(self, job: Job, now: int) -> Job | None:
        task = self.tasks[job.task]
        if self._early:
            self._count(-task.peak)
        if task.hard:
            self.hard_left += job.held
        elif self._early or job.deadline <= now:
            self.give_back(job.task, job.held)
        else:
            heappush(self._returns, (job.deadline, job.held, job.task))
        job.held = 0
        return None

    def returns_until(self, now: int) -> None:
        returns = self._returns
        while returns and returns[0][0] <= now:
            _, held, task = heappop(returns)
            self.give_back(task, held)

    def give_back(self, task: int, held: int) -> None:
        """A soft reservation has ended."""
        self.soft_left += held

    @property
    def outstanding(self) -> int:
        """Reservations of jobs that have completed before their deadline."""
        return sum(held for _, held, _ in self._returns)

    def _count(self, peak: int) -> None:
        self._peaks += peak
        self.overloaded = self._peaks + self.overhead > FULL


class WholeJobs(SplitCapacity):
    """Policy 1: a soft job reserves its own utilisation U, so it runs in full or not at all."""

    fair = True

    def __init__(
        self, tasks: Sequence[TaskFacts], overhead: int = 0, *, early: bool = False
    ) -> None:
        super().__init__(tasks, overhead, early=early)
        self._ended = [0] * len(self.tasks)
        self._misses = [0] * len(self.tasks)

    def share(self, job: Job) -> int:
        return job.utilisation

    def missed(self, job: Job, late: bool) -> None:
        self._ended[job.task] += 1
        self._misses[job.task] += late

    def turn(self, job: Job) -> float:
        """The higher miss ratio so far first; hard tasks before all."""
        if self.tasks[job.task].hard:
            return -2.0
        ended = self._ended[job.task]
        return -self._misses[job.task] / ended if ended else 0.0


class Shares(SplitCapacity):
    """Policy 2: ω = C_S · θ / C_SUMS for one job of a task at a time, the rest as time is left."""

    def __init__(
        self, tasks: Sequence[TaskFacts], overhead: int = 0, *, early: bool = False
    ) -> None:
        super().__init__(tasks, overhead, early=early)
        total = sum(task.average for task in self.tasks if not task.hard) or 1
        self._shares = [self.soft_capacity * task.average // total for task in self.tasks]
        self._busy = [False] * len(self.tasks)

    def share(self, job: Job) -> int | None:
        return None if self._busy[job.task] else self._shares[job.task]

    def admit(self, job: Job) -> bool:
        admitted = super().admit(job)
        self._busy[job.task] |= admitted
        return admitted

    def on_complete(self, job: Job, now: int) -> Job | None:
        self._busy[job.task] = False
        return super().on_complete(job, now)
