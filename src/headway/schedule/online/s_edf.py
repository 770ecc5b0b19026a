"""S-EDF: earliest deadline first over operator trains (S-EDF section 5.4) and over single operators
(primitive S-EDF, section 5.3).
"""

from __future__ import annotations

from headway.schedule.online.policy import KeyBase, KeyFunction, KeyRule, Policy, UnitFacts


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

    def key_rule(self, unit: UnitFacts) -> KeyRule:
        return KeyRule(KeyBase.TIMESTAMP, unit.deadline)


class PrimitiveStreamEdf(StreamEdf):
    """Always runs the (tuple, operator) with the earliest absolute deadline."""

    name = "s-edf-primitive"
    summary = "earliest deadline first over single operators"
    paper = "S-EDF, section 5.3"
    fuse = False
    preemptive = False
