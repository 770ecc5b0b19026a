"""What the HVLB_CC family shares: a queue by priority, then selection by value over α."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import groupby

from headway.model.quantities import exact
from headway.schedule.static.algorithm import Algorithm
from headway.schedule.static.exact_alpha import every_schedule
from headway.schedule.static.instance import Instance
from headway.schedule.static.options import AlphaChoice, ExactAlpha, FixedAlpha, GridAlpha
from headway.schedule.static.orders import Order, failure_of
from headway.schedule.static.ranks import Ranks
from headway.schedule.static.record import record
from headway.schedule.static.result import AlphaInterval, StaticResult
from headway.schedule.static.selection import select_at
from headway.schedule.static.timing import MessageTiming


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
        intervals = tuple(_intervals(instance, ranks, order, alpha))
        best = self.choose(instance, intervals)
        return StaticResult(algorithm=self.name, order=names, intervals=intervals, best=best)

    def choose(self, instance: Instance, intervals: tuple[AlphaInterval, ...]) -> AlphaInterval:
        """The least makespan; among equals the lowest α."""
        return min(intervals, key=lambda interval: interval.makespan)


def _intervals(
    instance: Instance, ranks: Ranks, order: Order, alpha: AlphaChoice
) -> Iterator[AlphaInterval]:
    """All schedules over the α asked for, by rising α."""
    timing = MessageTiming(instance)
    if isinstance(alpha, ExactAlpha):
        for leaf in every_schedule(instance, ranks, timing, order, best_only=not alpha.every):
            low, high = leaf.low, leaf.high
            yield AlphaInterval(
                low=Fraction(*low[:2]),
                high=Fraction(*high[:2]) if high else None,
                low_closed=low[2] == 0,
                high_closed=high is not None and high[2] == 1,
                makespan=instance.time(leaf.makespan),
                build=partial(record, instance, order, leaf.where),
            )
        return
    placed = ((point, select_at(instance, ranks, timing, order, point)) for point in _points(alpha))
    for (makespan, where), run in groupby(placed, key=lambda pair: pair[1]):
        points = [point for point, _ in run]
        yield AlphaInterval(
            low=points[0],
            high=points[-1],
            low_closed=True,
            high_closed=True,
            makespan=instance.time(makespan),
            build=partial(record, instance, order, where),
        )


def _points(alpha: FixedAlpha | GridAlpha) -> list[Fraction]:
    if isinstance(alpha, FixedAlpha):
        return [exact(alpha.alpha)]
    step = exact(alpha.step)
    return [step * number for number in range(int(exact(alpha.last) / step) + 1)]
