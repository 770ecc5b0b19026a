"""List scheduling by laxity: what must start first to be in time goes first."""

from __future__ import annotations

from functools import partial
from math import inf

from headway.schedule.static.algorithm import Algorithm, AlphaChoice, StaticResult, only
from headway.schedule.static.due_times import due_times
from headway.schedule.static.insertion import Inserting, MeanCosts
from headway.schedule.static.instance import Instance
from headway.schedule.static.timing import record


class Laxity(Algorithm):
    """Tasks by their latest start, each where it finishes first, gaps included.

    The latest start of a task is what its own deadline and those behind it leave, at mean costs: at
    any time the order of latest starts is that of laxities. Tasks that nothing is due behind come
    last, by upward rank, and fill the gaps. One that is released late is placed early all the same
    where it is urgent, so leisurely work keeps clear of it."""

    name = "laxity"
    summary = "tasks by the latest start that their deadlines leave; uses gaps"
    paper = "Headway; after least laxity (Mok 1983) and HEFT's insertion"

    def run(self, instance: Instance, alpha: AlphaChoice) -> StaticResult:
        costs = MeanCosts(instance)
        upward, latest = costs.upward(), latest_starts(instance, costs)
        position = {task: number for number, task in enumerate(instance.topological)}
        order = sorted(position, key=lambda task: (latest[task], -upward[task], position[task]))
        made = Inserting(instance)
        for task in order:
            made.place(task, instance.allowed[task])
        names = tuple(instance.tasks[task] for task in order)
        build = partial(record, instance, made.order, made.where, made.starts)
        return only(self.name, names, instance.time(made.makespan), build)


def latest_starts(instance: Instance, costs: MeanCosts) -> list[float]:
    """Of every task, in the costs' ticks; infinite where nothing is due behind it."""
    due = due_times(instance)
    latest: list[float] = [inf if time is None else time * costs.unit for time in due]
    for task in reversed(instance.topological):
        latest[task] -= costs.comp[task]
        for sender, edge in instance.predecessors[task]:
            latest[sender] = min(latest[sender], latest[task] - costs.comm[edge])
    return latest
