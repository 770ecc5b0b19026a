"""List scheduling as HEFT and CPOP do it: mean costs, and tasks inserted into gaps.

Gaps are used on processors only; messages are timed by the shared core, with contention or
without. A processor's gaps are found by bisection among its stretches without one."""

from __future__ import annotations

from bisect import bisect_right
from enum import StrEnum
from fractions import Fraction
from math import lcm

from headway.schedule.static.instance import Instance
from headway.schedule.static.timing import MessageTiming


class Mean(StrEnum):
    """What the mean communication time of a message is."""

    RATE = "rate"
    """volume / mean rate over all pairs of processors, as the HEFT paper defines it"""
    TIME_WITH_SELF = "time-with-self"
    """mean time over all unordered pairs, each processor with itself (no time) among them, as SAGA
    computes it"""


class MeanCosts:
    """Mean computation times and communication times, and the ranks made of them: whole numbers,
    ``unit`` of them a tick."""

    def __init__(self, instance: Instance, mean: Mean = Mean.RATE) -> None:
        self.instance = instance
        slowness, count = _slowness(instance, mean), len(instance.processors)
        self.unit = lcm(*map(len, instance.allowed), count * slowness.denominator)
        self.comp = [
            sum(row[p] for p in allowed) * self.unit // len(allowed)
            for row, allowed in zip(instance.comp, instance.allowed, strict=True)
        ]
        factor = self.unit * slowness.numerator // (count * slowness.denominator)
        self.comm = [
            sum(instance.volume(edge, p) for p in range(count)) * factor
            for edge in range(len(instance.graph.edges))
        ]
        """c̄ of every message"""

    def upward(self) -> list[int]:
        """rank_u: the longest way from the task's start to an exit."""
        rank = list(self.comp)
        longest = [0] * len(rank)
        for task in reversed(self.instance.topological):
            rank[task] += longest[task]
            for sender, edge in self.instance.predecessors[task]:
                longest[sender] = max(longest[sender], rank[task] + self.comm[edge])
        return rank

    def downward(self) -> list[int]:
        """rank_d: the longest way from an entry to the task's start."""
        rank = [0] * len(self.comp)
        for task in self.instance.topological:
            for sender, edge in self.instance.predecessors[task]:
                way = rank[sender] + self.comp[sender] + self.comm[edge]
                rank[task] = max(rank[task], way)
        return rank


class Inserting:
    """A schedule in the making. ``order``, ``where`` and ``starts`` are what it comes to."""

    def __init__(self, instance: Instance) -> None:
        self.instance, self.timing = instance, MessageTiming(instance)
        self.order: list[int] = []
        self.where = [0] * len(instance.tasks)
        self.starts = [0] * len(instance.tasks)
        self._finish = [0] * len(instance.tasks)
        self._busy: list[tuple[list[int], list[int]]] = [([], []) for _ in instance.processors]
        """of every processor where its stretches without a gap start, and where they end"""
        self._links = self.timing.idle

    def place(self, task: int, processors: tuple[int, ...]) -> None:
        """Puts a task where it finishes first; ties go to the lower processor number."""
        messages = self.timing.sent(task, self._finish, self.where)
        best: tuple[int, int, int] | None = None
        for p in processors:
            ready = max(self.timing.arrive(messages, p, self._links), self.instance.release[task])
            comp = self.instance.comp[task][p]
            start = self._first_gap(p, ready, comp)
            if best is None or start + comp < best[0]:
                best = start + comp, p, start
        assert best is not None  # a task may run somewhere
        self._finish[task], self.where[task], self.starts[task] = best
        self._links = self.timing.after(messages, best[1], self._links)
        self._occupy(best[1], best[2], best[0])
        self.order.append(task)

    @property
    def makespan(self) -> int:
        return max(self._finish)

    def _first_gap(self, processor: int, ready: int, comp: int) -> int:
        """The earliest start from ``ready`` on at which the processor is idle for long enough."""
        starts, ends = self._busy[processor]
        for stretch in range(bisect_right(ends, ready), len(starts)):
            if ready + comp <= starts[stretch]:
                break
            ready = max(ready, ends[stretch])
        return ready

    def _occupy(self, processor: int, start: int, finish: int) -> None:
        """Fills a gap, or a part of it; what then touches is one stretch."""
        starts, ends = self._busy[processor]
        behind = bisect_right(ends, start)
        if behind < len(starts) and starts[behind] == finish:
            starts[behind] = start
        else:
            starts.insert(behind, start)
            ends.insert(behind, finish)
        if behind and ends[behind - 1] == start:
            del ends[behind - 1], starts[behind]


def _slowness(instance: Instance, mean: Mean) -> Fraction:
    """Mean time of a unit of volume, every message taking its quickest route."""
    speeds = [Fraction(*pair) for pair in instance.speeds]
    best = [
        max(min(speeds[link] for link in route) for route in routes)
        for row in instance.routes
        for routes in row
        if routes
    ]
    if not best:
        return Fraction(0)
    if mean is Mean.RATE:
        return len(best) / sum(best, Fraction(0))
    unordered = Fraction(len(best), 2) + len(instance.processors)
    return sum((1 / speed for speed in best), Fraction(0)) / 2 / unordered
