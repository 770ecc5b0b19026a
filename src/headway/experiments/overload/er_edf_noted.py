"""ER-EDF whose books can be read after a run: what was left at each admission, and whether a task
held two reservations then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from headway.schedule.online.er_edf import EnhancedReservationEdf, SharedCapacity
from headway.schedule.online.reservation import ReservedJob, TaskFacts


class Admission(NamedTuple):
    """One release."""

    release: int
    hard: bool
    left: int
    """capacity before it, in millionths"""
    admitted: bool
    doubled: bool
    """a task held two reservations: an unfinished job had outlived its period"""


class NotingCapacity(SharedCapacity):
    """The shared capacity, with notes."""

    def __init__(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> None:
        super().__init__(tasks, overhead)
        self.notes: list[Admission] = []
        self._holding: Counter[int] = Counter()

    def admit(self, job: ReservedJob) -> bool:
        left, doubled = self.capacity, any(count > 1 for count in self._holding.values())
        admitted = super().admit(job)
        self._holding[job.task] += admitted
        hard = self.tasks[job.task].hard
        self.notes.append(Admission(job.release, hard, left, admitted, doubled))
        return admitted

    def on_complete(self, job: ReservedJob, now: int) -> ReservedJob | None:
        self._holding[job.task] -= 1
        return super().on_complete(job, now)


class NotedErEdf(EnhancedReservationEdf):
    """ER-EDF as it is."""

    notes: Sequence[Admission] = ()
    """of the last run"""

    def open(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> NotingCapacity:
        books = NotingCapacity(tasks, overhead)
        self.notes = books.notes
        return books
