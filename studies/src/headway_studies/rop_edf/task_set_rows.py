"""Task-set trials of the ROP-EDF studies: their rows as a study keeps them and back, and an ER-EDF
whose books can be read after a run: what was left at each admission, and whether a task held two
reservations then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import NamedTuple

from headway.schedule.online.er_edf import EnhancedReservationEdf, SharedCapacity
from headway.schedule.online.reservation import ReservedJob, TaskFacts
from headway.schedule.overload.load_trials import LoadRow
from headway_studies.row_reading import flag, number, text, whole
from headway_studies.study import Row


class NotedAdmission(NamedTuple):
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
        self.notes: list[NotedAdmission] = []
        self._holding: Counter[int] = Counter()

    def admit(self, job: ReservedJob) -> bool:
        left, doubled = self.capacity, any(count > 1 for count in self._holding.values())
        admitted = super().admit(job)
        self._holding[job.task] += admitted
        hard = self.tasks[job.task].hard
        self.notes.append(NotedAdmission(job.release, hard, left, admitted, doubled))
        return admitted

    def on_complete(self, job: ReservedJob, now: int) -> ReservedJob | None:
        self._holding[job.task] -= 1
        return super().on_complete(job, now)


class NotedErEdf(EnhancedReservationEdf):
    """ER-EDF as it is."""

    notes: Sequence[NotedAdmission] = ()
    """of the last run"""

    def open(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> NotingCapacity:
        books = NotingCapacity(tasks, overhead)
        self.notes = books.notes
        return books


OVERLOAD_POLICY_NAMES = {
    "op-edf": "OP-EDF",
    "er-edf": "ER-EDF",
    "rop-edf-1": "ROP-EDF, policy 1",
    "rop-edf-2": "ROP-EDF, policy 2",
    "cbs": "CBS",
    "rate-monotonic": "RM",
}


def kept(rows: Iterable[LoadRow]) -> list[Row]:
    return [asdict(row) for row in rows]


def trials(rows: Iterable[Row]) -> list[LoadRow]:
    """The rows of a study as :mod:`headway.schedule.overload.load_trials` has them."""
    return [
        LoadRow(
            load=whole(row, "load"),
            trial=whole(row, "trial"),
            policy=text(row, "policy"),
            task=text(row, "task"),
            hard=flag(row, "hard"),
            jobs=whole(row, "jobs"),
            rejected=whole(row, "rejected"),
            late=whole(row, "late"),
            miss_ratio=number(row, "miss_ratio"),
        )
        for row in rows
    ]
