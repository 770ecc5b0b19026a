"""ROP-EDF: capacity for hard tasks apart from that of soft ones (ROP-EDF section 4).

The paper returns a reservation when its job completes, and enforces budgets only while the peaks of
the jobs *present* exceed 1 − α. Neither is safe. A soft job that completes early makes room for
another whose deadline comes before that of a waiting hard job, so that both run ahead of it: more
than 1 − C_SUMH of soft work in front of one hard deadline. ``docs/overload.md`` has the example. So
here a reservation ends at the completion *and not before the deadline*, and budgets hold whenever
the peaks of all tasks exceed 1 − α. Then the densities U = C/D of the jobs between release and
deadline never sum to more than 1, and theorem 1 follows for every arrival pattern. The paper's
letter (``early``), under which hard tasks can miss, is kept as ``rop-edf-1-paper`` and
``rop-edf-2-paper``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import ClassVar

from headway.model.taskset import FULL
from headway.schedule.online.reservation import (
    Ledger,
    ReservationPolicy,
    ReservedJob,
    SoftRule,
    TaskFacts,
)

# ---------------------------------------------------------------- the books (algorithms 1 and 2)


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
    def share(self, job: ReservedJob) -> int | None:
        """What a soft job reserves; none: it may not be released now."""

    def admit(self, job: ReservedJob) -> bool:
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

    def budget(self, job: ReservedJob) -> int:
        return job.window * job.held // FULL

    def on_complete(self, job: ReservedJob, now: int) -> ReservedJob | None:
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

    def share(self, job: ReservedJob) -> int:
        return job.utilisation

    def missed(self, job: ReservedJob, late: bool) -> None:
        self._ended[job.task] += 1
        self._misses[job.task] += late

    def turn(self, job: ReservedJob) -> float:
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

    def share(self, job: ReservedJob) -> int | None:
        return None if self._busy[job.task] else self._shares[job.task]

    def admit(self, job: ReservedJob) -> bool:
        admitted = super().admit(job)
        self._busy[job.task] |= admitted
        return admitted

    def on_complete(self, job: ReservedJob, now: int) -> ReservedJob | None:
        self._busy[job.task] = False
        return super().on_complete(job, now)


# ---------------------------------------------------------------- the books for streams
# Each tuple is a job, and several of a task are on their way. C_SUMH stays reserved for good: it
# holds all tuples of the hard paths at their declared rates, so a hard tuple is admitted as it is.
# Its budget is its declared work. How many soft tuples come is not known before, so budgets always
# hold.


class TupleCapacity(SplitCapacity):
    """Hard tuples within a capacity that is never given back."""

    def __init__(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> None:
        super().__init__(tasks, overhead)
        self.overloaded = True

    def admit(self, job: ReservedJob) -> bool:
        if self.tasks[job.task].hard:
            job.budget = job.left
            return True
        return super().admit(job)

    def on_complete(self, job: ReservedJob, now: int) -> ReservedJob | None:
        return None if self.tasks[job.task].hard else super().on_complete(job, now)


class WholeTuples(TupleCapacity, WholeJobs):
    """Policy 1: a soft tuple reserves its own utilisation."""


class SharesOfTuples(TupleCapacity, Shares):
    """Policy 2: the share ω of a task is divided among its tuples between release and deadline.

    A tuple holds its utilisation, or what is left of ω if that is less: then it goes on as time is
    left. One that finds nothing left is rejected. With one tuple at a time this is the paper's
    rule, but that a tuple holds no more than it asks for."""

    def __init__(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> None:
        super().__init__(tasks, overhead)
        room = max(0, self.soft_capacity - overhead)
        self.unused = [share * room // max(1, self.soft_capacity) for share in self._shares]
        """what is left of each task's share"""

    def share(self, job: ReservedJob) -> int | None:
        return min(job.utilisation, self.unused[job.task]) or None

    def admit(self, job: ReservedJob) -> bool:
        admitted = super().admit(job)
        self.unused[job.task] -= job.held
        return admitted

    def give_back(self, task: int, held: int) -> None:
        super().give_back(task, held)
        self.unused[task] += held


# ---------------------------------------------------------------- the policies


class ReservedEdf1(ReservationPolicy):
    """ROP-EDF with admission policy 1."""

    name = "rop-edf-1"
    summary = "capacity reserved for hard tasks; soft jobs run in full or are rejected"
    paper = "ROP-EDF, section 4, algorithms 1 and 3"
    features = (True, True, True, True)
    soft_rule: ClassVar[SoftRule | None] = SoftRule.WHOLE_JOBS
    end_to_end = True
    early: ClassVar[bool] = False

    def open(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> WholeJobs:
        return WholeJobs(tasks, overhead, early=self.early)

    def open_for_tuples(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> WholeTuples:
        return WholeTuples(tasks, overhead)


class ReservedEdf2(ReservationPolicy):
    """ROP-EDF with admission policy 2."""

    name = "rop-edf-2"
    summary = "capacity reserved for hard tasks; soft tasks get shares of the rest"
    paper = "ROP-EDF, section 4, algorithms 2 and 3"
    features = (True, True, True, True)
    soft_rule: ClassVar[SoftRule | None] = SoftRule.SHARES
    early: ClassVar[bool] = False

    def open(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> Shares:
        return Shares(tasks, overhead, early=self.early)

    def open_for_tuples(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> SharesOfTuples:
        return SharesOfTuples(tasks, overhead)


class PrintedReservedEdf1(ReservedEdf1):
    name = "rop-edf-1-paper"
    summary = "policy 1 to the letter: reservations end with their job, hard tasks can miss"
    soft_rule = None
    end_to_end = False
    in_engine = False
    early = True


class PrintedReservedEdf2(ReservedEdf2):
    name = "rop-edf-2-paper"
    summary = "policy 2 to the letter: reservations end with their job, hard tasks can miss"
    soft_rule = None
    in_engine = False
    early = True
