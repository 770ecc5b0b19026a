"""The order of a static schedule, kept at run time (HVLB_CC's use: a table made at design time)."""

from __future__ import annotations

from headway.schedule.online.policy import KeyBase, KeyFunction, KeyRule, Policy, UnitFacts


class StaticSchedule(Policy):
    """Tuples in order of arrival, the operators of each as the plan's static schedule starts them.

    ``headway compile --placement hvlb-cc`` puts such an order in the plan; without one the
    topological order holds.
    """

    name = "static"
    summary = "the order of the static schedule that placed the plan"
    paper = "HVLB_CC, section 3"
    fuse = False
    preemptive = False

    def key(self, unit: UnitFacts) -> KeyFunction:
        position = unit.position
        return lambda timestamp, root: (root, position)

    def key_rule(self, unit: UnitFacts) -> KeyRule:
        return KeyRule(KeyBase.ROOT, 0, unit.position)
