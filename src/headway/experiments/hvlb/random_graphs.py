"""Random task graphs and the paper's network, as HVLB_CC section 5.2 describes them.

    graph = random_graph(Shape(tasks=20), ccr=1, random=numpy.random.default_rng(7))
    network = figure_2((0.83, 1.0, 0.67))

The volume of a message is CCR times the computation time of its sender where that runs: what the
paper's worked example uses. The paper does not print the works of its random tasks; those of its
tables 1 and 4 lie between 6 and 20, and here they are whole numbers drawn evenly from 5 to 20.
"""

from __future__ import annotations

from itertools import permutations

from numpy.random import Generator

from headway.experiments.hvlb.random_shape import Shape, grow
from headway.model.quantities import Number, exact
from headway.model.static_network import NetworkLink, Processor, ProcessorNetwork, Switch
from headway.model.taskgraph import Edge, GraphTask, TaskGraph

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
