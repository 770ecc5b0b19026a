"""S-EDF with operator trains (S-EDF section 5.4)."""

from __future__ import annotations

from headway.schedule.online.policy import KeyFunction, Policy, UnitFacts


class StreamEdf(Policy):
    """The train whose last operator has the earliest absolute deadline; preemption between
    operators."""

    name = "s-edf"
    summary = "earliest deadline first over operator trains, preemption between operators"
    paper = "S-EDF, section 5.4"
    fuse = True
    preemptive = True

    def key(self, unit: UnitFacts) -> KeyFunction:
        deadline = unit.deadline
        return lambda timestamp, root: timestamp + deadline
