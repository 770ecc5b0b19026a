"""The jobs of a run and their reservations: one ledger a node, told of releases and completions."""

from __future__ import annotations

from headway.model.taskset import FULL
from headway.runtime.reserving.path_tasks import PathTasks, Place
from headway.runtime.units import Unit
from headway.schedule.online.reservation import (
    UNLIMITED,
    JobState,
    Ledger,
    ReservationPolicy,
    ReservedJob,
    Used,
)

Key = tuple[int, int]
"""(0: ready, 1: overrun; deadline), as the engine orders jobs"""


class PathJob(ReservedJob):
    """A tuple on an operator path of one node."""

    __slots__ = ("ledger", "pending", "place")

    def __init__(self, ledger: Ledger, place: Place, now: int, deadline: int, left: int) -> None:
        use = -(-left * FULL // (deadline - now)) if deadline > now else FULL + 1
        super().__init__(place.task, now, deadline, left, use, 0)
        self.ledger = ledger
        self.place = place
        self.pending = 0
        """trains that still have to run for it"""


class Books:
    """What is reserved on every node, and for which tuples."""

    def __init__(self, tasks: PathTasks, policy: ReservationPolicy) -> None:
        self._tasks = tasks
        self._ledgers = {
            node: policy.open_for_tuples(facts, tasks.overheads.get(node, 0))
            for node, facts in tasks.facts.items()
        }
        self._number = 0

    def release(
        self, unit: Unit, port: str, source: str | None, deadline: int, now: int, items: int,
        cause: PathJob | None,
    ) -> PathJob | None:  # fmt: skip
        """The job of a tuple before a unit: that of the train which made it, if both are on one
        path, else a new one; none if that is not admitted. ``deadline`` is the unit's (ns);
        ``items`` counts what was gathered."""
        place = self._tasks.place(unit, source)
        if cause is not None and cause.place == place:
            cause.pending += 1
            return cause
        work = self._tasks.work(unit, port, source)
        until = deadline + work.last - unit.task.relative_deadline
        ledger = self._ledgers[place.node]
        job = PathJob(ledger, place, now, until, work.of(items))
        self._number += 1
        job.number = self._number
        if place.hard and not work.bounded:
            job.left = UNLIMITED
        ledger.returns_until(now)
        if not ledger.admit(job):
            return None
        job.state = JobState.READY
        job.pending = 1
        return job

    def ended(self, job: PathJob, now: int) -> PathJob | None:
        """A train has run; if it was the job's last, its reservation is returned. Gives a job
        that waited for this one (CBS)."""
        job.pending -= 1
        if job.pending:
            return None
        job.state = JobState.DORMANT
        following = job.ledger.on_complete(job, now)
        assert following is None or isinstance(following, PathJob)
        return following

    def hard(self, unit: Unit, source: str | None) -> bool:
        return self._tasks.place(unit, source).hard


def key_of(job: PathJob, deadline: int) -> Key:
    """How a train of a job is ordered; ``deadline`` is the train's own."""
    if job.state is JobState.OVERRUN:
        return 1, job.deadline
    return 0, job.due if job.ledger.moves else deadline


def spends(job: PathJob, time: int, *, others: bool) -> bool:
    """Before an operator that takes ``time``: whether the job has overrun now. An operator that
    the budget does not hold to its end is not begun while another job is ready."""
    ledger = job.ledger
    if job.state is JobState.OVERRUN or job.budget >= time or not ledger.overloaded:
        return False
    if not others and ledger.alone(job):
        return False
    while job.budget < time:
        if ledger.used(job) is Used.OVERRUN:
            job.state = JobState.OVERRUN
            return True
    return False
