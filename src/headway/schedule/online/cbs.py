"""CBS, the constant bandwidth server (Abeni and Buttazzo; ROP-EDF table 6)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from headway.model.taskset import FULL
from headway.schedule.online.reservation import (
    UNLIMITED,
    WAITING,
    Ledger,
    ReservationPolicy,
    ReservedJob,
    TaskFacts,
    Used,
)

LEAST = FULL // 100
"""a server of less bandwidth than this runs when nothing else wants to"""


class Servers(Ledger):
    """One server for each soft task: bandwidth ω = C_S · θ / C_SUMS (at most θ), period T.

    Jobs of a server go one after another. A used up budget is filled again at once, and the
    server's deadline moves on by T."""

    counts = True
    overloaded = True
    moves = True

    def __init__(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> None:
        super().__init__(tasks, overhead)
        rest = FULL - overhead - sum(task.peak for task in self.tasks if task.hard)
        total = sum(task.average for task in self.tasks if not task.hard) or 1
        self._bandwidth = [min(task.average, rest * task.average // total) for task in self.tasks]
        self._full = [
            task.period * width // FULL
            for task, width in zip(self.tasks, self._bandwidth, strict=True)
        ]
        self._left = [0] * len(self.tasks)
        self._due = [0] * len(self.tasks)
        self._waiting: list[deque[ReservedJob]] = [deque() for _ in self.tasks]
        self._busy = [False] * len(self.tasks)

    def admit(self, job: ReservedJob) -> bool:
        task = job.task
        if self.tasks[task].hard:
            return True
        if not self._busy[task]:
            self._busy[task] = True
            if self._left[task] * FULL >= (self._due[task] - job.release) * self._bandwidth[task]:
                self._due[task] = job.release + self.tasks[task].period
                self._left[task] = self._full[task]
            self._serve(job)
        else:
            self._waiting[task].append(job)
            job.due = WAITING
        return True

    def _serve(self, job: ReservedJob) -> None:
        if self._bandwidth[job.task] < LEAST:
            job.due, job.budget = UNLIMITED, UNLIMITED
        else:
            job.due, job.budget = self._due[job.task], self._left[job.task]

    def alone(self, job: ReservedJob) -> bool:
        return False

    def used(self, job: ReservedJob) -> Used:
        task = job.task
        self._due[task] = job.due + self.tasks[task].period
        job.due = self._due[task]
        job.budget += self._full[task]  # an operator longer than a budget waits for several
        return Used.LATER

    def on_complete(self, job: ReservedJob, now: int) -> ReservedJob | None:
        task = job.task
        if self.tasks[task].hard:
            return None
        self._left[task] = job.budget
        if self._waiting[task]:
            following = self._waiting[task].popleft()
            self._serve(following)
            return following
        self._busy[task] = False
        return None


class ConstantBandwidthServer(ReservationPolicy):
    """Hard tasks by EDF, every soft one in a server of its own. It knows one deadline a task."""

    name = "cbs"
    summary = "a constant bandwidth server for each soft task; nothing is rejected"
    paper = "ROP-EDF, table 6 (Abeni and Buttazzo)"
    features = (True, True, False, True)

    def open(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> Servers:
        return Servers(tasks, overhead)
