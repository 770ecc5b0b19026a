"""Knapsack tree inequalities: what makes the relaxation strong when node capacities bind.

The relaxed program may put half of every operator on each of two nodes, and then no stream is cut.
But take a node n, an operator r and a tree of streams that joins r with operators of load w(v). If
r is on n, an operator v of the tree is there too unless a stream on the tree's path from r to v
crosses n's border. So, with ``cut`` the crossings and ``free`` the capacity that pinned operators
leave,

    sum over v of w(v) * (sits(r, n) - sum of cut on the path to v) <= free * sits(r, n).

With ``excess = sum of w - free`` and ``below(e)`` the load behind stream e as seen from r, this is
``sum over e of min(below(e), excess) * cut(e) >= excess * sits(r, n)``. For a given relaxed
solution the trees of shortest paths by ``cut`` are the most violated ones. After Ferreira, Martin,
de Souza, Weismantel and Wolsey, "Formulations and valid inequalities for the node capacitated graph
partitioning problem" (doi:10.1007/BF02592198); here one for each node, as nodes differ in speed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from headway.compile.placement.formulation import Formulation
from headway.compile.placement.program import Values

_LEAST_VIOLATION = 0.02
_LEAST_SHARE = 0.05
_MOST_ROWS = 400

Row = list[tuple[int, float]]


@dataclass(frozen=True)
class _Step:
    """A stream from one free operator to another: ``columns`` add up to at least 1 when the first
    is on the node and the second is not; ``length`` is their relaxed value."""

    to: str
    length: float
    columns: Sequence[int]


def tree_rows(made: Formulation, values: Values) -> list[Row]:
    """The rows (to be at least 0) that the relaxed solution violates most."""
    found: list[tuple[float, Row]] = []
    for node in made.problem.node_capacity:
        found.extend(_rows_at(made, values, node))
    found.sort(key=lambda pair: -pair[0])
    return [row for _, row in found[:_MOST_ROWS]]


def _rows_at(made: Formulation, values: Values, node: str) -> Iterator[tuple[float, Row]]:
    weights: dict[str, float] = {}
    free = made.problem.node_capacity[node]
    for process in made.problem.processes.values():
        if process.nodes == (node,):
            free -= process.loads[node]
        elif node in process.nodes:
            weights[process.name] = process.loads[node]
    if sum(weights.values()) <= free:
        return
    steps = _steps_at(made, values, node, weights)
    for root in weights:
        share = float(values[made.sits[root, node]])
        if share < _LEAST_SHARE:
            continue
        order, parents = _nearest(steps, root, share)
        excess = sum(weights[name] for name in order) - free
        if excess <= 1e-6:
            continue
        below = {name: weights[name] for name in order}
        factors: dict[int, float] = {}
        for name in reversed(order[1:]):
            parent, columns = parents[name]
            below[parent] += below[name]
            for column in columns:
                factors[column] = factors.get(column, 0.0) + below[name]
        row = [(column, min(1.0, factor / excess)) for column, factor in factors.items()]
        violation = share - sum(factor * float(values[column]) for column, factor in row)
        if violation > _LEAST_VIOLATION:
            yield violation, [*row, (made.sits[root, node], -1.0)]


def _steps_at(
    made: Formulation, values: Values, node: str, weights: dict[str, float]
) -> dict[str, list[_Step]]:
    """Where one can go from each operator. A stream leaves the node by the node's own ways into
    media, and comes to it by the others' ways into the media at the node."""
    neighbours = made.problem.architecture.neighbours
    steps: dict[str, list[_Step]] = {name: [] for name in weights}
    outward = [(node, medium) for medium in neighbours[node]]
    inward = [
        (tail, medium) for medium in neighbours[node] for tail in neighbours[medium] if tail != node
    ]
    for traffic in made.problem.traffic:
        stream = traffic.stream
        if stream not in weights:
            continue
        leaving = [made.enters[stream, arc] for arc in outward if (stream, arc) in made.enters]
        coming = [made.enters[stream, arc] for arc in inward if (stream, arc) in made.enters]
        leaving_length = max(0.0, float(values[leaving].sum()))
        coming_length = max(0.0, float(values[coming].sum()))
        for reader in traffic.readers:
            if reader in weights:
                steps[stream].append(_Step(reader, leaving_length, leaving))
                steps[reader].append(_Step(stream, coming_length, coming))
    return steps


def _nearest(
    steps: dict[str, list[_Step]], root: str, share: float
) -> tuple[list[str], dict[str, tuple[str, Sequence[int]]]]:
    """Operators nearer to the root than ``share``, nearest first, and how each is reached."""
    distance = {root: 0.0}
    parents: dict[str, tuple[str, Sequence[int]]] = {}
    order: list[str] = []
    heap = [(0.0, root)]
    done: set[str] = set()
    while heap:
        here, name = heappop(heap)
        if name in done:
            continue
        done.add(name)
        order.append(name)
        for step in steps[name]:
            there = here + step.length
            if there < min(share - 1e-6, distance.get(step.to, share)):
                distance[step.to] = there
                parents[step.to] = (name, step.columns)
                heappush(heap, (there, step.to))
    return order, parents
