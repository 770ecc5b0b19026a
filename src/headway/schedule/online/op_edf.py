"""OP-EDF, operator path earliest deadline first (Li et al.; ROP-EDF section 3)."""

from __future__ import annotations

from collections.abc import Sequence

from headway.schedule.online.reservation import Ledger, ReservationPolicy, TaskFacts


class OperatorPathEdf(ReservationPolicy):
    """Plain EDF: nothing is rejected or dropped, and late jobs run to their end."""

    name = "op-edf"
    summary = "earliest deadline first over operator paths; nothing is rejected"
    paper = "ROP-EDF, section 3 (Li et al.)"
    guarded = False
    features = (True, False, True, False)
    end_to_end = True

    def open(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> Ledger:
        return Ledger(tasks, overhead)
