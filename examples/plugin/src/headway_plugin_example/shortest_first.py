"""Shortest remaining work first (Schrage 1968)."""

from __future__ import annotations

from headway.schedule.online.policy import RankFunction, RerankingPolicy, UnitFacts


class ShortestFirst(RerankingPolicy):
    """The train with the least declared work left, of equal ones that of the older tuple.

    Of all orders it gives the least mean latency, and it knows no deadlines: long trains starve
    under load. A job gets shorter as it runs, so once begun it only gives way to a new one that is
    shorter still.
    """

    name = "shortest-first"
    summary = "least work left first, again after each operator; knows no deadlines"
    paper = "Schrage 1968, doi:10.1287/opre.16.3.687"
    fuse = True
    preemptive = True

    def rank(self, unit: UnitFacts) -> RankFunction:
        return lambda job: (job.left, job.timestamp)
