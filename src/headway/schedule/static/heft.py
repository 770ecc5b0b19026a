"""HEFT, heterogeneous earliest finish time."""

from __future__ import annotations

from functools import partial

from headway.schedule.static.algorithm import Algorithm, AlphaChoice, StaticResult, only
from headway.schedule.static.insertion import Inserting, Mean, MeanCosts
from headway.schedule.static.instance import Instance
from headway.schedule.static.timing import record


class Heft(Algorithm):
    """Tasks by falling upward rank, each where it finishes first, gaps included."""

    name = "heft"
    summary = "tasks by upward rank over mean costs, each where it finishes first; uses gaps"
    paper = "Topcuoglu, Hariri, Wu 2002, doi:10.1109/71.993206"

    def __init__(self, mean: Mean = Mean.RATE) -> None:
        self.mean = mean

    def run(self, instance: Instance, alpha: AlphaChoice) -> StaticResult:
        rank = MeanCosts(instance, self.mean).upward()
        position = {task: number for number, task in enumerate(instance.topological)}
        order = sorted(position, key=lambda task: (-rank[task], position[task]))
        made = Inserting(instance)
        for task in order:
            made.place(task, instance.allowed[task])
        names = tuple(instance.tasks[task] for task in order)
        build = partial(record, instance, made.order, made.where, made.starts)
        return only(self.name, names, instance.time(made.makespan), build)
