"""Placement as a mixed-integer program, strengthened by knapsack inequalities, for HiGHS.

Columns: ``sits`` (process on node), ``enters`` (stream takes a way into a medium) and ``peak`` (the
largest node load over its capacity). A multicast stream has one ``enters`` column per way, at least
as large as what any of its readers needs, so it counts there once.

Where routes are unique, ``enters >= (producer behind the arc) - (reader behind the arc)`` says all:
it is what the flow rows become on a tree when the flows are eliminated. Only where several routes
exist are there flow columns, one set for each stream and reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from headway.compiler.placement.placement_problem import (
    Arc,
    PlacementProblem,
    StreamTraffic,
    Topology,
)

# scipy takes as long to import as a small query to compile; one that has no choice needs none.
if TYPE_CHECKING:
    from scipy.sparse import csr_array

# --------------------------------------------------------- rows and columns for scipy.optimize.milp

INFINITY = float("inf")
_OPTIMAL, _INFEASIBLE = 0, 2

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Solution:
    """``values`` is None when nothing was found: because there is nothing (``infeasible``) or
    because the time was over. ``bound`` is proven: no solution has a lower objective."""

    values: Values | None
    bound: float
    infeasible: bool
    optimal: bool
    message: str


@dataclass(frozen=True)
class Relaxation:
    """``reduced`` is what the objective grows by, at least, per unit of a column that is 0 here."""

    values: Values
    objective: float
    reduced: Values


class IntegerProgram:
    """Columns with bounds, rows ``lower <= sum of terms <= upper``."""

    def __init__(self) -> None:
        self._lower: list[float] = []
        self._upper: list[float] = []
        self._integer: list[bool] = []
        self._terms: list[tuple[int, int, float]] = []
        self._rows: list[tuple[float, float]] = []

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self._rows), len(self._lower)

    def column(self, lower: float = 0.0, upper: float = 1.0, *, integer: bool = False) -> int:
        self._lower.append(lower)
        self._upper.append(upper)
        self._integer.append(integer)
        return len(self._lower) - 1

    def limit(self, column: int, upper: float) -> None:
        """Lowers a column's upper bound."""
        self._upper[column] = min(self._upper[column], upper)

    def row(
        self,
        terms: Iterable[tuple[int, float]],
        lower: float = -INFINITY,
        upper: float = INFINITY,
    ) -> None:
        index = len(self._rows)
        self._terms.extend((index, column, factor) for column, factor in terms if factor)
        self._rows.append((lower, upper))

    def minimise(
        self, objective: Mapping[int, float], *, seconds: float, relative_gap: float = 0.0
    ) -> Solution:
        """The least objective found within the time, and how good it is proven to be."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        matrix, lower, upper = self._matrix()
        found = milp(
            self._costs(objective),
            integrality=np.array(self._integer, dtype=np.int64),
            bounds=Bounds(np.array(self._lower), np.array(self._upper)),
            constraints=LinearConstraint(matrix, lower, upper),
            options={"time_limit": max(seconds, 0.01), "mip_rel_gap": relative_gap},
        )
        bound = found.mip_dual_bound
        return Solution(
            values=found.x,
            bound=-INFINITY if bound is None else float(bound),
            infeasible=found.status == _INFEASIBLE,
            optimal=found.status == _OPTIMAL,
            message=str(found.message),
        )

    def relax(self, objective: Mapping[int, float], *, seconds: float) -> Relaxation | None:
        """The least objective when no column need be a whole number; None when none was found."""
        from scipy.optimize import linprog
        from scipy.sparse import vstack

        matrix, lower, upper = self._matrix()
        equal = lower == upper
        below, above = ~equal & np.isfinite(upper), ~equal & np.isfinite(lower)
        found = linprog(
            self._costs(objective),
            A_ub=cast(Any, vstack([matrix[below], -matrix[above]])),  # the stubs know dense only
            b_ub=np.concatenate([upper[below], -lower[above]]),
            A_eq=cast(Any, matrix[equal]),
            b_eq=upper[equal],
            bounds=list(zip(self._lower, self._upper, strict=True)),
            method="highs",
            options={"time_limit": max(seconds, 0.01)},
        )
        if found.status != _OPTIMAL or found.fun is None:
            return None
        return Relaxation(
            values=np.asarray(found.x),
            objective=float(found.fun),
            reduced=np.asarray(found.lower.marginals),
        )

    def _costs(self, objective: Mapping[int, float]) -> Values:
        costs = np.zeros(len(self._lower))
        for column, cost in objective.items():
            costs[column] = cost
        return costs

    def _matrix(self) -> tuple[csr_array[np.float64, tuple[int, int]], Values, Values]:
        from scipy.sparse import csr_array

        rows = np.array([row for row, _, _ in self._terms], dtype=np.int64)
        columns = np.array([column for _, column, _ in self._terms], dtype=np.int64)
        factors = np.array([factor for _, _, factor in self._terms], dtype=np.float64)
        shape = (len(self._rows), len(self._lower))
        matrix = csr_array((factors, (rows, columns)), shape=shape)
        lower, upper = np.array(self._rows, dtype=np.float64).reshape(-1, 2).T
        return matrix, lower, upper


# ---------------------------------------------------------------- knapsack tree inequalities
# They make the relaxation strong when node capacities bind. The relaxed program may put half of
# every operator on each of two nodes, and then no stream is cut. But take a node n, an operator r
# and a tree of streams that joins r with operators of load w(v). If r is on n, an operator v of the
# tree is there too unless a stream on the tree's path from r to v crosses n's border. So, with
# ``cut`` the crossings and ``free`` the capacity that pinned operators leave,
#
#     sum over v of w(v) * (sits(r, n) - sum of cut on the path to v) <= free * sits(r, n).
#
# With ``excess = sum of w - free`` and ``below(e)`` the load behind stream e as seen from r, this
# is ``sum over e of min(below(e), excess) * cut(e) >= excess * sits(r, n)``. For a given relaxed
# solution the trees of shortest paths by ``cut`` are the most violated ones. After Ferreira,
# Martin, de Souza, Weismantel and Wolsey, "Formulations and valid inequalities for the node
# capacitated graph partitioning problem" (doi:10.1007/BF02592198); here one for each node, as
# nodes differ in speed.


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


# ---------------------------------------------------------------- the placement problem


@dataclass
class Formulation:
    """The program and the meaning of its columns. ``over`` (elastic only) is how far a capacity is
    exceeded, relative to it. ``usage`` is the objective, in ``unit`` bytes per second."""

    problem: PlacementProblem
    topology: Topology
    program: IntegerProgram = field(default_factory=IntegerProgram)
    sits: dict[tuple[str, str], int] = field(default_factory=dict)
    enters: dict[tuple[str, Arc], int] = field(default_factory=dict)
    over: dict[str, int] = field(default_factory=dict)
    usage: dict[int, float] = field(default_factory=dict)
    unit: float = 1.0
    peak: int = 0

    def on(
        self, process: str, nodes: Iterable[str], factor: float = 1.0
    ) -> list[tuple[int, float]]:
        """Terms of "the process sits on one of these nodes"."""
        pairs = ((process, node) for node in nodes)
        return [(self.sits[pair], factor) for pair in pairs if pair in self.sits]


def formulate(
    problem: PlacementProblem, topology: Topology, *, elastic: bool = False
) -> Formulation:
    """The program of a problem; an elastic one may exceed capacities, at a price."""
    made = Formulation(problem, topology)
    program = made.program
    for process in problem.processes.values():
        fixed = float(len(process.nodes) == 1)
        for node in process.nodes:
            made.sits[process.name, node] = program.column(lower=fixed, integer=True)
        if not fixed:
            program.row(made.on(process.name, process.nodes), 1.0, 1.0)
    for traffic in problem.traffic:
        if topology.behind is None:
            _flow_rows(made, traffic)
        else:
            _cut_rows(made, traffic, topology.behind)
    _capacity_rows(made, elastic)
    volumes = {traffic.stream: traffic.volume for traffic in problem.traffic if traffic.volume}
    if volumes:
        made.unit = max(min(volumes.values()), max(volumes.values()) / 1e5)
    made.usage = {
        column: volumes[stream] / made.unit
        for (stream, _), column in made.enters.items()
        if stream in volumes
    }
    return made


def _cut_rows(made: Formulation, traffic: StreamTraffic, behind: dict[Arc, frozenset[str]]) -> None:
    """A stream takes an arc when its producer is behind it and a reader is not."""
    processes, program = made.problem.processes, made.program
    producer = processes[traffic.stream]
    for arc, side in behind.items():
        readers = [name for name in traffic.readers if not side.issuperset(processes[name].nodes)]
        if not readers or side.isdisjoint(producer.nodes):
            continue
        column = program.column()
        made.enters[traffic.stream, arc] = column
        for reader in readers:
            terms = [(column, 1.0), *made.on(producer.name, side, -1.0), *made.on(reader, side)]
            program.row(terms, lower=0.0)
    zones = set(made.topology.reach.values())
    if len(zones) > 1:
        for reader in traffic.readers:
            for zone in sorted(zones, key=sorted):
                program.row([*made.on(producer.name, zone), *made.on(reader, zone, -1.0)], 0.0, 0.0)


def _flow_rows(made: Formulation, traffic: StreamTraffic) -> None:
    """For each reader one unit flows from the producer's node to the reader's."""
    architecture, program = made.problem.architecture, made.program
    processes = made.problem.processes
    nodes = made.problem.node_capacity
    sources = set(processes[traffic.stream].nodes)
    for arc in made.topology.ways_in:
        if arc[0] not in nodes or arc[0] in sources:
            made.enters[traffic.stream, arc] = program.column(integer=True)
    for reader in traffic.readers:
        targets = set(processes[reader].nodes)
        if sources == targets and len(sources) == 1:
            continue
        flow: dict[Arc, int] = {}
        for tail, medium in made.topology.ways_in:
            if (traffic.stream, (tail, medium)) in made.enters:
                flow[tail, medium] = program.column()
                enters = made.enters[traffic.stream, (tail, medium)]
                program.row([(enters, 1.0), (flow[tail, medium], -1.0)], lower=0.0)
            if tail not in nodes or tail in targets:
                flow[medium, tail] = program.column()
        for vertex, neighbours in architecture.neighbours.items():
            out = [(flow[vertex, n], 1.0) for n in neighbours if (vertex, n) in flow]
            into = [(flow[n, vertex], -1.0) for n in neighbours if (n, vertex) in flow]
            made_here = made.on(traffic.stream, [vertex], -1.0)
            read_here = made.on(reader, [vertex])
            program.row([*out, *into, *made_here, *read_here], 0.0, 0.0)
            if vertex in nodes and out and into:
                program.row([*out, *made_here], upper=0.0)  # nodes do not forward


def _capacity_rows(made: Formulation, elastic: bool) -> None:
    problem, program = made.problem, made.program
    made.peak = program.column(upper=INFINITY if elastic else 1.0)

    def terms_over(name: str, capacity: float) -> list[tuple[int, float]]:
        if not elastic:
            return []
        made.over[name] = program.column(upper=INFINITY)
        return [(made.over[name], -capacity)]

    for node, capacity in problem.node_capacity.items():
        loads = [
            (made.sits[process.name, node], process.loads[node])
            for process in problem.processes.values()
            if process.loads.get(node)
        ]
        if loads:
            program.row([*loads, (made.peak, -capacity)], upper=0.0)
            if elastic:
                program.row([*loads, *terms_over(node, capacity)], upper=capacity)
    occupancy = {traffic.stream: traffic.occupancy for traffic in problem.traffic}
    for medium, capacity in problem.medium_capacity.items():
        shares = [
            (column, occupancy[stream][medium])
            for (stream, arc), column in made.enters.items()
            if arc[1] == medium
        ]
        if sum(share for _, share in shares) > capacity:
            program.row([*shares, *terms_over(medium, capacity)], upper=capacity)
