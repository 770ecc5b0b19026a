"""Why there is no placement: which capacity binds and by how much, or which stream has no route."""

from __future__ import annotations

from headway.compiler.placement.integer_program import IntegerProgram, formulate
from headway.compiler.placement.placement_problem import (
    FIRST,
    PINNED,
    Arc,
    Layout,
    Measures,
    PlacementProblem,
    Topology,
    arcs_of,
    lay_out,
    measure,
)
from headway.compiler.utilisation import fits
from headway.errors import PlacementError, Problem
from headway.model.vehicle import Link

_SECONDS = 20.0
_MOST_NAMED = 4


def out_of_time(seconds: float, message: str) -> PlacementError:
    """The search ended without a placement and without a proof that there is none."""
    return PlacementError(
        f"no placement was found in {seconds:g} s, nor a proof that there is none",
        got=message,
        want="allow more time, or pin some operators",
    )


def no_placement(problem: PlacementProblem, topology: Topology) -> PlacementError:
    """The reason for a proven lack of placements: a missing route, or else the least overload."""
    unreachable = _unreachable(problem, topology)
    if unreachable:
        return PlacementError(unreachable)
    made = formulate(problem, topology, elastic=True)
    price = dict.fromkeys(made.over.values(), 1.0)
    solution = made.program.minimise(price, seconds=_SECONDS, relative_gap=0.01)
    layout = None
    if solution.values is not None:
        chosen = {
            n: node for (n, node), column in made.sits.items() if solution.values[column] > 0.5
        }
        ways: dict[str, set[Arc]] | None = None
        if topology.behind is None:
            ways = {traffic.stream: set() for traffic in problem.traffic}
            for (stream, arc), column in made.enters.items():
                if solution.values[column] > 0.5:
                    ways[stream].add(arc)
        layout = lay_out(problem, chosen, ways)
    if layout is None:
        return PlacementError(
            "no placement respects the capacities of the vehicle's nodes and buses"
        )
    return overload(problem, layout, measure(problem, layout))


def overload(problem: PlacementProblem, layout: Layout, found: Measures) -> PlacementError:
    """Each node, bus and link of a layout that is over its capacity."""
    problems = []
    for node, load in found.node_loads.items():
        if not fits(load, problem.node_capacity[node]):
            problems.append(_node_problem(problem, layout, node, load))
    for medium, load in found.medium_loads.items():
        if not fits(load, problem.medium_capacity[medium]):
            problems.append(_medium_problem(problem, layout, medium, load))
    return PlacementError(problems or "no placement respects the vehicle's capacities")


def _node_problem(problem: PlacementProblem, layout: Layout, node: str, load: float) -> Problem:
    capacity = problem.node_capacity[node]
    here = sorted(
        (
            process
            for process in problem.processes.values()
            if layout.placement[process.name] == node
        ),
        key=lambda process: (-process.loads[node], process.name),
    )
    largest = [process for process in here if process.loads[node] > 0][:_MOST_NAMED]
    advice = "give it a higher execution rate, or lower the sources' rates"
    if len(problem.node_capacity) > 1:
        pinned = [process for process in largest if process.pin == PINNED]
        beside = [process for process in largest if process.pin == FIRST]
        if pinned:
            advice += f", or unpin {pinned[0].name}"
        elif beside:
            advice += f", or pin {beside[0].name}, which stays because {FIRST}, to another node"
    return Problem(
        f"no placement fits: even the best needs {load:.2f} of {capacity:.2f} on {node}",
        at=f"nodes.{node}",
        got=", ".join(f"{process.name} {process.loads[node]:.2f}" for process in largest),
        want=advice,
    )


def _medium_problem(problem: PlacementProblem, layout: Layout, medium: str, load: float) -> Problem:
    shares = {
        traffic.stream: traffic.occupancy[medium]
        * sum(arc[1] == medium for arc in arcs_of(problem, layout, traffic.stream, traffic.readers))
        for traffic in problem.traffic
    }
    largest = sorted((name for name in shares if shares[name]), key=lambda n: (-shares[n], n))
    kind = "links" if isinstance(problem.architecture.media[medium], Link) else "buses"
    ends = {
        name
        for traffic in problem.traffic
        if shares[traffic.stream]
        for name in (traffic.stream, *traffic.readers)
    }
    advice = "make it faster, or lower the sources' rates"
    if pinned := [p.name for p in problem.processes.values() if p.name in ends and p.pin == PINNED]:
        advice += f", or unpin {pinned[0]}"
    return Problem(
        f"no placement fits: even the best needs {load:.2f} of "
        f"{problem.medium_capacity[medium]:.2f} on {medium}",
        at=f"{kind}.{medium}",
        got=", ".join(f"{name} {shares[name]:.2f}" for name in largest[:_MOST_NAMED]),
        want=advice,
    )


def _unreachable(problem: PlacementProblem, topology: Topology) -> list[Problem]:
    """Streams without a route in the placement that has the fewest of them."""
    nodes = list(problem.node_capacity)
    if all(len(reached) == len(nodes) for reached in topology.reach.values()):
        return []
    program = IntegerProgram()
    sits: dict[tuple[str, str], int] = {}
    for process in problem.processes.values():
        for node in process.nodes:
            sits[process.name, node] = program.column(integer=True)
        program.row([(sits[process.name, node], 1.0) for node in process.nodes], 1.0, 1.0)
    broken: dict[tuple[str, str], int] = {}
    for traffic in problem.traffic:
        for reader in traffic.readers:
            broken[traffic.stream, reader] = column = program.column()
            for node in problem.processes[traffic.stream].nodes:
                away = [n for n in problem.processes[reader].nodes if n not in topology.reach[node]]
                terms = [(sits[reader, other], -1.0) for other in away]
                program.row([(column, 1.0), (sits[traffic.stream, node], -1.0), *terms], lower=-1.0)
    solution = program.minimise(dict.fromkeys(broken.values(), 1.0), seconds=_SECONDS)
    values = solution.values
    if values is None:
        return []
    place = {name: node for (name, node), column in sits.items() if values[column] > 0.5}
    return [
        Problem(
            f"stream {stream} cannot reach {reader}: no route leads from {place[stream]} "
            f"to {place[reader]}",
            at=f"operators.{reader}",
            got="; ".join(
                f"{name} is on {place[name]} because {problem.processes[name].pin}"
                for name in (stream, reader)
                if problem.processes[name].pin
            ),
            want="join their buses by a gateway or a link, or change the pins",
        )
        for (stream, reader), column in broken.items()
        if values[column] > 0.5
    ]
