"""Several periods in one graph: every execution in a hyperperiod becomes a task of its own.

The future work of HVLB_CC (section 7). Execution k of a task is released at k · period. It reads
the latest execution of each predecessor that is released by then, or all those within its window;
what belongs to the hyperperiod before is there already. State passes from one execution to the
next as a message (nothing when both run on one processor), or is pinned to a processor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from math import gcd, lcm

from headway.errors import GraphError
from headway.model.quantities import exact
from headway.model.static_network import Schedule
from headway.model.taskgraph import Edge, GraphTask, Memory, TaskGraph
from headway.schedule.static.algorithm import StaticResult

MOST_EXECUTIONS = 20_000


class PeriodError(GraphError):
    """The periods of a graph are missing, or their common multiple is too long."""


@dataclass(frozen=True, kw_only=True)
class Execution:
    """Execution ``number`` (from 0) of a task, in the unrolled graph under ``name``."""

    name: str
    task: str
    number: int
    release: Fraction


@dataclass(frozen=True, kw_only=True)
class Unrolled:
    """``graph`` holds every execution within the ``hyperperiod``."""

    original: TaskGraph
    graph: TaskGraph
    hyperperiod: Fraction
    periods: Mapping[str, Fraction]
    executions: tuple[Execution, ...]
    memories: Mapping[str, Memory] = field(default_factory=dict)


def has_periods(graph: TaskGraph, memories: Mapping[str, Memory] | None = None) -> bool:
    """Whether there is more than one execution to schedule, or state to keep."""
    return bool(memories) or any(task.period is not None for task in graph.tasks)


def periods_of(graph: TaskGraph) -> dict[str, Fraction]:
    """The period of every task: its own, else the longest of its predecessors (it needs fresh
    data from each), else the graph's."""
    found: dict[str, Fraction] = {}
    for name in graph.topological_order:
        own, before = graph.by_name[name].period, graph.predecessors[name]
        if own is None and before:
            found[name] = max(found[sender] for sender in before)
            continue
        period = graph.period if own is None else own
        if period is None or exact(period) <= 0:
            raise PeriodError(
                "no period above 0",
                at=f"tasks.{name}",
                got="none" if period is None else str(period),
                want="give the task or the graph a period",
            )
        found[name] = exact(period)
    return found


def unroll(graph: TaskGraph, memories: Mapping[str, Memory] | None = None) -> Unrolled:
    """The graph of all executions in a hyperperiod; PeriodError when there are too many."""
    memories = memories or {}
    periods = periods_of(graph)
    hyperperiod = Fraction(
        lcm(*(period.numerator for period in periods.values())),
        gcd(*(period.denominator for period in periods.values())),
    )
    counts = {name: int(hyperperiod / period) for name, period in periods.items()}
    if (total := sum(counts.values())) > MOST_EXECUTIONS:
        raise PeriodError(
            f"{total} executions until the periods meet again, after {float(hyperperiod):g}",
            at="tasks",
            want=f"choose periods with a common multiple; at most {MOST_EXECUTIONS} executions",
        )
    executions = {
        (task.name, number): Execution(
            name=f"{task.name}#{number}" if counts[task.name] > 1 else task.name,
            task=task.name,
            number=number,
            release=number * periods[task.name] + exact(task.release),
        )
        for task in graph.tasks
        for number in range(counts[task.name])
    }
    unroller = _Unroller(graph, memories, periods, executions)
    return Unrolled(
        original=graph,
        graph=TaskGraph(
            name=graph.name,
            tasks=tuple(unroller.task(execution) for execution in executions.values()),
            edges=(*unroller.messages(), *unroller.state()),
            period=hyperperiod,
        ),
        hyperperiod=hyperperiod,
        periods=periods,
        executions=tuple(executions.values()),
        memories=memories,
    )


@dataclass(frozen=True)
class _Unroller:
    graph: TaskGraph
    memories: Mapping[str, Memory]
    periods: Mapping[str, Fraction]
    executions: Mapping[tuple[str, int], Execution]

    def task(self, execution: Execution) -> GraphTask:
        original = self.graph.by_name[execution.task]
        deadline = None
        if original.deadline is not None or execution.task in self.graph.exits:
            period = self.periods[execution.task]
            deadline = deadline_of(original, period) + execution.number * period
        return GraphTask(
            name=execution.name,
            work=original.work,
            times=original.times,
            processors=original.processors,
            imprecise=original.imprecise,
            release=execution.release,
            deadline=deadline,
        )

    def messages(self) -> Iterator[Edge]:
        """Between executions, as windows and rates ask."""
        for execution in self.executions.values():
            for edge in self.graph.edges:
                if edge.receiver != execution.task:
                    continue
                for number in self._read(edge.sender, execution):
                    yield Edge(
                        sender=self.executions[edge.sender, number].name,
                        receiver=execution.name,
                        volume=edge.volume,
                        ccr=edge.ccr,
                        times=edge.times,
                    )

    def _read(self, sender: str, execution: Execution) -> range:
        """Numbers of the sender's executions that an execution reads."""
        period = self.periods[sender]
        now = execution.number * self.periods[execution.task]
        latest = now // period
        window = self.memories.get(execution.task, Memory()).window
        if window is None:
            return range(latest, latest + 1)
        first = max(0, (now - exact(window)) // period + 1)
        return range(min(first, latest), latest + 1)

    def state(self) -> Iterator[Edge]:
        """From each execution of a task with state to the next."""
        for (task, number), execution in self.executions.items():
            after = self.executions.get((task, number + 1))
            memory = self.memories.get(task)
            if after is not None and memory is not None and (memory.state or memory.pinned):
                yield Edge(sender=execution.name, receiver=after.name, volume=memory.state)


# ------------------------------------------------------------
# Schedules of graphs with several periods and deadlines: which exits meet theirs.


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


def deadline_of(task: GraphTask, period: Fraction) -> Fraction:
    """From an execution's period on; without one of its own, the period."""
    return period if task.deadline is None else exact(task.deadline)


def _asked(graph: TaskGraph) -> list[str]:
    exits = set(graph.exits)
    return [t.name for t in graph.tasks if t.name in exits or t.deadline is not None]


def _answer(graph: TaskGraph, name: str, responses: list[Fraction], period: Fraction) -> ExitAnswer:
    deadline = deadline_of(graph.by_name[name], period)
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
