"""The processor selection phase (HVLB_CC section 4.2), at one value of α and over all of them.

Each task of the queue goes to the processor, and its messages to the routes, of least value

    EFT · LDET · BP,   BP = 1 + (sum of comp on the processor) / period · α

and exits to that of least EFT. Equal values go to the lower processor number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import inf
from typing import NamedTuple

from headway.schedule.static.algorithm import always
from headway.schedule.static.instance import Instance
from headway.schedule.static.ranks import Order, Ranks
from headway.schedule.static.timing import Links, MessageTiming, Sent

Placed = tuple[int, tuple[int, ...]]
"""(makespan in ticks, processor of every task)"""


def select_at(
    instance: Instance, ranks: Ranks, timing: MessageTiming, order: Order, alpha: Fraction
) -> Placed:
    """One pass of the inner loop of algorithm 1."""
    weight, unit = alpha.numerator, alpha.denominator * instance.period
    candidate = weight if instance.options.balance_counts_candidate else 0
    distance = ranks.distance_to_exit
    comps, allowed, release = instance.comp, instance.allowed, instance.release
    successors, sent = instance.successors, timing.sent
    arrive, after = timing.arrive, timing.after
    count = len(instance.tasks)
    finish, where = [0] * count, [0] * count
    available = [0] * len(instance.processors)
    balance = [unit] * len(instance.processors)  # BP, up to a common factor
    links = timing.idle
    for task in order:
        messages = sent(task, finish, where)
        comp, far, inner = comps[task], distance[task], successors[task]
        best = best_finish = best_processor = -1
        for p in allowed[task]:
            arrival = arrive(messages, p, links)
            if arrival < available[p]:
                arrival = available[p]
            if arrival < release[task]:
                arrival = release[task]
            end = arrival + comp[p]
            value = end * far[p] * (balance[p] + candidate * comp[p]) if inner else end
            if value < best or best < 0:
                best, best_finish, best_processor = value, end, p
        links = after(messages, best_processor, links)
        finish[task] = available[best_processor] = best_finish
        where[task] = best_processor
        balance[best_processor] += weight * comp[best_processor]
    return max(finish), tuple(where)


# ------------------------------------------------------------
# Ranges of α and the lower envelope of linear functions over them.
#
# An end of a range is a *cut*: ``(n, d, 0)`` lies just below α = n/d and ``(n, d, 1)`` just above.
# A range runs from one cut to the next; so it holds its lower end if that is below it and its upper
# end if that is above it. Exactly where two values are equal the lower processor number wins.


Cut = tuple[int, int, int]
"""(numerator and denominator of α, not reduced; 0: below, 1: above)"""
START: Cut = (0, 1, 0)


class Line(NamedTuple):
    """The value of a processor, intercept + slope · α, and the task's finish there."""

    intercept: int
    slope: int
    processor: int
    finish: int


class Piece(NamedTuple):
    """Where a line is the least; ``high`` None: without end."""

    low: Cut
    high: Cut | None
    line: Line


def envelope(lines: list[Line], low: Cut, high: Cut | None) -> list[Piece]:
    """Which line is the least where, between two cuts."""
    pieces = []
    while True:
        line = least_behind(lines, low)
        end = high
        intercept, slope, processor, _ = line
        for other in lines:
            if other.slope < slope:
                above = 0 if other.processor < processor else 1
                cut = (other.intercept - intercept, slope - other.slope, above)
                if comes_before(low, cut) and (end is None or comes_before(cut, end)):
                    end = cut
        pieces.append(Piece(low, end, line))
        if end is high or end is None:
            return pieces
        low = end


def comes_before(one: Cut, other: Cut) -> bool:
    """Whether a cut is the lower of two different ones."""
    here, there = one[0] * other[1], other[0] * one[1]
    return here < there or (here == there and one[2] < other[2])


def least_behind(lines: list[Line], cut: Cut) -> Line:
    """The least line just behind a cut."""
    n, d, above = cut
    if above:
        return min(lines, key=lambda x: (x.intercept * d + x.slope * n, x.slope, x.processor))
    return min(lines, key=lambda x: (x.intercept * d + x.slope * n, x.processor))


# ------------------------------------------------------------
# Every distinct schedule over α >= 0, for a fixed queue.
#
# At each decision the value of a processor is a linear function of α, with intercept EFT · LDET
# and slope EFT · LDET · load / period. The least of them, over α, is a lower envelope: it cuts the
# range of α into pieces with one processor each. The walk follows one piece down the queue and
# comes back for the others, so that schedules share the work on the tasks they place alike. No two
# of the ranges it ends with have the same schedule: with each task on the same processor, all
# decisions of both lie in the same pieces, and those are without gaps.


SURE = 1 + 1e-9
"""Values further apart than this factor compare in floating point as they do exactly."""

SAMPLES = tuple(Fraction(number) for number in ("0", "1/4", "1/2", "1", "2", "4", "8", "20"))
"""α at which a first bound is sought when only the best schedules are wanted."""


class Leaf(NamedTuple):
    """A schedule and the cuts between which it is the answer; ``high`` None: without end."""

    low: Cut
    high: Cut | None
    makespan: int
    where: tuple[int, ...]


class _Branch(NamedTuple):
    """A range of α still to be followed from a position in the queue on, the line to take there,
    and what processors and links are like."""

    low: Cut
    high: Cut | None
    position: int
    line: Line | None
    available: list[int]
    load: list[int]
    links: Links


def every_schedule(
    instance: Instance,
    ranks: Ranks,
    timing: MessageTiming,
    order: Order,
    *,
    best_only: bool = False,
    limit: float = inf,
    going_on: Callable[[], bool] = always,
) -> tuple[list[Leaf], bool]:
    """All schedules over α >= 0 by rising α; and False where ``going_on`` ended the walk.

    With ``best_only`` those that cannot have the least makespan, or are longer than ``limit``, are
    given up on the way; all that have the least are returned, and perhaps others."""
    walk = _Walk(instance, ranks, timing, order)
    if best_only:
        sampled = (select_at(instance, ranks, timing, order, a)[0] for a in SAMPLES)
        walk.limit = min(limit, *sampled)
    leaves: list[Leaf] = []
    while walk.branches:
        if not going_on():
            return leaves, False
        leaf = walk.follow(walk.branches.pop())
        if leaf is not None:
            leaves.append(leaf)
            if best_only:
                walk.limit = min(walk.limit, leaf.makespan)
    return leaves, True


class _Walk:
    """The state of the walk. ``finish`` and ``where`` of the tasks before a branch's position are
    still those of the branch when it is taken up: all that was done since lies behind it."""

    def __init__(
        self, instance: Instance, ranks: Ranks, timing: MessageTiming, order: Order
    ) -> None:
        self.instance, self.timing, self.order = instance, timing, order
        self.distance = ranks.distance_to_exit
        self.about = [[distance / ranks.scale for distance in row] for row in self.distance]
        self.finish = [0] * len(instance.tasks)
        self.where = [0] * len(instance.tasks)
        self.limit: float = inf
        self.tail = _tails(instance)
        self.left = _work_left(instance, order)
        idle = [0] * len(instance.processors)
        self.branches = [_Branch(START, None, 0, None, idle, idle, timing.idle)]

    def follow(self, branch: _Branch) -> Leaf | None:
        """Goes down the queue at the low end of a branch; what lies above goes on the pile."""
        low, high, position, line, available, load, links = branch
        finish, where, tail, limit = self.finish, self.where, self.tail, self.limit
        sent, after, comps = self.timing.sent, self.timing.after, self.instance.comp
        available, load = available[:], load[:]
        ends = self._ends(low, high)
        for index in range(position, len(self.order)):
            task = self.order[index]
            messages = sent(task, finish, where)
            if line is not None:
                p, end, line = line.processor, line.finish, None
            else:
                p, end = self._plain_choice(task, messages, available, load, links, ends)
                if p < 0:
                    lines = self._lines(task, messages, available, load, links)
                    first, *others = envelope(lines, low, high)
                    for piece in reversed(others):
                        state = available[:], load[:], links
                        self.branches.append(_Branch(*piece[:2], index, piece.line, *state))
                    high, p, end = first.high, first.line.processor, first.line.finish
                    ends = self._ends(low, high)
            if end + tail[task] > limit:
                return None
            links = after(messages, p, links)
            finish[task] = available[p] = end
            where[task] = p
            load[p] += comps[task][p]
            if limit < inf and self.left[index + 1] > _room(available, limit):
                return None
        return Leaf(low, high, max(finish), tuple(where))

    def _plain_choice(
        self,
        task: int,
        messages: Sequence[Sent],
        available: list[int],
        load: list[int],
        links: Links,
        ends: tuple[float, float, float],
    ) -> tuple[int, int]:
        """(processor, finish) where one line is plainly the least at both ends of the range, and
        so in between; (-1, 0) where that takes exact numbers to tell."""
        instance, arrive = self.instance, self.timing.arrive
        comp, release, far = instance.comp[task], instance.release[task], self.about[task]
        inner = instance.successors[task]
        counts = instance.options.balance_counts_candidate
        at_low, one, at_high = ends
        best = best_high = second = second_high = inf
        chosen = chosen_high = finish = -1
        for p in instance.allowed[task]:
            end = arrive(messages, p, links)
            if end < available[p]:
                end = available[p]
            if end < release:
                end = release
            end += comp[p]
            if inner:
                busy = load[p] + comp[p] if counts else load[p]
                weight = end * far[p]
                value = weight + weight * busy * at_low
                value_high = weight * one + weight * busy * at_high
            else:
                value = value_high = float(end)
            if value < best:
                best, second, chosen, finish = value, best, p, end
            elif value < second:
                second = value
            if value_high < best_high:
                best_high, second_high, chosen_high = value_high, best_high, p
            elif value_high < second_high:
                second_high = value_high
        if chosen == chosen_high and best * SURE < second and best_high * SURE < second_high:
            return chosen, finish
        return -1, 0

    def _lines(
        self,
        task: int,
        messages: Sequence[Sent],
        available: list[int],
        load: list[int],
        links: Links,
    ) -> list[Line]:
        """The value of every processor for a task, exactly."""
        instance = self.instance
        lines = []
        for p in instance.allowed[task]:
            comp = instance.comp[task][p]
            arrival = self.timing.arrive(messages, p, links)
            end = max(arrival, available[p], instance.release[task]) + comp
            if instance.successors[task]:
                busy = load[p] + comp if instance.options.balance_counts_candidate else load[p]
                weight = end * self.distance[task][p]
                lines.append(Line(weight * instance.period, weight * busy, p, end))
            else:
                lines.append(Line(end, 0, p, end))
        return lines

    def _ends(self, low: Cut, high: Cut | None) -> tuple[float, float, float]:
        """α / period at the low end; at the high end the factors of 1 and of the load in BP, which
        without an end is as good as its slope."""
        period = self.instance.period
        at_low = low[0] / (low[1] * period)
        return (at_low, 0.0, 1.0) if high is None else (at_low, 1.0, high[0] / (high[1] * period))


def _room(available: list[int], limit: float) -> float:
    """How much work processors can still do up to a limit; nothing goes before what they have."""
    return sum(limit - free for free in available if free < limit)


def _work_left(instance: Instance, order: Order) -> list[int]:
    """The least work of the tasks from each position in the queue on."""
    left = [0] * (len(order) + 1)
    for index in range(len(order) - 1, -1, -1):
        task = order[index]
        quickest = min(instance.comp[task][p] for p in instance.allowed[task])
        left[index] = left[index + 1] + quickest
    return left


def _tails(instance: Instance) -> list[int]:
    """The least time from each task's finish to the end: the longest path behind it, every task
    where it is quickest."""
    tail = [0] * len(instance.tasks)
    for task in reversed(instance.topological):
        tail[task] = max(
            (
                tail[successor]
                + min(instance.comp[successor][p] for p in instance.allowed[successor])
                for successor in instance.successors[task]
            ),
            default=0,
        )
    return tail
