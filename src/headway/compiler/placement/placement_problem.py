"""The placement problem of AEDSMS section 5.5: what is to be placed, where, and what it uses.

Sources and operators (*processes*) are to sit on node vertices of the architectural graph; streams
between processes are *traffic*. All numbers are for the worst case, the maximum input rates.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from headway.compiler.compilation import Compilation
from headway.compiler.utilisation import fits, operator_load, stream_load
from headway.errors import PlacementError, Problem
from headway.model.operators import Operator
from headway.model.routes import Architecture, architecture_of
from headway.model.vehicle import Vehicle


@dataclass(frozen=True, kw_only=True)
class Process:
    """A source or operator. ``nodes`` are those it may sit on, in the vehicle's order; ``loads``
    its share of a core of each. ``pin`` says why there is only one."""

    name: str
    nodes: tuple[str, ...]
    loads: Mapping[str, float]
    pin: str = ""


@dataclass(frozen=True, kw_only=True)
class StreamTraffic:
    """A stream with its readers. ``volume`` is bytes a second; ``occupancy`` the share of each bus
    or link that it takes when it enters there."""

    stream: str
    readers: tuple[str, ...]
    volume: float
    occupancy: Mapping[str, float]


@dataclass(frozen=True)
class PlacementProblem:
    """Who may sit where, what it takes, and the capacities of nodes and of media (buses, links)."""

    architecture: Architecture
    processes: Mapping[str, Process]
    traffic: tuple[StreamTraffic, ...]

    @cached_property
    def node_capacity(self) -> dict[str, float]:
        """The share of each node's cores that the query may use."""
        nodes = self.architecture.vehicle.nodes
        return {node.name: node.capacity * node.cores for node in nodes}

    @cached_property
    def medium_capacity(self) -> dict[str, float]:
        return {name: medium.capacity for name, medium in self.architecture.media.items()}

    @property
    def settled(self) -> bool:
        """Whether every process has one node only: nothing is left to choose but routes."""
        return all(len(process.nodes) == 1 for process in self.processes.values())


def problem_of(compilation: Compilation, *, free: bool = False) -> PlacementProblem:
    """The placement problem of a compilation whose rates and schemas are known. With ``free`` no
    operator is kept where it is, by a pin or beside its sensor: what other pins could bring."""
    vehicle, graph, rates = compilation.vehicle, compilation.graph, compilation.rates
    architecture = architecture_of(vehicle)
    kept = _kept(compilation)
    if free:
        kept = {name: kept[name] for name in graph.sources}
    processes: dict[str, Process] = {}
    for name in graph.sources:
        node, pin = kept[name]
        processes[name] = Process(name=name, nodes=(node,), loads={node: 0.0}, pin=pin)
    for name in graph.order:
        operator = graph.operators[name]
        input_rates = [rates.get(stream, 0.0) for stream in operator.streams]
        node, pin = kept.get(name, ("", ""))
        able = _able(operator, vehicle)
        if pin == FIRST and node not in able:
            node = ""
        if not able or (node and node not in able):
            raise _unable(operator, vehicle, node, pin)
        nodes = (node,) if node else able
        loads = {
            node.name: operator_load(operator, input_rates, node)
            for node in vehicle.nodes
            if node.name in nodes
        }
        processes[name] = Process(name=name, nodes=nodes, loads=loads, pin=pin)
    traffic = []
    for stream in processes:
        if not graph.consumers[stream]:
            continue
        rate, size = rates.get(stream, 0.0), compilation.schemas[stream].size_bytes
        occupancy = {
            name: stream_load(rate, size, medium) for name, medium in architecture.media.items()
        }
        traffic.append(
            StreamTraffic(
                stream=stream,
                readers=graph.consumers[stream],
                volume=rate * size,
                occupancy=occupancy,
            )
        )
    return PlacementProblem(architecture, processes, tuple(traffic))


PINNED = "it is pinned there"
FIRST = "it is its sensor's first operator"
"""Why an operator has one node only."""


def _able(operator: Operator, vehicle: Vehicle) -> tuple[str, ...]:
    """The nodes on whose kind of processor the operator has a cost."""
    cost = operator.cost
    return tuple(n.name for n in vehicle.nodes if cost is None or cost.on(n.core_kind) is not None)


def _unable(operator: Operator, vehicle: Vehicle, node: str, pin: str) -> PlacementError:
    cost = operator.cost
    kinds = dict.fromkeys(one.core_kind for one in vehicle.nodes)
    if node:
        kinds = {one.core_kind: None for one in vehicle.nodes if one.name == node}
    got = ", ".join("a node without a kind" if kind is None else kind for kind in kinds)
    return PlacementError(
        Problem(
            f"{operator.name} has no cost on {node}, and {pin}"
            if node
            else f"{operator.name} can run on no node",
            at=f"operators.{operator.name}.cost",
            got=f"costs for {', '.join(kind for kind, _ in cost.kinds)}; {got}" if cost else got,
            want="add the kind, or 'base' for all others; nodes say theirs with 'kind'",
        )
    )


def _kept(compilation: Compilation) -> dict[str, tuple[str, str]]:
    """What may not be moved, with its node and the reason.

    Sources sit at their sensors. The vehicle's pins hold; besides, a sensor's first operator stays
    where the sensor is: one that reads sources only, all of them at one node.
    """
    vehicle, graph = compilation.vehicle, compilation.graph
    sensors = dict(vehicle.sensors)
    if len(vehicle.nodes) == 1:
        only = vehicle.nodes[0].name
        sensors = dict.fromkeys(graph.sources, only) | sensors
    missing = [name for name in graph.sources if name not in sensors]
    if missing:
        raise PlacementError(
            Problem(
                f"no node is named for source {name}",
                at="sensors",
                want=f"say where it enters, such as '{name}: {vehicle.nodes[0].name}'",
            )
            for name in missing
        )
    pins = dict(vehicle.pins)
    kept = {name: (sensors[name], "its sensor is there") for name in graph.sources}
    for name in graph.order:
        streams = graph.operators[name].streams
        homes = {sensors[stream] for stream in streams if stream in graph.sources}
        if name in pins:
            kept[name] = (pins[name], PINNED)
        elif len(homes) == 1 and all(stream in graph.sources for stream in streams):
            kept[name] = (homes.pop(), FIRST)
    return kept


# ------------------------------------------------------------- the shape of the architectural graph


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


# ---------------------------------------------------------------- a candidate answer
# What it uses is computed here and never read off the solver.


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
