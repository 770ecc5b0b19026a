"""The books of ROP-EDF for streams: each tuple is a job, and several of a task are on their way.

C_SUMH stays reserved for good: it holds all tuples of the hard paths at their declared rates, so a
hard tuple is admitted as it is. Its budget is its declared work. How many soft tuples come is not
known before, so budgets always hold."""

from __future__ import annotations

from collections.abc import Sequence

from headway.schedule.online.reservation import Job, TaskFacts
from headway.schedule.online.split_capacity import Shares, SplitCapacity, WholeJobs


class TupleCapacity(SplitCapacity):
    """Hard tuples within a capacity that is never given back."""

    def __init__(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> None:
        super().__init__(tasks, overhead)
        self.overloaded = True

    def admit(self, job: Job) -> bool:
        if self.tasks[job.task].hard:
            job.budget = job.left
            return True
        return super().admit(job)

    def on_complete(self, job: Job, now: int) -> Job | None:
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
        self._unused = [share * room // max(1, self.soft_capacity) for share in self._shares]

    def share(self, job: Job) -> int | None:
        return min(job.utilisation, self._unused[job.task]) or None

    def admit(self, job: Job) -> bool:
        admitted = super().admit(job)
        self._unused[job.task] -= job.held
        return admitted

    def give_back(self, task: int, held: int) -> None:
        super().give_back(task, held)
        self._unused[task] += held
