"""HVLB_CC with a queue that cannot fail."""

from __future__ import annotations

from headway.schedule.static.hvlb import ValueScheduler
from headway.schedule.static.instance import Instance
from headway.schedule.static.orders import Order, priorities_b, ready_first
from headway.schedule.static.ranks import Ranks


class HvlbCcC(ValueScheduler):
    """Always the best priority (B) among the tasks whose predecessors are scheduled.

    Where (B) does not fail, this is (B)."""

    name = "hvlb-cc-c"
    summary = "load balance over α, best priority (B) among the ready tasks; never fails"
    paper = "Headway; after HVLB_CC, equations 9 and 18"

    def order(self, instance: Instance, ranks: Ranks) -> Order:
        return ready_first(instance, priorities_b(ranks))
