"""CPOP, critical path on a processor."""

from __future__ import annotations

from functools import partial
from heapq import heapify, heappop, heappush

from headway.schedule.static.algorithm import Algorithm, AlphaChoice, StaticResult, only
from headway.schedule.static.insertion import Inserting, MeanCosts
from headway.schedule.static.instance import Instance
from headway.schedule.static.timing import record


class Cpop(Algorithm):
    """Ready tasks by rank_u + rank_d; the critical path on the one processor that is quickest with
    it, all others where they finish first, gaps included."""

    name = "cpop"
    summary = "the critical path on one processor, other tasks where they finish first; uses gaps"
    paper = "Topcuoglu, Hariri, Wu 2002, doi:10.1109/71.993206"

    def run(self, instance: Instance, alpha: AlphaChoice) -> StaticResult:
        costs = MeanCosts(instance)
        both = zip(costs.upward(), costs.downward(), strict=True)
        priority = [up + down for up, down in both]
        path: set[int] = set()
        entries = [task for task, found in enumerate(instance.predecessors) if not found]
        step: int | None = max(entries, key=lambda task: priority[task])
        while step is not None:
            path.add(step)
            on_path = priority[step]
            step = next((s for s in instance.successors[step] if priority[s] == on_path), None)
        processor = min(
            range(len(instance.processors)),
            key=lambda p: (
                sum(p not in instance.allowed[task] for task in path),
                sum(instance.comp[task][p] for task in path),
            ),
        )
        made = Inserting(instance)
        waiting = [len(found) for found in instance.predecessors]
        ready = [(-priority[task], task) for task in entries]
        heapify(ready)
        while ready:
            _, task = heappop(ready)
            critical = task in path and processor in instance.allowed[task]
            made.place(task, (processor,) if critical else instance.allowed[task])
            for successor in instance.successors[task]:
                waiting[successor] -= 1
                if waiting[successor] == 0:
                    heappush(ready, (-priority[successor], successor))
        names = tuple(instance.tasks[task] for task in made.order)
        build = partial(record, instance, made.order, made.where, made.starts)
        return only(self.name, names, instance.time(made.makespan), build)
