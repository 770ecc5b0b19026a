"""Task-set trials of the ROP-EDF studies: their rows as a study keeps them and back; which policies
are the paper's letter and which are ours; an ER-EDF whose books can be read after a run (what was
left at each admission, and whether a task held two reservations then), and one in which no task
can; Chain, as far as task sets can tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import NamedTuple

from headway.model.taskset import FULL
from headway.schedule.online.er_edf import EnhancedReservationEdf, SharedCapacity
from headway.schedule.online.reservation import Ledger, ReservationPolicy, ReservedJob, TaskFacts
from headway.schedule.online.rop_edf import PrintedReservedEdf2, Shares
from headway.schedule.overload.load_trials import LoadRow
from headway_studies.provenance import changed
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


class OneShareCapacity(SharedCapacity):
    """A task has one reservation, which its newest admitted job holds: what is unfinished of an
    older one goes on with the budget it has left, then on spare time."""

    def __init__(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> None:
        super().__init__(tasks, overhead)
        self._holder: dict[int, ReservedJob] = {}

    def admit(self, job: ReservedJob) -> bool:
        older = self._holder.get(job.task)
        if older is None:
            admitted = super().admit(job)
        else:
            job.held, older.held, admitted = older.held, 0, True
            job.budget = self.budget(job)
        if admitted:
            self._holder[job.task] = job
        return admitted

    def on_complete(self, job: ReservedJob, now: int) -> ReservedJob | None:
        if self._holder.get(job.task) is job:
            del self._holder[job.task]
        return super().on_complete(job, now)


class OneShareErEdf(EnhancedReservationEdf):
    """ER-EDF read so that a task never holds two reservations."""

    name = "er-edf-one-share"

    def open(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> OneShareCapacity:
        return OneShareCapacity(tasks, overhead)


PRINTED_POLICIES = ("rop-edf-1-paper", "rop-edf-2-paper")
"""algorithms 1 to 3 to the letter: reservations return on completion"""
HELD_POLICIES = ("rop-edf-1", "rop-edf-2")
"""ours: reservations are held until the deadline"""


class PathOrder(Ledger):
    """Every job is of its path's only chain, down to nothing when it completes: the path with the
    least mean work frees most memory in a unit of time."""

    moves = True

    def __init__(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> None:
        super().__init__(tasks, overhead)
        work = [task.average * task.deadline for task in self.tasks]
        self._place = [sorted(set(work)).index(one) for one in work]

    def admit(self, job: ReservedJob) -> bool:
        job.due = self._place[job.task]
        return True


class ChainOfPaths(ReservationPolicy):
    """Chain where no more is known of an operator path than its work; that of queries, which knows
    the operators, is :class:`headway.schedule.online.chain.ChainPolicy`."""

    name = "chain"
    guarded = False

    def open(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> PathOrder:
        return PathOrder(tasks, overhead)


class PolicedShares(Shares):
    """The printed books, but for the sum that says when budgets hold: as jobs come and go it stays
    the same."""

    def _count(self, peak: int) -> None:
        pass


class PolicedEdf2(PrintedReservedEdf2):
    """Policy 2 as printed, but that budgets hold whenever the peaks of all tasks exceed 1 − α."""

    name = "rop-edf-2-policed"

    def open(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> Shares:
        books = PolicedShares(tasks, overhead, early=True)
        books.overloaded = sum(task.peak for task in tasks) + overhead > FULL
        return books


POLICED = changed(
    "budgets hold whenever the peaks of all tasks exceed 1 − α (printed: of the jobs present); "
    "reservations return on completion, as printed"
)
HELD = changed(
    "a reservation ends with its job and not before the deadline (printed: on completion), and "
    "budgets hold whenever the peaks of all tasks exceed 1 − α (printed: of the jobs present)"
)
OVERLOAD_POLICY_NAMES = {
    "op-edf": "OP-EDF",
    "er-edf": "ER-EDF",
    "er-edf-one-share": "ER-EDF, one share a task",
    "rop-edf-1-paper": "ROP-EDF, policy 1 as printed",
    "rop-edf-2-paper": "ROP-EDF, policy 2 as printed",
    "rop-edf-2-policed": "ROP-EDF, policy 2, all budgets",
    "rop-edf-1": "ROP-EDF, policy 1, held",
    "rop-edf-2": "ROP-EDF, policy 2, held",
    "cbs": "CBS",
    "rate-monotonic": "RM",
    "chain": "Chain",
    "rtstream": "RTSTREAM",
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
