"""HSV_CC: the algorithm HVLB_CC starts from."""

from __future__ import annotations

from headway.schedule.static.algorithm import AlphaChoice, FixedAlpha, StaticResult
from headway.schedule.static.hvlb_cc import ValueScheduler
from headway.schedule.static.instance import Instance
from headway.schedule.static.ranks import Order, Ranks, by_priority, priorities_a


class HsvCc(ValueScheduler):
    """Priority hrank · outd; value EFT · LDET. The same as HVLB_CC (A) at α = 0."""

    name = "hsv-cc"
    summary = "value EFT · LDET, queue by hrank · outd; no load balance"
    paper = "Xie, Li, Li, J. Parallel Distrib. Comput. 83 (2015) 1-12; HVLB_CC section 3.1"
    uses_alpha = False

    def order(self, instance: Instance, ranks: Ranks) -> Order:
        return by_priority(priorities_a(ranks))

    def run(self, instance: Instance, alpha: AlphaChoice) -> StaticResult:
        return super().run(instance, FixedAlpha(0))
