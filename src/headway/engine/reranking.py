"""Ranks of jobs under a policy whose keys change as jobs run or wait.

A job is ranked when it is released and after each of its operators; where the policy ranks
``while_waiting``, all waiting jobs are ranked again before the most urgent one is looked at
(:class:`~headway.schedule.online.policy.RerankingPolicy`). :class:`Reranking` stands over the run,
by either clock.
"""

from __future__ import annotations

from heapq import heapify

from headway.engine.jobs import GatheredBatch, ReadyJob, Stepping
from headway.engine.overseer import OverseenTime
from headway.engine.trace import EventKind
from headway.model.quantities import MICROSECOND
from headway.model.user_operator import Row
from headway.schedule.online.policy import JobFacts, Key, RerankingPolicy


class JobRanks:
    """The ranks of the jobs of a run: how far each has come, and what its key is by now."""

    def __init__(self, policy: RerankingPolicy) -> None:
        self.while_waiting = policy.while_waiting
        self._done: dict[int, int] = {}
        """job -> time of its operators that have run; those not in it have not begun"""

    def spent(self, job: ReadyJob, time: int) -> None:
        """An operator of the job has taken its time."""
        self._done[job.number] = self._done.get(job.number, 0) + time

    def ended(self, job: ReadyJob) -> None:
        """The job is done."""
        self._done.pop(job.number, None)

    def of(self, job: ReadyJob, now: int) -> Key:
        """The key of a job before its next operator."""
        rank = job.unit.rank
        assert rank is not None
        done = self._done.get(job.number, 0)
        return rank(JobFacts(job.row[0] * MICROSECOND, job.root, now, done, _left(job, done)))

    def again(self, ready: list[ReadyJob], now: int) -> None:
        """Ranks all waiting jobs, in the heap that they wait in, if the policy wants that."""
        if self.while_waiting:
            ready[:] = [job._replace(key=self.of(job, now)) for job in ready]
            heapify(ready)


def _left(job: ReadyJob, done: int) -> int:
    """The time of the operators still to run; of several results that of the one under way. What
    was gathered is known when its job is released, and so is what its head still needs."""
    unit, progress = job.unit, job.progress
    operator, time = 0, unit.costs[0]
    if isinstance(progress, Stepping):
        operator, time = progress.operator, progress.cost
    if operator == 0 and isinstance(job.work, GatheredBatch):
        time = unit.base_cost + job.work.items * unit.item_cost - done
    return time + unit.cost - unit.spent[operator + 1]


class Reranking:
    """Stands over a run (:class:`~headway.engine.overseer.Overseer`)."""

    def __init__(self, time: OverseenTime, policy: RerankingPolicy) -> None:
        self._kernel = time.kernel
        self._preemptive = policy.preemptive
        self._ranks = JobRanks(policy)
        self._ranked: dict[int, Key] = {}
        """job -> its key since its last operator, which no waiting changes"""
        self._ran: set[int] = set()
        """jobs that have run an operator and were not ranked since"""
        time.overseen(self)

    def lets_in(self, source: str, row: Row, root: int, late: bool) -> bool:
        """Every tuple enters."""
        return True

    def admit(self, job: ReadyJob) -> ReadyJob:
        return job._replace(key=self._ranks.of(job, self._kernel.now))

    def before_choice(self, ready: list[ReadyJob]) -> None:
        self._ranks.again(ready, self._kernel.now)

    def key_now(self, ready: list[ReadyJob], job: ReadyJob) -> Key:
        if not self._preemptive or not ready:
            return job.key  # nobody could go before it
        if self._ranks.while_waiting:
            self._ranks.again(ready, self._kernel.now)
            return self._ranks.of(job, self._kernel.now)
        if job.number in self._ran:
            self._ran.remove(job.number)
            self._ranked[job.number] = self._ranks.of(job, self._kernel.now)
        return self._ranked.get(job.number, job.key)

    def goes_on(self, job: ReadyJob) -> None:
        """It is the most urgent one still."""

    def resumed(self, job: ReadyJob) -> EventKind:
        return EventKind.RESUME

    def works(self, job: ReadyJob) -> None:
        """What it gives out is ranked for itself."""

    def worked(self, job: ReadyJob, declared: int, taken: int) -> None:
        """Ranks go by declared times, whatever was measured."""
        self._ranks.spent(job, declared)
        self._ran.add(job.number)

    def ended(self, job: ReadyJob) -> None:
        self._ranks.ended(job)
        self._ranked.pop(job.number, None)
        self._ran.discard(job.number)

    def not_yet(self) -> tuple[ReadyJob, ...]:
        return ()
