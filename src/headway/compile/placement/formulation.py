"""The placement problem as a mixed-integer program over the architectural graph (AEDSMS 5.5).

Columns: ``sits`` (process on node), ``enters`` (stream takes a way into a medium) and ``peak`` (the
largest node load over its capacity). A multicast stream has one ``enters`` column per way, at least
as large as what any of its readers needs, so it counts there once.

Where routes are unique, ``enters >= (producer behind the arc) - (reader behind the arc)`` says all:
it is what the flow rows below become on a tree when the flows are eliminated. Only where several
routes exist are there flow columns, one set for each stream and reader.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from headway.compile.placement.layout import Arc
from headway.compile.placement.problem import PlacementProblem, Traffic
from headway.compile.placement.program import INFINITY, Program
from headway.compile.placement.topology import Topology


@dataclass
class Formulation:
    """The program and the meaning of its columns. ``over`` (elastic only) is how far a capacity is
    exceeded, relative to it. ``usage`` is the objective, in ``unit`` bytes per second."""

    problem: PlacementProblem
    topology: Topology
    program: Program = field(default_factory=Program)
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


def _cut_rows(made: Formulation, traffic: Traffic, behind: dict[Arc, frozenset[str]]) -> None:
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


def _flow_rows(made: Formulation, traffic: Traffic) -> None:
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
