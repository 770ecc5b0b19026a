"""The shape of the architectural graph: are routes unique, and what each way in separates."""

from __future__ import annotations

from dataclasses import dataclass

from headway.compile.placement.layout import Arc, routes_from
from headway.model.routes import Architecture


@dataclass(frozen=True)
class Topology:
    """``ways_in`` are the arcs into media. ``behind`` gives, where routes are unique, the nodes on
    the far side of each: a stream takes the arc just when its producer is behind it and a reader is
    not. ``reach`` lists for each node those it can send to, itself included."""

    ways_in: tuple[Arc, ...]
    behind: dict[Arc, frozenset[str]] | None
    reach: dict[str, frozenset[str]]


def topology_of(architecture: Architecture) -> Topology:
    """The topology of an architectural graph."""
    nodes = [node.name for node in architecture.vehicle.nodes]
    ways_in = tuple(
        (neighbour, medium)
        for medium in architecture.media
        for neighbour in architecture.neighbours[medium]
    )
    behind = None
    if _routes_are_unique(architecture, nodes):
        behind = {arc: _behind(architecture, arc) for arc in ways_in}
    reach = {node: frozenset(routes_from(architecture, node)) for node in nodes}
    return Topology(ways_in, behind, reach)


def _routes_are_unique(architecture: Architecture, nodes: list[str]) -> bool:
    """Whether media and gateways form a forest to which each node is attached once at most."""
    if any(len(architecture.neighbours[node]) > 1 for node in nodes):
        return False
    seen: set[str] = set()
    inner = [name for name in architecture.neighbours if name not in nodes]
    edges = sum(
        neighbour not in nodes for name in inner for neighbour in architecture.neighbours[name]
    )
    trees = 0
    for name in inner:
        if name not in seen:
            trees += 1
            seen |= _flood(architecture, name, set(nodes))
    return edges // 2 == len(inner) - trees


def _behind(architecture: Architecture, arc: Arc) -> frozenset[str]:
    nodes = {node.name for node in architecture.vehicle.nodes}
    tail, medium = arc
    return frozenset(_flood(architecture, tail, {medium}) & nodes)


def _flood(architecture: Architecture, start: str, closed: set[str]) -> set[str]:
    """All that is connected with a vertex without the closed ones."""
    seen, stack = {start}, [start]
    while stack:
        for neighbour in architecture.neighbours[stack.pop()]:
            if neighbour not in seen and neighbour not in closed:
                seen.add(neighbour)
                stack.append(neighbour)
    return seen
