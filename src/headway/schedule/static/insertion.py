"""List scheduling as HEFT and CPOP do it: mean costs, and tasks inserted into gaps.

Gaps are used on processors only; messages are timed by the shared core, with contention or
without."""

from __future__ import annotations

from bisect import insort
from enum import StrEnum
from fractions import Fraction

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
    """Mean computation times and communication times, and the ranks made of them."""

    def __init__(self, instance: Instance, mean: Mean = Mean.RATE) -> None:
        self.instance = instance
        self.comp = [
            Fraction(sum(row[p] for p in allowed), len(allowed))
            for row, allowed in zip(instance.comp, instance.allowed, strict=True)
        ]
        self._slowness = _slowness(instance, mean)

    def comm(self, edge: int) -> Fraction:
        """c̄ of a message, in ticks."""
        count = len(self.instance.processors)
        volume = Fraction(sum(self.instance.volume(edge, p) for p in range(count)), count)
        return volume * self._slowness

    def upward(self) -> list[Fraction]:
        """rank_u: the longest way from the task's start to an exit."""
        rank = list(self.comp)
        longest = [Fraction(0)] * len(rank)
        for task in reversed(self.instance.topological):
            rank[task] += longest[task]
            for sender, edge in self.instance.predecessors[task]:
                longest[sender] = max(longest[sender], rank[task] + self.comm(edge))
        return rank

    def downward(self) -> list[Fraction]:
        """rank_d: the longest way from an entry to the task's start."""
        rank = [Fraction(0)] * len(self.comp)
        for task in self.instance.topological:
            for sender, edge in self.instance.predecessors[task]:
                way = rank[sender] + self.comp[sender] + self.comm(edge)
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
        self._busy: list[list[tuple[int, int]]] = [[] for _ in instance.processors]
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
        insort(self._busy[best[1]], (best[2], best[0]))
        self.order.append(task)

    @property
    def makespan(self) -> int:
        return max(self._finish)

    def _first_gap(self, processor: int, ready: int, comp: int) -> int:
        """The earliest start from ``ready`` on at which the processor is idle for long enough."""
        start = ready
        for busy_from, busy_until in self._busy[processor]:
            if start + comp <= busy_from:
                break
            start = max(start, busy_until)
        return start


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
