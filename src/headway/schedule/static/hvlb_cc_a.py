"""HVLB_CC (A)."""

from __future__ import annotations

from headway.schedule.static.hvlb import ValueScheduler
from headway.schedule.static.instance import Instance
from headway.schedule.static.orders import Order, by_priority, priorities_a
from headway.schedule.static.ranks import Ranks


class HvlbCcA(ValueScheduler):
    """Priority hrank · outd (equation 8); value EFT · LDET · BP (equation 18).

    Fails where a task has so many more successors than a predecessor of its that the product
    outweighs the difference in hrank."""

    name = "hvlb-cc-a"
    summary = "load balance over α, queue by hrank · outd"
    paper = "HVLB_CC, section 4, equations 8 and 18"

    def order(self, instance: Instance, ranks: Ranks) -> Order:
        return by_priority(priorities_a(ranks))
