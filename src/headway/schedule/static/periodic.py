"""Schedules of graphs with several periods and deadlines: which exits meet theirs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from headway.model.quantities import exact
from headway.model.static_network import Schedule
from headway.model.task_memory import Memory
from headway.model.taskgraph import TaskGraph
from headway.schedule.static.periods import Unrolled, unroll
from headway.schedule.static.result import StaticResult

Run = Callable[[TaskGraph], StaticResult]
"""Schedules a graph, by whatever algorithm and on whatever network."""


@dataclass(frozen=True, kw_only=True)
class ExitAnswer:
    """An exit's worst execution: ``response`` is from its release to its finish. Without a
    deadline of its own, an exit has its period."""

    task: str
    deadline: Fraction
    response: Fraction
    worst: int
    executions: int
    missed: int

    @property
    def met(self) -> bool:
        return self.missed == 0


@dataclass(frozen=True, kw_only=True)
class PeriodicResult:
    """``result`` is that of the unrolled graph. ``repeats``: the same schedule can start again
    every hyperperiod, even if the one before has not ended."""

    unrolled: Unrolled
    result: StaticResult
    exits: tuple[ExitAnswer, ...] = ()

    @property
    def repeats(self) -> bool:
        return self.result.schedule is not None and repeats(self.unrolled, self.result.schedule)

    @property
    def met(self) -> bool:
        """Whether every exit meets its deadline in every execution, over and over."""
        return self.repeats and all(answer.met for answer in self.exits)


def schedule_periodic(
    graph: TaskGraph, run: Run, memories: Mapping[str, Memory] | None = None
) -> PeriodicResult:
    """Unrolls the graph and schedules it.

    Pinned state without a processor takes two passes: the first lets executions move, the second
    keeps each such task where most of its executions went."""
    unrolled = unroll(graph, memories)
    result = run(unrolled.graph)
    free = {
        name
        for name, memory in unrolled.memories.items()
        if memory.pinned and len(graph.by_name[name].processors) != 1
    }
    if free and result.schedule is not None:
        homes = _homes(unrolled, result.schedule, free)
        unrolled = unroll(_pinned(graph, homes), memories)
        result = run(unrolled.graph)
    exits = () if result.schedule is None else answers(unrolled, result.schedule)
    return PeriodicResult(unrolled=unrolled, result=result, exits=exits)


def answers(unrolled: Unrolled, schedule: Schedule) -> tuple[ExitAnswer, ...]:
    """For each exit of the original graph, and each task with a deadline, how it fares."""
    found = []
    for name in _asked(unrolled.original):
        period = unrolled.periods[name]
        finishes = [
            schedule.of_task[execution.name].finish - execution.number * period
            for execution in unrolled.executions
            if execution.task == name
        ]
        found.append(_answer(unrolled.original, name, finishes, period))
    return tuple(found)


def answers_once(graph: TaskGraph, schedule: Schedule) -> tuple[ExitAnswer, ...]:
    """The same for a graph that is run once: tasks with a deadline of their own, or if there are
    none all exits, by the graph's period."""
    own = [task.name for task in graph.tasks if task.deadline is not None]
    asked = own or (graph.exits if graph.period is not None else ())
    return tuple(
        _answer(graph, name, [schedule.of_task[name].finish], exact(graph.period or 0))
        for name in asked
    )


def _asked(graph: TaskGraph) -> list[str]:
    exits = set(graph.exits)
    return [t.name for t in graph.tasks if t.name in exits or t.deadline is not None]


def _answer(graph: TaskGraph, name: str, responses: list[Fraction], period: Fraction) -> ExitAnswer:
    own = graph.by_name[name].deadline
    deadline = period if own is None else exact(own)
    response = max(responses)
    return ExitAnswer(
        task=name,
        deadline=deadline,
        response=response,
        worst=responses.index(response),
        executions=len(responses),
        missed=sum(time > deadline for time in responses),
    )


def repeats(unrolled: Unrolled, schedule: Schedule) -> bool:
    """Whether schedules that start one hyperperiod apart keep out of each other's way, and each
    finds the state that the one before has left."""
    length = unrolled.hyperperiod
    busy: dict[tuple[str, str], list[tuple[Fraction, Fraction]]] = {}
    for slot in schedule.tasks:
        busy.setdefault(("processor", slot.processor), []).append((slot.start, slot.finish))
    for message in schedule.messages if schedule.contention else ():
        for on in message.links:
            busy.setdefault(("link", on.link), []).append((on.start, on.finish))
    if any(_collide(slots, length) for slots in busy.values()):
        return False
    for task in unrolled.memories:
        names = [execution.name for execution in unrolled.executions if execution.task == task]
        first, last = schedule.of_task[names[0]], schedule.of_task[names[-1]]
        if last.finish > first.start + length:
            return False
    return True


def _collide(slots: list[tuple[Fraction, Fraction]], length: Fraction) -> bool:
    """Whether slots overlap when time is wound up on a circle of that length."""
    folded = sorted((start % length, finish - start) for start, finish in slots if finish > start)
    around = [*folded, *((start + length, time) for start, time in folded[:1])]
    return any(one + time > other for (one, time), (other, _) in pairwise(around))


def _homes(unrolled: Unrolled, schedule: Schedule, tasks: set[str]) -> dict[str, str]:
    homes = {}
    for task in tasks:
        counts = Counter(
            schedule.of_task[execution.name].processor
            for execution in unrolled.executions
            if execution.task == task
        )
        homes[task] = max(counts, key=lambda name: (counts[name], name))
    return homes


def _pinned(graph: TaskGraph, homes: Mapping[str, str]) -> TaskGraph:
    return replace(
        graph,
        tasks=tuple(
            replace(task, processors=(homes[task.name],)) if task.name in homes else task
            for task in graph.tasks
        ),
    )
