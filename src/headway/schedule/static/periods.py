"""Several periods in one graph: every execution in a hyperperiod becomes a task of its own.

The future work of HVLB_CC (section 7). Execution k of a task is released at k · period. It reads
the latest execution of each predecessor that is released by then, or all those within its window;
what belongs to the hyperperiod before is there already. State passes from one execution to the
next as a message (nothing when both run on one processor), or is pinned to a processor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import gcd, lcm

from headway.errors import GraphError
from headway.model.quantities import exact
from headway.model.task_memory import Memory
from headway.model.taskgraph import Edge, GraphTask, TaskGraph

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
        deadline = original.deadline
        if deadline is not None:
            deadline = exact(deadline) + execution.number * self.periods[execution.task]
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
