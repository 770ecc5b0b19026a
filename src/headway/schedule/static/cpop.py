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
        upward, downward = costs.upward(), costs.downward()
        priority = [up + down for up, down in zip(upward, downward, strict=True)]
        entries = [task for task, found in enumerate(instance.predecessors) if not found]
        path = _critical_path(instance, costs, upward, max(entries, key=upward.__getitem__))
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


def _critical_path(
    instance: Instance, costs: MeanCosts, upward: list[int], entry: int
) -> frozenset[int]:
    """The longest path from an entry. An edge belongs to it only where the way behind it is all
    that the sender's rank_u counts: one that passes over tasks of the path leads to a task of equal
    priority, too. Of equally long ways that over the task which is first in topological order."""
    message = {
        (sender, task): edge
        for task, into in enumerate(instance.predecessors)
        for sender, edge in into
    }
    position = {task: number for number, task in enumerate(instance.topological)}
    path = [entry]
    while instance.successors[path[-1]]:
        last = path[-1]
        left = upward[last] - costs.comp[last]
        longest = [
            s for s in instance.successors[last] if upward[s] + costs.comm[message[last, s]] == left
        ]
        path.append(min(longest, key=position.__getitem__))
    return frozenset(path)
