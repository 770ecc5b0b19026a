"""HEFT again and again with its order displaced a little, and the best that comes of it.

A list schedule is as good as its order, and many orders are nearly as good as HEFT's by their
ranks: tried one after the other, some are better. With deadlines the order displaced is that of the
latest starts. The draws come from a seed and the number of tries from the number of tasks, so the
answer is the same on every machine, unless the time is up before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from heapq import heapify, heappop, heappush
from math import isinf
from random import Random

from headway.schedule.static.algorithm import Algorithm, AlphaChoice, StaticResult, always, only
from headway.schedule.static.due_times import Merit, due_times
from headway.schedule.static.insertion import Inserting, MeanCosts
from headway.schedule.static.instance import Instance
from headway.schedule.static.laxity import latest_starts
from headway.schedule.static.timing import record

MOST_TRIES, MOST_PLACED = 200, 30_000
"""tries, and tasks placed in all of them, at most (but never fewer than four tries)"""
SPREADS = (0.02, 0.05, 0.1, 0.2, 0.4)
"""by how much of the longest rank keys are displaced, in turn"""


class Varied(Algorithm):
    """Ready tasks by a displaced key, each where it finishes first, gaps included."""

    name = "heft-varied"
    summary = "HEFT with its order displaced at random, the best of many tries"
    paper = "Headway; after Topcuoglu, Hariri, Wu 2002, doi:10.1109/71.993206"

    def __init__(self, going_on: Callable[[], bool] = always, seed: int = 0) -> None:
        self.going_on, self.seed = going_on, seed

    def run(self, instance: Instance, alpha: AlphaChoice) -> StaticResult:
        draw, keys = Random(self.seed), _keys(instance)
        reach = max(keys) - min(keys)
        count = len(instance.tasks)
        tries = max(4, min(MOST_TRIES, 4 * count, MOST_PLACED // count))
        best, complete = _placed(instance, keys), True
        merit = _merit(best)
        for number in range(1, tries):
            if not self.going_on():
                complete = False
                break
            spread = SPREADS[number % len(SPREADS)] * reach
            made = _placed(instance, [key + spread * (draw.random() - 0.5) for key in keys])
            if (found := _merit(made)) < merit:
                best, merit = made, found
        names = tuple(instance.tasks[task] for task in best.order)
        build = partial(record, instance, best.order, best.where, best.starts)
        result = only(self.name, names, instance.time(best.makespan), build)
        return replace(result, complete=complete)


def _keys(instance: Instance) -> list[float]:
    """What tasks are ordered by, the least first: latest starts where something is due, those
    behind which nothing is due after all others; else HEFT's ranks."""
    costs = MeanCosts(instance)
    upward = [-float(rank) for rank in costs.upward()]
    if all(due is None for due in due_times(instance)):
        return upward
    latest = latest_starts(instance, costs)
    last = max(time for time in latest if not isinf(time)) - min(upward)
    return [last + rank if isinf(time) else time for time, rank in zip(latest, upward, strict=True)]


def _placed(instance: Instance, keys: Sequence[float]) -> Inserting:
    """The ready task of the least key always next."""
    made = Inserting(instance)
    waiting = [len(found) for found in instance.predecessors]
    ready = [(keys[task], task) for task, before in enumerate(waiting) if not before]
    heapify(ready)
    while ready:
        _, task = heappop(ready)
        made.place(task, instance.allowed[task])
        for successor in instance.successors[task]:
            waiting[successor] -= 1
            if not waiting[successor]:
                heappush(ready, (keys[successor], successor))
    return made


def _merit(made: Inserting) -> Merit:
    instance = made.instance
    late = [
        made.starts[task] + instance.comp[task][made.where[task]] - due
        for task, due in enumerate(due_times(instance))
        if due is not None
    ]
    return Merit(
        late=sum(time > 0 for time in late), lateness=max([0, *late]), makespan=made.makespan
    )
