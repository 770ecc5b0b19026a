"""Rate-monotonic scheduling of operator paths (Schmidt et al.; ROP-EDF table 6)."""

from __future__ import annotations

from collections.abc import Sequence

from headway.errors import InputError
from headway.schedule.online.policy import KeyBase, KeyFunction, KeyRule, UnitFacts
from headway.schedule.online.reservation import Ledger, ReservationPolicy, ReservedJob, TaskFacts


class PeriodOrder(Ledger):
    """The task with the shorter period first; on a tie the one that stands first."""

    def __init__(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> None:
        super().__init__(tasks, overhead)
        order = sorted(range(len(self.tasks)), key=lambda task: (self.tasks[task].period, task))
        self._rank = {task: rank for rank, task in enumerate(order)}

    def admit(self, job: ReservedJob) -> bool:
        job.due = self._rank[job.task]
        return True


class RateMonotonic(ReservationPolicy):
    """Fixed priorities by period. In a query the period of a train is the shortest of the sources
    before it; of one period the train with the shorter deadline goes first."""

    name = "rate-monotonic"
    summary = "the path with the shorter period first; nothing is rejected"
    paper = "ROP-EDF, table 6 (Schmidt et al.)"
    guarded = False
    features = (False, False, False, False)

    def key(self, unit: UnitFacts) -> KeyFunction:
        key = (self._period(unit), unit.deadline, unit.rank)
        return lambda timestamp, root: key

    def key_rule(self, unit: UnitFacts) -> KeyRule:
        # Deadlines of up to 13 days and 4,096 trains fit one number.
        return KeyRule(KeyBase.CONSTANT, self._period(unit), unit.deadline << 12 | unit.rank)

    def _period(self, unit: UnitFacts) -> int:
        if unit.period is None:
            raise InputError(
                "rate-monotonic needs the rate of every source",
                want="declare `rate` of each, or choose another policy",
            )
        return unit.period

    def open(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> Ledger:
        return PeriodOrder(tasks, overhead)
