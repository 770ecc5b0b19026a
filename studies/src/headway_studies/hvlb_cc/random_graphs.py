"""Random task graphs and the paper's network, as HVLB_CC section 5.2 describes them.

    graph = random_graph(Shape(tasks=20), ccr=1, random=numpy.random.default_rng(7))
    network = figure_2((0.83, 1.0, 0.67))

The volume of a message is CCR times the computation time of its sender where that runs: what the
paper's worked example uses. The paper does not print the works of its random tasks; those of its
tables 1 and 4 lie between 6 and 20, and here they are whole numbers drawn evenly from 5 to 20.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import permutations

from numpy.random import Generator

from headway.errors import InputError
from headway.model.quantities import Number, exact
from headway.model.static_network import NetworkLink, Processor, ProcessorNetwork, Switch
from headway.model.taskgraph import Edge, GraphTask, TaskGraph
from headway_studies.provenance import assumed, fitted

# ----------------------------------------------------------------
# The shape of random task graphs, grown as TGFF grows them.
#
# R. P. Dick, D. L. Rhodes, W. Wolf, "TGFF: task graphs for free", CODES 1998,
# doi:10.1109/HSC.1998.666245, section 3; version 3.5, as HVLB_CC section 5.2 used it.
#
# The graph starts with entry tasks and grows by a coin's choice. *Fan-out*: a task among those with
# the most room below the out-degree limit gets up to that many new successors. *Fan-in*: a new task
# gets up to the in-degree limit of predecessors among all tasks with room.


RANDOM_GRAPHS = assumed(
    "graphs grown as TGFF grows them, works drawn evenly from 5 to 20: the paper prints degrees "
    "and numbers of tasks, not its graphs, their depth or their works"
)
SHALLOW_GRAPHS = fitted(
    "20 tasks, 4 to 8 entries, at most 4 deep, works 10 to 20: chosen because queues then fail as "
    "often as published",
    tried="graphs as TGFF grows them, 10 to 50 tasks (beside); what else was not recorded",
)
MOST_ATTEMPTS = 1000
"""Graphs thrown away, for want of entries or exits, before the request is called impossible."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What to grow. ``falling`` asks for outd(predecessor) >= outd(successor) on every edge: HSV_CC
    and (A) cannot fail on such a graph (section 5.2). ``most_depth`` bounds the tasks on a path;
    TGFF has no such bound."""

    tasks: int
    most_in: int = 2
    most_out: int = 3
    least_entries: int = 2
    most_entries: int = 2
    least_exits: int = 2
    most_depth: int | None = None
    falling: bool = False

    def __post_init__(self) -> None:
        entries = 1 <= self.least_entries <= self.most_entries < self.tasks
        if not entries or min(self.most_in, self.most_out, self.least_exits) < 1:
            raise InputError(
                "no task graph has this shape",
                got=str(self),
                want="use more tasks than entries, and degrees and counts of at least 1",
            )


@dataclass
class Grown:
    """Edges of a graph under construction; tasks are numbered in the order they were made, which
    is a topological order."""

    shape: Shape
    successors: list[list[int]] = field(default_factory=list)
    predecessors: list[list[int]] = field(default_factory=list)
    depth: list[int] = field(default_factory=list)

    def add(self, predecessors: list[int]) -> None:
        """A new task below these."""
        self.successors.append([])
        self.predecessors.append(list(predecessors))
        self.depth.append(1 + max((self.depth[before] for before in predecessors), default=0))
        for predecessor in predecessors:
            self.successors[predecessor].append(len(self.successors) - 1)

    def room(self, task: int) -> int:
        """How many more successors the task may have."""
        limit = self.shape.most_out
        if self.depth[task] == self.shape.most_depth:
            return 0
        if self.shape.falling:
            limit = min(
                (len(self.successors[before]) for before in self.predecessors[task]), default=limit
            )
        return limit - len(self.successors[task])

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        return tuple(
            (sender, receiver)
            for sender, receivers in enumerate(self.successors)
            for receiver in receivers
        )

    @property
    def whole(self) -> bool:
        """Whether there are enough exits and all tasks hang together."""
        if sum(not below for below in self.successors) < self.shape.least_exits:
            return False
        reached, waiting = {0}, [0]
        while waiting:
            task = waiting.pop()
            near = {*self.successors[task], *self.predecessors[task]} - reached
            reached |= near
            waiting += near
        return len(reached) == len(self.successors)


def grow(shape: Shape, random: Generator) -> Grown:
    """A connected random graph of that shape; InputError when none is found."""
    for _ in range(MOST_ATTEMPTS):
        grown = Grown(shape)
        for _ in range(int(random.integers(shape.least_entries, shape.most_entries + 1))):
            grown.add([])
        while len(grown.successors) < shape.tasks and any(map(grown.room, range(len(grown.depth)))):
            (_fan_out if random.random() < 0.5 else _fan_in)(grown, random)
        if len(grown.depth) == shape.tasks and grown.whole:
            return grown
    raise InputError(
        f"no graph of this shape in {MOST_ATTEMPTS} attempts",
        got=str(shape),
        want="ask for fewer entries or exits, or larger degrees",
    )


def _fan_out(grown: Grown, random: Generator) -> None:
    tasks = range(len(grown.successors))
    most = max(grown.room(task) for task in tasks)
    chosen = int(random.choice([task for task in tasks if grown.room(task) == most]))
    missing = grown.shape.tasks - len(grown.successors)
    for _ in range(min(int(random.integers(0, most + 1)), missing)):
        grown.add([chosen])


def _fan_in(grown: Grown, random: Generator) -> None:
    free = [task for task in range(len(grown.successors)) if grown.room(task) > 0]
    count = int(random.integers(1, min(grown.shape.most_in, len(free)) + 1))
    grown.add(sorted(int(task) for task in random.choice(free, size=count, replace=False)))


LEAST_WORK, MOST_WORK = 5, 20
RATES = (0.67, 0.83, 1.0)
RATE_ORDERS: tuple[tuple[float, float, float], ...] = tuple(
    (one, two, three) for one, two, three in permutations(RATES)
)
"""The six execution rate patterns of section 5.2."""


def random_graph(
    shape: Shape,
    *,
    ccr: Number,
    random: Generator,
    least_work: int = LEAST_WORK,
    most_work: int = MOST_WORK,
    name: str = "random",
) -> TaskGraph:
    """A graph of that shape; the same generator state gives the same graph."""
    grown = grow(shape, random)
    works = random.integers(least_work, most_work + 1, size=shape.tasks)
    # BP only ever sees α / period, so any period serves; this one makes the useful α small.
    return TaskGraph(
        name=name,
        tasks=tuple(GraphTask(name=f"n{i + 1}", work=int(work)) for i, work in enumerate(works)),
        edges=tuple(
            Edge(sender=f"n{one + 1}", receiver=f"n{other + 1}", ccr=exact(ccr))
            for one, other in grown.edges
        ),
        period=int(works.sum()),
    )


def figure_2(rates: tuple[Number, ...] = (0.67, 1.0, 0.83)) -> ProcessorNetwork:
    """The topology of the paper's figure 2: three processors, a switch and a fast link."""
    first, second, third = rates
    return ProcessorNetwork(
        name="figure 2",
        processors=(
            Processor(name="p1", rate=first),
            Processor(name="p2", rate=second),
            Processor(name="p3", rate=third),
        ),
        switches=(Switch(name="switch"),),
        links=(
            NetworkLink(name="l1", ends=("p1", "switch"), speed=1),
            NetworkLink(name="l2", ends=("p2", "switch"), speed=1),
            NetworkLink(name="l3", ends=("p2", "p3"), speed=3),
            NetworkLink(name="l4", ends=("p3", "switch"), speed=1),
        ),
    )
