"""A candidate answer and what it uses, computed here and never read off the solver."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from headway.compile.load import fits
from headway.compile.placement.problem import PlacementProblem
from headway.model.routes import Architecture

Arc = tuple[str, str]
"""(node or gateway, medium): a way into a bus or link of the architectural graph."""


@dataclass(frozen=True)
class Layout:
    """``placement``: process -> node. ``routes``: (stream, receiving node) -> vertices passed."""

    placement: Mapping[str, str]
    routes: Mapping[tuple[str, str], tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class Measures:
    """What a layout uses. ``usage`` is the data volume entering buses and links, in bytes a second
    (a multicast stream counts once per way in); ``peak`` the largest node load over capacity."""

    usage: float
    node_loads: Mapping[str, float]
    medium_loads: Mapping[str, float]
    peak: float


def measure(problem: PlacementProblem, layout: Layout) -> Measures:
    """The usage and loads of a layout."""
    node_loads = dict.fromkeys(problem.node_capacity, 0.0)
    for name, node in layout.placement.items():
        node_loads[node] += problem.processes[name].loads[node]
    usage = 0.0
    medium_loads = dict.fromkeys(problem.medium_capacity, 0.0)
    for traffic in problem.traffic:
        for _, medium in arcs_of(problem, layout, traffic.stream, traffic.readers):
            usage += traffic.volume
            medium_loads[medium] += traffic.occupancy[medium]
    peak = max(
        (_over(load, problem.node_capacity[node]) for node, load in node_loads.items()),
        default=0.0,
    )
    return Measures(usage=usage, node_loads=node_loads, medium_loads=medium_loads, peak=peak)


def _over(load: float, capacity: float) -> float:
    return load / capacity if capacity else float("inf") if load else 0.0


def arcs_of(
    problem: PlacementProblem, layout: Layout, stream: str, readers: Iterable[str]
) -> set[Arc]:
    """The ways by which a stream enters media."""
    start = layout.placement[stream]
    arcs: set[Arc] = set()
    for receiver in {layout.placement[reader] for reader in readers} - {start}:
        before = start
        for vertex in layout.routes[stream, receiver]:
            if vertex in problem.medium_capacity:
                arcs.add((before, vertex))
            before = vertex
    return arcs


def respects_capacities(problem: PlacementProblem, measures: Measures) -> bool:
    return all(
        fits(load, problem.node_capacity[name]) for name, load in measures.node_loads.items()
    ) and all(
        fits(load, problem.medium_capacity[name]) for name, load in measures.medium_loads.items()
    )


def lay_out(
    problem: PlacementProblem,
    placement: Mapping[str, str],
    ways: Mapping[str, Collection[Arc]] | None = None,
) -> Layout | None:
    """The layout of a placement with the shortest routes, by the given ways into media if any are
    given. None when a stream cannot reach a reader."""
    routes: dict[tuple[str, str], tuple[str, ...]] = {}
    for traffic in problem.traffic:
        start = placement[traffic.stream]
        receivers = dict.fromkeys(placement[reader] for reader in traffic.readers)
        receivers.pop(start, None)
        if not receivers:
            continue
        allowed = None if ways is None else ways.get(traffic.stream, ())
        tree = routes_from(problem.architecture, start, allowed)
        for receiver in receivers:
            if receiver not in tree:
                return None
            routes[traffic.stream, receiver] = tree[receiver]
    return Layout(dict(placement), routes)


def routes_from(
    architecture: Architecture, start: str, allowed: Collection[Arc] | None = None
) -> dict[str, tuple[str, ...]]:
    """Shortest routes from a node to all nodes it reaches; together they form a tree. Nodes do not
    forward. With ``allowed``, media are entered by these ways only."""
    nodes = {node.name for node in architecture.vehicle.nodes}
    reached: dict[str, tuple[str, ...]] = {start: ()}
    frontier = [start]
    while frontier:
        further: list[str] = []
        for vertex in frontier:
            passed = reached[vertex] if vertex == start else (*reached[vertex], vertex)
            for neighbour in architecture.neighbours[vertex]:
                closed = allowed is not None and neighbour in architecture.media
                if neighbour in reached or (closed and (vertex, neighbour) not in (allowed or ())):
                    continue
                reached[neighbour] = passed
                if neighbour not in nodes:
                    further.append(neighbour)
        frontier = further
    return {vertex: route for vertex, route in reached.items() if vertex in nodes}
