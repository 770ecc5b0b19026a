"""How many jobs may wait in wall-clock time, and which are shed when more do.

An engine that cannot keep up would otherwise gather jobs until there is no memory left, and all of
them would be late. The limit is a setting. Without it, it is twice what the declared rates can
bring to each unit within its relative deadline (what has waited longer is late), and at least
``FEWEST``; a source without a declared rate counts for ``FEWEST`` by itself.

When there is one job too many, some of those that have not begun are dropped, down to seven eighths
of the limit, so that the choice need not be made for every tuple. Which ones is declared
(:class:`WhenFull`). By default the least worth, in this order:

1. jobs that only soft outputs come of, before those that a hard one does;
2. of these such whose deadline has passed, the most late first;
3. then those of the least weight: that of an output, or the greatest of several;
4. of equal ones that with the latest deadline, and of those the one that came last.

The oldest go first where only the newest state of the world is of use; where what has come in is to
be finished, whatever its worth, the new job itself is refused.

Every tuple dropped is listed as SHED with its reason, whatever the rule; one that a hard output
needed is also counted as refused, which is a miss.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from headway.engine.jobs import ReadyJob
from headway.model.graph import Graph, graph_of
from headway.model.plan import Plan, Task
from headway.model.quantities import MICROSECOND, milliseconds
from headway.model.query import Criticality

FEWEST = 1000


class WhenFull(StrEnum):
    """Which jobs are dropped when one too many waits."""

    SHED = "shed"
    """the least worth"""
    OLDEST = "oldest"
    """those that became ready first"""
    REFUSE = "refuse"
    """the new one"""


@dataclass(frozen=True, slots=True)
class Worth:
    """What the outputs are that come of a unit: whether one is hard, and their greatest weight."""

    hard: bool
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingRoom:
    """``most`` jobs may wait; ``worths`` are by the names of units."""

    most: int
    worths: Mapping[str, Worth]
    when_full: WhenFull = WhenFull.SHED

    def leaving(self, ready: Iterable[ReadyJob], new: ReadyJob, now: int) -> list[ReadyJob]:
        """Who goes because there is no room for the new job, which is among the ready ones."""
        if self.when_full is WhenFull.REFUSE:
            return [new]
        listed = list(ready)
        count = len(listed) - (self.most - self.most // 8)
        if self.when_full is WhenFull.SHED:
            return self.least_worth(listed, now, count)
        waiting = (job for job in listed if job.progress is None)
        return sorted(waiting, key=lambda job: job.number)[:count]

    def least_worth(self, ready: Iterable[ReadyJob], now: int, count: int) -> list[ReadyJob]:
        """So many of those that have not begun (fewer if there are no more), the first to go
        first."""

        def place(job: ReadyJob) -> tuple[bool, int, float, int, int]:
            worth, due = self.worths[job.unit.name], due_of(job)
            return worth.hard, -max(0, now - due), worth.weight, -due, -job.number

        return sorted((job for job in ready if job.progress is None), key=place)[:count]

    def hard(self, job: ReadyJob) -> bool:
        return self.worths[job.unit.name].hard

    def reason(self, job: ReadyJob, now: int) -> str:
        late = now - due_of(job)
        why = f"{self.most:,} jobs wait" + _WHY[self.when_full]
        if late > 0:
            why += f", and its deadline passed {milliseconds(late)} ms ago"
        return why + " (a hard output needed it)" * self.hard(job)


_WHY = {
    WhenFull.SHED: "",
    WhenFull.OLDEST: ", the oldest go",
    WhenFull.REFUSE: ", no more are let in",
}


def due_of(job: ReadyJob) -> int:
    """The deadline of the job's unit for its tuple, whatever the policy orders by (ns)."""
    return int(job.row[0]) * MICROSECOND + job.unit.task.relative_deadline


def waiting_room(
    plan: Plan,
    tasks: Iterable[Task],
    most: int | None = None,
    when_full: WhenFull = WhenFull.SHED,
) -> WaitingRoom:
    """The room of those tasks of the whole plan; ``most`` and ``when_full`` are the settings."""
    graph = graph_of(plan.query)
    tasks = list(tasks)
    if most is None:
        most = max(FEWEST, sum(_within_deadline(task, graph) for task in tasks))
    worths = {task.name: _worth(task, graph) for task in tasks}
    return WaitingRoom(most=most, worths=worths, when_full=when_full)


def _within_deadline(task: Task, graph: Graph) -> int:
    curves = [graph.sources[name].arrivals for name in graph.sources_before(task.operators[0])]
    return sum(
        FEWEST if curve is None else 2 * curve.in_interval(task.relative_deadline)
        for curve in curves
    )


def _worth(task: Task, graph: Graph) -> Worth:
    reached, pending = set(task.operators), list(task.operators)
    while pending:
        new = set(graph.consumers[pending.pop()]) - reached
        reached |= new
        pending += new
    outputs = [graph.outputs[name] for stream in reached for name in graph.outputs_of[stream]]
    return Worth(
        any(output.criticality is Criticality.HARD for output in outputs),
        max((output.weight for output in outputs), default=0.0),
    )
