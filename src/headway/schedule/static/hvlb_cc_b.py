"""HVLB_CC (B)."""

from __future__ import annotations

from headway.schedule.static.hvlb import ValueScheduler
from headway.schedule.static.instance import Instance
from headway.schedule.static.orders import Order, by_priority, priorities_b
from headway.schedule.static.ranks import Ranks


class HvlbCcB(ValueScheduler):
    """Priority hrank · outd / max outd · 1 / depth² (equation 9); value as (A).

    Between a predecessor at depth d and its successor at depth d + 1, (d / (d + 1))² tends to 1
    as d grows, so a larger out-degree wins in deep graphs: the queue fails when

        hrank(s) / hrank(p) > outd(p) / outd(s) · ((d + 1) / d)².

    With out-degrees up to 3 that is possible from d = 2 on (1 against 3), from d = 3 on (1
    against 2) and from d = 5 on (2 against 3); never at d = 1."""

    name = "hvlb-cc-b"
    summary = "load balance over α, queue by hrank · outd / depth²"
    paper = "HVLB_CC, section 4, equations 9 and 18"

    def order(self, instance: Instance, ranks: Ranks) -> Order:
        return by_priority(priorities_b(ranks))
