"""PCS, path capacity strategy (S-EDF section 6.1.2, after Jiang and Chakravarthy)."""

from __future__ import annotations

from headway.schedule.online.policy import KeyFunction, Policy, UnitFacts


class PathCapacity(Policy):
    """The operator path with the largest processing capacity first; its tuples in order of arrival.

    Branches of one tuple advance side by side, level by level: o1 o2 o5 o3 o6 o4 in the paper's
    figure 8."""

    name = "pcs"
    summary = "the operator path that consumes most tuples per unit of time first"
    paper = "S-EDF, section 6.1.2"
    fuse = False
    preemptive = False

    def key(self, unit: UnitFacts) -> KeyFunction:
        slowness, level, rank = -unit.capacity, unit.level, unit.rank
        return lambda timestamp, root: (slowness, root, level, rank)
