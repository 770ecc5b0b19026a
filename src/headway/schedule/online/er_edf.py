"""ER-EDF: reservations from one capacity that hard and soft tasks share (ROP-EDF section 3)."""

from __future__ import annotations

from collections.abc import Sequence

from headway.model.taskset import FULL
from headway.schedule.online.reservation import Ledger, ReservationPolicy, ReservedJob, TaskFacts


class SharedCapacity(Ledger):
    """A hard job asks for ψ, a soft one for θ, and is rejected when less is left of 1."""

    counts = True

    def __init__(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> None:
        super().__init__(tasks, overhead)
        self._share = [task.peak if task.hard else task.average for task in self.tasks]
        self.capacity = FULL
        # Of all tasks, not only of the admitted: in figure 5 budgets hold from time 0 on, where
        # the admitted ones have a peak of 95 % and all tasks one of 145 %.
        self.overloaded = sum(task.peak for task in self.tasks) + overhead > FULL

    def share(self, job: ReservedJob) -> int:
        """What a job asks for."""
        return self._share[job.task]

    def admit(self, job: ReservedJob) -> bool:
        share = self.share(job)
        if share > self.capacity:
            return False
        self.capacity -= share
        job.held = share
        job.budget = self.budget(job)
        return True

    def budget(self, job: ReservedJob) -> int:
        return job.window * job.held // FULL

    def on_complete(self, job: ReservedJob, now: int) -> ReservedJob | None:
        self.capacity += job.held
        job.held = 0
        return None


class SharedByTuples(SharedCapacity):
    """Of tuples, each asks for its own utilisation: declared costs are peak and average in one."""

    def __init__(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> None:
        super().__init__(tasks, overhead)
        self.overloaded = True  # how many come is not known before

    def share(self, job: ReservedJob) -> int:
        return job.utilisation


class EnhancedReservationEdf(ReservationPolicy):
    """Once more than 100 % is asked for, hard tasks can find the capacity taken by soft ones."""

    name = "er-edf"
    summary = "budgets from one capacity that hard and soft tasks share"
    paper = "ROP-EDF, section 3, table 1 and figure 5"
    features = (True, True, True, False)

    def open(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> SharedCapacity:
        return SharedCapacity(tasks, overhead)

    def open_for_tuples(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> SharedByTuples:
        return SharedByTuples(tasks, overhead)
