"""The placement pass: which node runs each operator, and by which route each stream travels.

The order of aims is lexicographic: (1) the data volume that enters buses and links, (2) given that,
the largest node load over its capacity, (3) given both, operators early in the query's order sit on
nodes early in the vehicle's: the least ``sum of (operators - i) * position of operator i's node``.
HiGHS is deterministic, so the same input gives the same placement unless a time limit cuts in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import monotonic

from headway.compiler.compilation import Compilation
from headway.compiler.placement import integer_program
from headway.compiler.placement.explain_placement import no_placement, out_of_time, overload
from headway.compiler.placement.local_search import anneal, even_out
from headway.compiler.placement.placement_problem import (
    Arc,
    Layout,
    Measures,
    PlacementProblem,
    Topology,
    lay_out,
    measure,
    problem_of,
    respects_capacities,
    topology_of,
)

_ROUNDS = 20
_USAGE_SHARE, _BALANCE_SHARE = (
    0.7,
    0.85,
)  # of the time: usage ends by the first, balance by the second


@dataclass(frozen=True, kw_only=True)
class PlacementOptions:
    """``seconds`` bounds the whole search; it may stop at ``relative_gap`` of the usage's bound."""

    seconds: float = 60.0
    relative_gap: float = 0.0


@dataclass(frozen=True, kw_only=True)
class PlacementResult:
    """The answer and how good it is proven to be: ``gap`` is ``(usage - bound) / usage``."""

    placement: Mapping[str, str]
    routes: Mapping[tuple[str, str], tuple[str, ...]]
    usage: float
    bound: float
    peak: float
    peak_bound: float

    @property
    def gap(self) -> float:
        return max(0.0, 1 - self.bound / self.usage) if self.usage else 0.0


def solve_placement(
    problem: PlacementProblem, options: PlacementOptions | None = None
) -> PlacementResult:
    """The best placement; PlacementError when none keeps the capacities or reaches all readers."""
    options = options or PlacementOptions()
    topology = topology_of(problem.architecture)
    if problem.settled and topology.behind is not None:
        return _settled(problem, topology)
    return _Search(problem, topology, options).run()


def _settled(problem: PlacementProblem, topology: Topology) -> PlacementResult:
    """With one node for each process and unique routes there is nothing to choose."""
    placement = {name: process.nodes[0] for name, process in problem.processes.items()}
    layout = lay_out(problem, placement)
    if layout is None:
        raise no_placement(problem, topology)
    found = measure(problem, layout)
    if not respects_capacities(problem, found):
        raise overload(problem, layout, found)
    return _result(layout, found, found.usage, found.peak)


def _result(layout: Layout, found: Measures, bound: float, peak_bound: float) -> PlacementResult:
    return PlacementResult(
        placement=layout.placement,
        routes=layout.routes,
        usage=found.usage,
        bound=min(bound, found.usage),
        peak=found.peak,
        peak_bound=min(peak_bound, found.peak),
    )


class _Search:
    """The three aims, one after another, on one program."""

    def __init__(
        self, problem: PlacementProblem, topology: Topology, options: PlacementOptions
    ) -> None:
        self.problem, self.topology, self.options = problem, topology, options
        self.started = monotonic()
        self.made = integer_program.formulate(problem, topology)
        self.relaxed: integer_program.Relaxation | None = None

    def left(self, share: float) -> float:
        return self.options.seconds * share - (monotonic() - self.started)

    def run(self) -> PlacementResult:
        layout, found, bound, proven = self._least_usage()
        layout, found = even_out(self.problem, layout, found)
        program, made = self.made.program, self.made
        program.row(made.usage.items(), upper=found.usage / made.unit * (1 + 1e-9))
        program.limit(made.peak, found.peak)
        self._drop(found.usage / made.unit)
        balanced = program.minimise({made.peak: 1.0}, seconds=self.left(_BALANCE_SHARE))
        layout, found = self._better(layout, found, balanced.values)
        peak_bound = 0.0 if balanced.infeasible else max(0.0, balanced.bound)
        if proven and balanced.optimal:
            program.limit(made.peak, found.peak * (1 + 1e-9))
            tidied = program.minimise(_positions(made), seconds=self.left(1.0))
            if tidied.optimal:
                layout, found = self._better(layout, found, tidied.values)
        return _result(layout, found, bound, peak_bound)

    def _least_usage(self) -> tuple[Layout, Measures, float, bool]:
        made, problem = self.made, self.problem
        for _ in range(_ROUNDS):
            self.relaxed = made.program.relax(made.usage, seconds=self.left(0.5))
            if self.relaxed is None:
                break
            rows = integer_program.tree_rows(made, self.relaxed.values)
            if not rows or self.left(0.4) < 0:
                break
            for row in rows:
                made.program.row(row, lower=0.0)
        solution = made.program.minimise(
            made.usage, seconds=self.left(_USAGE_SHARE), relative_gap=self.options.relative_gap
        )
        if solution.infeasible:
            raise no_placement(problem, self.topology)
        best = None if solution.values is None else self._read(solution.values)
        if not solution.optimal or best is None:
            guess = anneal(problem)
            if guess and (best is None or guess[1].usage < best[1].usage):
                best = guess
        if best is None:
            raise out_of_time(self.options.seconds, solution.message)
        return *best, solution.bound * made.unit, solution.optimal

    def _drop(self, most: float) -> None:
        """Rules out the nodes that would cost more than the usage found: those whose reduced cost
        in the relaxed program leads past it."""
        if self.relaxed is None:
            return
        room = most - self.relaxed.objective + 1e-6 * max(1.0, most)
        for column in self.made.sits.values():
            if self.relaxed.values[column] < 1e-9 and self.relaxed.reduced[column] > room:
                self.made.program.limit(column, 0.0)

    def _read(self, values: integer_program.Values) -> tuple[Layout, Measures] | None:
        """The layout of a solution, if it holds up when measured."""
        placement: dict[str, str] = {}
        for (name, node), column in self.made.sits.items():
            if values[column] > 0.5:
                placement[name] = node
        ways: dict[str, set[Arc]] | None = None
        if self.topology.behind is None:
            ways = {traffic.stream: set() for traffic in self.problem.traffic}
            for (stream, arc), column in self.made.enters.items():
                if values[column] > 0.5:
                    ways[stream].add(arc)
        layout = lay_out(self.problem, placement, ways)
        if layout is None:
            return None
        found = measure(self.problem, layout)
        return (layout, found) if respects_capacities(self.problem, found) else None

    def _better(
        self, layout: Layout, found: Measures, values: integer_program.Values | None
    ) -> tuple[Layout, Measures]:
        """The new solution, unless it is none or loses on the aims that come first."""
        read = None if values is None else self._read(values)
        if read is None:
            return layout, found
        usage_kept = read[1].usage <= found.usage * (1 + 1e-7)
        return read if usage_kept and read[1].peak <= found.peak * (1 + 1e-6) else (layout, found)


def _positions(made: integer_program.Formulation) -> dict[int, float]:
    """The tie rule as an objective."""
    movable = [process for process in made.problem.processes.values() if len(process.nodes) > 1]
    return {
        made.sits[process.name, node]: float((len(movable) - index) * position)
        for index, process in enumerate(movable)
        for position, node in enumerate(process.nodes)
    }


def place(compilation: Compilation, options: PlacementOptions | None = None) -> Compilation:
    """Places operators with the least network usage, then the flattest load (AEDSMS 5.5)."""
    result = solve_placement(problem_of(compilation), options)
    return replace(compilation, placement=result.placement, routes=result.routes)
