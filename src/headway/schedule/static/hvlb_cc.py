"""HVLB_CC: a queue by priority, (A), (B) or (C), then selection by value over α."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import groupby
from math import inf

from headway.model.quantities import exact
from headway.schedule.static.algorithm import (
    Algorithm,
    AlphaChoice,
    AlphaInterval,
    ExactAlpha,
    FixedAlpha,
    GridAlpha,
    StaticResult,
)
from headway.schedule.static.instance import Instance
from headway.schedule.static.ranks import (
    Order,
    Ranks,
    by_priority,
    failure_of,
    priorities_a,
    priorities_b,
    ready_first,
)
from headway.schedule.static.selection import SAMPLES, Leaf, every_schedule, select_at
from headway.schedule.static.timing import MessageTiming, record


class ValueScheduler(Algorithm):
    """Algorithm 1: subclasses say what the queue is."""

    uses_alpha = True

    @abstractmethod
    def order(self, instance: Instance, ranks: Ranks) -> Order:
        """The queue; it may fail."""

    def run(self, instance: Instance, alpha: AlphaChoice) -> StaticResult:
        ranks = Ranks(instance)
        order = self.order(instance, ranks)
        names = tuple(instance.tasks[task] for task in order)
        failure = failure_of(instance, order)
        if failure is not None:
            return StaticResult(algorithm=self.name, order=names, failure=failure)
        if isinstance(alpha, ExactAlpha):
            intervals, complete = _exact(instance, ranks, order, alpha)
        else:
            intervals, complete = _sampled(instance, ranks, order, _points(alpha)), True
        return StaticResult(
            algorithm=self.name,
            order=names,
            intervals=intervals,
            best=self.choose(instance, intervals),
            complete=complete,
        )

    def choose(self, instance: Instance, intervals: tuple[AlphaInterval, ...]) -> AlphaInterval:
        """The least makespan; among equals the lowest α."""
        return min(intervals, key=lambda interval: interval.makespan)


def _exact(
    instance: Instance, ranks: Ranks, order: Order, alpha: ExactAlpha
) -> tuple[tuple[AlphaInterval, ...], bool]:
    """All schedules over α, or those of the least makespan, by rising α; and whether the walk came
    to its end. Where it did not, what a few α give may be better than all it found."""
    leaves, complete = every_schedule(
        instance,
        ranks,
        MessageTiming(instance),
        order,
        best_only=not alpha.every,
        limit=inf if alpha.limit is None else instance.ticks(exact(alpha.limit)),
        going_on=alpha.going_on,
    )
    found = [_interval(instance, order, leaf) for leaf in leaves]
    if not complete or not found:
        found += _sampled(instance, ranks, order, SAMPLES)
    if not alpha.every or not complete:
        least = min(one.makespan for one in found)
        found = [one for one in found if one.makespan == least]
    return tuple(found), complete


def _interval(instance: Instance, order: Order, leaf: Leaf) -> AlphaInterval:
    low, high = leaf.low, leaf.high
    return AlphaInterval(
        low=Fraction(*low[:2]),
        high=Fraction(*high[:2]) if high else None,
        low_closed=low[2] == 0,
        high_closed=high is not None and high[2] == 1,
        makespan=instance.time(leaf.makespan),
        build=partial(record, instance, order, leaf.where),
    )


def _sampled(
    instance: Instance, ranks: Ranks, order: Order, points: Sequence[Fraction]
) -> tuple[AlphaInterval, ...]:
    """The schedules at some α; neighbours with the same one are one interval."""
    timing = MessageTiming(instance)
    placed = ((point, select_at(instance, ranks, timing, order, point)) for point in points)
    found = []
    for (makespan, where), run in groupby(placed, key=lambda pair: pair[1]):
        same = [point for point, _ in run]
        found.append(
            AlphaInterval(
                low=same[0],
                high=same[-1],
                low_closed=True,
                high_closed=True,
                makespan=instance.time(makespan),
                build=partial(record, instance, order, where),
            )
        )
    return tuple(found)


def _points(alpha: FixedAlpha | GridAlpha) -> list[Fraction]:
    if isinstance(alpha, FixedAlpha):
        return [exact(alpha.alpha)]
    step = exact(alpha.step)
    return [step * number for number in range(int(exact(alpha.last) / step) + 1)]


class HvlbCcA(ValueScheduler):
    """Priority hrank · outd (equation 8); value EFT · LDET · BP (equation 18).

    Fails where a task has so many more successors than a predecessor of its that the product
    outweighs the difference in hrank."""

    name = "hvlb-cc-a"
    summary = "load balance over α, queue by hrank · outd"
    paper = "HVLB_CC, section 4, equations 8 and 18"

    def order(self, instance: Instance, ranks: Ranks) -> Order:
        return by_priority(priorities_a(ranks))


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


class HvlbCcC(ValueScheduler):
    """Always the best priority (B) among the tasks whose predecessors are scheduled.

    Where (B) does not fail, this is (B)."""

    name = "hvlb-cc-c"
    summary = "load balance over α, best priority (B) among the ready tasks; never fails"
    paper = "Headway; after HVLB_CC, equations 9 and 18"

    def order(self, instance: Instance, ranks: Ranks) -> Order:
        return ready_first(instance, priorities_b(ranks))
