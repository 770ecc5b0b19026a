"""Task graphs for static distribution: the stream processing graph (SPG) of HVLB_CC section 2.4.

A graph is a value and may be wrong; :func:`check_task_graph` finds what is wrong with it. Times and
volumes are in units of the user's choice; :func:`headway.model.quantities.exact` says how numbers
are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from headway.errors import GraphError, Problem
from headway.model.quantities import Number, exact


@dataclass(frozen=True, kw_only=True)
class Memory:
    """What a task keeps from one execution to the next: operator state and windows, the future work
    of HVLB_CC (section 7).

    ``pinned`` keeps all executions of the task on one processor, so that its state never
    moves; otherwise ``state`` is the volume that moves when the next execution runs elsewhere.

    ``window`` makes an execution wait for all inputs released within that time before its own
    release; without one it reads the latest of each input only."""

    state: Number = 0
    pinned: bool = False
    window: Number | None = None


class CycleError(GraphError):
    """Tasks of a graph wait for each other in a circle."""


class UnknownTaskError(GraphError):
    """An edge names a task that the graph does not have."""


class MissingTimeError(GraphError):
    """It is not known how long a task runs on a processor it may be placed on."""


@dataclass(frozen=True, kw_only=True)
class GraphTask:
    """A task n_i.

    Its computation time comp(n, p) is ``times[p]`` where given, else ``work`` (w_i) divided by the
    processor's rate (equation 1). ``processors`` limits where it may run; empty means anywhere.
    ``imprecise`` says that what is scheduled is the mandatory part (mp) and that an optional part
    (op) may follow in the schedule hole behind it (equation 19). ``release`` is the earliest
    start; ``deadline`` (from time 0) and ``period`` are for graphs with several of them."""

    name: str
    work: Number | None = None
    times: Mapping[str, Number] = field(default_factory=dict)
    processors: tuple[str, ...] = ()
    imprecise: bool = False
    release: Number = 0
    deadline: Number | None = None
    period: Number | None = None


@dataclass(frozen=True, kw_only=True)
class Edge:
    """A message e_{i,j} from ``sender`` to ``receiver``.

    Its volume tpl is ``volume``, or ``ccr`` times comp(sender, the sender's processor). ``times``
    gives the time on single links outright, where volume / speed is not how they work."""

    sender: str
    receiver: str
    volume: Number | None = None
    ccr: Number | None = None
    times: Mapping[str, Number] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TaskGraph:
    """Tasks in their numbering (ties go to the lower number) and the messages between them.

    ``period`` is the application's period and deadline, the unit of load in the balancing
    parameter BP (equation 17); without one the best sequential time stands in."""

    name: str = "graph"
    tasks: tuple[GraphTask, ...]
    edges: tuple[Edge, ...] = ()
    period: Number | None = None

    @cached_property
    def by_name(self) -> dict[str, GraphTask]:
        return {task.name: task for task in self.tasks}

    @cached_property
    def predecessors(self) -> dict[str, tuple[str, ...]]:
        """pred(n), in the order of the tasks."""
        return self._neighbours(backwards=True)

    @cached_property
    def successors(self) -> dict[str, tuple[str, ...]]:
        """succ(n), in the order of the tasks."""
        return self._neighbours(backwards=False)

    @property
    def entries(self) -> tuple[str, ...]:
        """Tasks without predecessors."""
        return tuple(name for name, found in self.predecessors.items() if not found)

    @property
    def exits(self) -> tuple[str, ...]:
        """Tasks without successors."""
        return tuple(name for name, found in self.successors.items() if not found)

    @cached_property
    def topological_order(self) -> tuple[str, ...]:
        """Every task after its predecessors, else in the order of the tasks; those on or behind a
        cycle are missing."""
        waiting = {name: len(found) for name, found in self.predecessors.items()}
        order = [name for name, count in waiting.items() if count == 0]
        for name in order:
            for successor in self.successors[name]:
                waiting[successor] -= 1
                if waiting[successor] == 0:
                    order.append(successor)
        return tuple(order)

    def _neighbours(self, *, backwards: bool) -> dict[str, tuple[str, ...]]:
        position = {task.name: number for number, task in enumerate(self.tasks)}
        found: dict[str, list[str]] = {name: [] for name in position}
        for edge in self.edges:
            one, other = edge.sender, edge.receiver
            if backwards:
                one, other = other, one
            found[one].append(other)
        return {
            name: tuple(sorted(names, key=position.__getitem__)) for name, names in found.items()
        }


def check_task_graph(graph: TaskGraph) -> None:
    """Raises the named error of the first kind of fault, with every problem of that kind."""
    names = [task.name for task in graph.tasks]
    if not names:
        raise GraphError("the graph has no tasks", at=graph.name, want="give at least one")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise GraphError(Problem("this task is given twice", at=f"tasks.{name}") for name in twice)
    unknown = list(_unknown_tasks(graph))
    if unknown:
        raise UnknownTaskError(unknown)
    wrong = [*_wrong_numbers(graph), *_double_edges(graph)]
    if wrong:
        raise GraphError(wrong)
    circle = _circle(graph)
    if circle:
        raise CycleError(
            "tasks wait for each other in a circle",
            at="edges",
            got=" -> ".join(circle),
            want="take one of these edges away",
        )


def _unknown_tasks(graph: TaskGraph) -> Iterator[Problem]:
    known = ", ".join(graph.by_name)
    for edge in graph.edges:
        for name in (edge.sender, edge.receiver):
            if name not in graph.by_name:
                at = f"edges.{edge.sender}->{edge.receiver}"
                yield Problem("unknown task", at=at, got=repr(name), want=f"one of {known}")


def _wrong_numbers(graph: TaskGraph) -> Iterator[Problem]:
    def negative(number: Number | None, at: str) -> Iterator[Problem]:
        try:
            wrong = number is not None and exact(number) < 0
        except ValueError:
            wrong = True
        if wrong:
            yield Problem("not a number of 0 or more", at=at, got=str(number))

    for task in graph.tasks:
        at = f"tasks.{task.name}"
        yield from negative(task.work, f"{at}.work")
        yield from negative(task.release, f"{at}.release")
        for processor, time in task.times.items():
            yield from negative(time, f"{at}.times.{processor}")
    for edge in graph.edges:
        at = f"edges.{edge.sender}->{edge.receiver}"
        if (edge.volume is None) == (edge.ccr is None):
            yield Problem("a message needs a volume or a ccr, and not both", at=at)
        yield from negative(edge.volume, f"{at}.volume")
        yield from negative(edge.ccr, f"{at}.ccr")
        for link, time in edge.times.items():
            yield from negative(time, f"{at}.times.{link}")
    if graph.period is not None and not exact(graph.period) > 0:
        yield Problem("the period must be above 0", at="period", got=str(graph.period))


def _double_edges(graph: TaskGraph) -> Iterator[Problem]:
    seen = set()
    for edge in graph.edges:
        pair = edge.sender, edge.receiver
        if pair in seen:
            want = "add the volumes up"
            yield Problem(
                "two messages between the same tasks", at="edges", got="->".join(pair), want=want
            )
        seen.add(pair)


def _circle(graph: TaskGraph) -> list[str]:
    """One circle of tasks, its first task repeated at the end; empty when there is none."""
    left = graph.by_name.keys() - set(graph.topological_order)
    if not left:
        return []
    path = [next(task.name for task in graph.tasks if task.name in left)]
    while True:
        name = next(name for name in graph.predecessors[path[-1]] if name in left)
        if name in path:
            return [name, *reversed(path[path.index(name) :])]
        path.append(name)
