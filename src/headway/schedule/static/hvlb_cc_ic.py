"""HVLB_CC_IC: room for imprecise computation."""

from __future__ import annotations

from fractions import Fraction

from headway.schedule.static.holes import schedule_holes
from headway.schedule.static.hvlb_cc_c import HvlbCcC
from headway.schedule.static.instance import Instance
from headway.schedule.static.result import AlphaInterval


class HvlbCcIc(HvlbCcC):
    """The queue that is (B) where (B) does not fail; among schedules of the least makespan the one
    with the largest holes.

    What counts are the holes behind the imprecise tasks; behind all tasks, if none is marked."""

    name = "hvlb-cc-ic"
    summary = "as hvlb-cc-c, of equal makespans the one with the largest schedule holes"
    paper = "HVLB_CC, section 4.4, equations 19 to 21"

    def choose(self, instance: Instance, intervals: tuple[AlphaInterval, ...]) -> AlphaInterval:
        least = min(interval.makespan for interval in intervals)
        wanted = {task.name for task in instance.graph.tasks if task.imprecise}

        def room(interval: AlphaInterval) -> Fraction:
            holes = schedule_holes(instance, interval.schedule)
            return sum((holes[task] for task in wanted or holes), Fraction(0))

        return max((found for found in intervals if found.makespan == least), key=room)
