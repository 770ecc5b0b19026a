"""Ranks of tasks and the queues made of them: hrank, depth, LDET, HPRV_CC (HVLB_CC section 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from heapq import heapify, heappop, heappush
from math import lcm

from headway.errors import GraphError, Problem
from headway.model.quantities import exact
from headway.schedule.static.algorithm import QueueFailure
from headway.schedule.static.instance import Instance


class Ranks:
    """rank(n, p) by equation 2, as given in the options, or with rounded communication times.

    Held as whole numbers: ``scale`` of them make a unit of time."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.speed = processor_speeds(instance)
        given = instance.options.ranks
        if given is None and instance.options.rank_digits is None:
            self.scale = instance.scale * lcm(*(speed.numerator for speed in self.speed))
            self.rank = self._by_equation()
            return
        rank = self._rounded() if given is None else self._given()
        denominators = (value.denominator for row in rank for value in row)
        self.scale = lcm(instance.scale, *denominators)
        self.rank = tuple(
            tuple(value.numerator * self.scale // value.denominator for value in row)
            for row in rank
        )

    def of(self, task: int, processor: int) -> Fraction:
        """rank(n, p) in the graph's unit of time."""
        return Fraction(self.rank[task][processor], self.scale)

    @cached_property
    def total(self) -> tuple[int, ...]:
        """The sum over all processors; hrank (equation 7) up to a common factor."""
        return tuple(sum(row) for row in self.rank)

    @property
    def hrank(self) -> tuple[Fraction, ...]:
        """The mean over all processors (equation 7)."""
        return tuple(Fraction(total, self.scale * len(self.speed)) for total in self.total)

    @cached_property
    def depth(self) -> tuple[int, ...]:
        """Tasks on the longest path from an entry, itself included."""
        depth = [1] * len(self.instance.tasks)
        for task in self.instance.topological:
            for successor in self.instance.successors[task]:
                depth[successor] = max(depth[successor], depth[task] + 1)
        return tuple(depth)

    @cached_property
    def out_degree(self) -> tuple[int, ...]:
        """outd(n)"""
        return tuple(len(found) for found in self.instance.successors)

    @cached_property
    def distance_to_exit(self) -> tuple[tuple[int, ...], ...]:
        """LDET = rank - comp (equation 16), up to a common factor."""
        factor = self.scale // self.instance.scale
        return tuple(
            tuple(rank - factor * comp for rank, comp in zip(ranks, comps, strict=True))
            for ranks, comps in zip(self.rank, self.instance.comp, strict=True)
        )

    def _by_equation(self) -> tuple[tuple[int, ...], ...]:
        instance = self.instance
        factor = self.scale // instance.scale
        slowness = [(speed.denominator, speed.numerator) for speed in self.speed]
        processors = range(len(slowness))
        rank = [[factor * comp for comp in row] for row in instance.comp]
        longest = [[0] * len(slowness) for _ in rank]
        for task in reversed(instance.topological):
            own = rank[task]
            for p in processors:
                own[p] += longest[task][p]
            for sender, edge in instance.predecessors[task]:
                best = longest[sender]
                for p in processors:
                    above, below = slowness[p]
                    way = own[p] + instance.volume(edge, p) * factor * above // below
                    if way > best[p]:
                        best[p] = way
        return tuple(tuple(row) for row in rank)

    def _rounded(self) -> list[list[Fraction]]:
        """Equation 2 with each communication time rounded, half to even as printed tables do."""
        instance, digits = self.instance, self.instance.options.rank_digits
        rank = [[instance.time(comp) for comp in row] for row in instance.comp]
        longest = [[Fraction(0)] * len(self.speed) for _ in rank]
        for task in reversed(instance.topological):
            for p, speed in enumerate(self.speed):
                rank[task][p] += longest[task][p]
                for sender, edge in instance.predecessors[task]:
                    time = round(instance.time(instance.volume(edge, p)) / speed, digits)
                    longest[sender][p] = max(longest[sender][p], rank[task][p] + time)
        return rank

    def _given(self) -> list[list[Fraction]]:
        table = self.instance.options.ranks or {}
        missing = [
            Problem("no rank given", at=f"ranks.{task}.{processor}")
            for task in self.instance.tasks
            for processor in self.instance.processors
            if processor not in table.get(task, {})
        ]
        if missing:
            raise GraphError(missing)
        rank = [
            [exact(table[task][processor]) for processor in self.instance.processors]
            for task in self.instance.tasks
        ]
        short = [
            Problem("a rank below the computation time", at=f"ranks.{name}", got=str(float(value)))
            for name, row, comps in zip(self.instance.tasks, rank, self.instance.comp, strict=True)
            for value, comp in zip(row, comps, strict=True)
            if value < self.instance.time(comp)
        ]
        if short:
            raise GraphError(short)
        return rank


def route_speeds(instance: Instance) -> tuple[tuple[Fraction | None, ...], ...]:
    """speed(R) from each processor to each other: over its routes the mean of their slowest links
    (equation 4); None where there is no route."""
    speeds = [Fraction(*pair) for pair in instance.speeds]
    return tuple(
        tuple(
            sum((min(speeds[link] for link in route) for route in routes), Fraction(0))
            / len(routes)
            if routes
            else None
            for routes in row
        )
        for row in instance.routes
    )


def processor_speeds(instance: Instance) -> tuple[Fraction, ...]:
    """speed(p): the mean of its route speeds over the other processors it reaches (equation 5)."""
    found = []
    for row in route_speeds(instance):
        reached = [speed for speed in row if speed is not None]
        found.append(sum(reached, Fraction(0)) / len(reached) if reached else Fraction(1))
    return tuple(found)


# ------------------------------------------------------------
# Priorities (HPRV_CC), the queues they make, and whether a queue can be worked off.


Order = tuple[int, ...]


def priorities_a(ranks: Ranks) -> tuple[Fraction, ...]:
    """HPRV_CC(n) = hrank · outd (equation 8)."""
    return tuple(h * outd for h, outd in zip(ranks.hrank, ranks.out_degree, strict=True))


def priorities_b(ranks: Ranks, depth_power: int = 2) -> tuple[Fraction, ...]:
    """HPRV_CC(n, G) = hrank · outd / max outd · 1 / depth² (equation 9)."""
    most = max(1, *ranks.out_degree) if ranks.out_degree else 1
    return tuple(
        h * outd / (most * depth**depth_power)
        for h, outd, depth in zip(ranks.hrank, ranks.out_degree, ranks.depth, strict=True)
    )


def by_priority(priorities: Sequence[Fraction]) -> Order:
    """Highest priority first; ties go to the lower task number."""
    return tuple(sorted(range(len(priorities)), key=lambda task: (-priorities[task], task)))


def ready_first(instance: Instance, priorities: Sequence[Fraction]) -> Order:
    """Always the best priority among the tasks whose predecessors are in the queue already.

    Such a queue cannot fail. Where the plain queue does not fail, it is the same one."""
    waiting = [len(found) for found in instance.predecessors]
    ready = [(-priorities[task], task) for task, count in enumerate(waiting) if count == 0]
    heapify(ready)
    order = []
    while ready:
        _, task = heappop(ready)
        order.append(task)
        for successor in instance.successors[task]:
            waiting[successor] -= 1
            if waiting[successor] == 0:
                heappush(ready, (-priorities[successor], successor))
    return tuple(order)


def failure_of(instance: Instance, order: Order) -> QueueFailure | None:
    """The first task that comes to the head before one of its predecessors is scheduled."""
    scheduled = [False] * len(order)
    for task in order:
        for predecessor, _ in instance.predecessors[task]:
            if not scheduled[predecessor]:
                names = instance.tasks
                return QueueFailure(task=names[task], predecessor=names[predecessor])
        scheduled[task] = True
    return None
