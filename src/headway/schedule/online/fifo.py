"""FIFO+ (S-EDF section 6.1.2)."""

from __future__ import annotations

from headway.schedule.online.policy import KeyBase, KeyFunction, KeyRule, Policy, UnitFacts


class FifoPlus(Policy):
    """Tuples in order of arrival, each to its end; at a branch the path to the shorter deadline
    first."""

    name = "fifo+"
    summary = "tuples in order of arrival, the branch to the shorter deadline first"
    paper = "S-EDF, section 6.1.2"
    fuse = False
    preemptive = False

    def key(self, unit: UnitFacts) -> KeyFunction:
        rank = unit.rank
        return lambda timestamp, root: (root, rank)

    def key_rule(self, unit: UnitFacts) -> KeyRule:
        return KeyRule(KeyBase.ROOT, 0, unit.rank)
