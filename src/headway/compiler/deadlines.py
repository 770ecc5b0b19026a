"""Pass: relative deadlines by EDF* (AEDSMS equations 1 and 2, S-EDF section 5.3).

A task that feeds outputs gets the shortest of their end-to-end deadlines; for every task it
releases, ``d_i - c_i - c(route)``. The least counts. A crossing stream's priority on buses
follows the deadline of its most urgent receiver.

``c(route)`` is the time of the tuple's own frames on the way. Where the vehicle says
``bus_charge: ahead``, each bus is charged for one tuple of every stream of higher priority as well:
that gives AEDSMS table 1 as it is printed (``2 cBus1``). Who goes ahead of whom is taken from the
deadlines without that charge, and those priorities stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from headway.compiler.compilation import Compilation
from headway.model.graph import Graph
from headway.model.plan import Crossing, HopKind, Successor, Task
from headway.model.quantities import format_duration
from headway.model.vehicle import BusCharge


def deadlines(compilation: Compilation) -> Compilation:
    """Fills in every task's relative deadline, formula and successors, and priorities on buses."""
    graph, crossings = compilation.graph, compilation.crossings
    tasks = with_deadlines(compilation.tasks, graph, crossings)
    crossings = _with_priorities(crossings, tasks)
    ahead: Ahead = {}
    if compilation.vehicle.bus_charge is BusCharge.AHEAD:
        ahead = _ahead(crossings)
        tasks = with_deadlines(compilation.tasks, graph, crossings, ahead)
    return replace(
        compilation,
        tasks=tasks,
        operator_tasks=with_deadlines(compilation.operator_tasks, graph, crossings, ahead),
        crossings=crossings,
    )


Ahead = Mapping[tuple[str, str], Sequence[int]]
"""(stream, bus or link) -> the time there of one tuple of each stream that goes ahead of it"""


def _ahead(crossings: Sequence[Crossing]) -> Ahead:
    """From the priorities on buses; a stream that goes several ways counts once on a bus."""
    times: dict[str, dict[tuple[int, str], int]] = {}
    for crossing in crossings:
        for hop in crossing.hops:
            if hop.kind is not HopKind.GATEWAY:
                times.setdefault(hop.name, {})[crossing.priority, crossing.stream] = hop.delay
    return {
        (stream, medium): [time for (other, _), time in sorted(found.items()) if other < priority]
        for medium, found in times.items()
        for priority, stream in found
    }


def with_deadlines(
    tasks: Sequence[Task],
    graph: Graph,
    crossings: Sequence[Crossing],
    ahead: Ahead = MappingProxyType({}),
) -> tuple[Task, ...]:
    """The tasks with their relative deadlines by EDF*; ``ahead`` is charged on the way."""
    crossing_of = {(c.stream, c.receiver): c for c in crossings}
    entered = _entered(tasks)
    rank = {name: position for position, name in enumerate(graph.order)}
    done: dict[str, Task] = {}
    for task in sorted(tasks, key=lambda t: rank[t.operators[-1]], reverse=True):
        stream = task.operators[-1]
        links = []
        ways: dict[tuple[str, ...], tuple[str, ...]] = {}
        for follower in entered.get(stream, []):
            crossing = crossing_of.get((stream, follower.node))
            hops = crossing.hops if crossing else ()
            route = tuple(hop.name for hop in hops)
            others = {name: ahead.get((stream, name), ()) for name in route}
            delay = sum(hop.delay + sum(others[hop.name]) for hop in hops)
            links.append(Successor(task=follower.name, delay=delay, route=route))
            ways[route] = tuple(
                f"{1 + len(others[name])} {name}" if others[name] else name for name in route
            )
        end_to_end = [graph.outputs[name].deadline or 0 for name in task.outputs]
        after = [done[s.task].relative_deadline - done[s.task].cost - s.delay for s in links]
        done[task.name] = replace(
            task,
            relative_deadline=min(end_to_end + after),
            formula=_formula(end_to_end, links, ways),
            successors=tuple(links),
        )
    return tuple(done[task.name] for task in tasks)


def _entered(tasks: Sequence[Task]) -> dict[str, list[Task]]:
    """The tasks that a stream enters."""
    entered: dict[str, list[Task]] = {}
    for task in tasks:
        for stream in task.entries:
            entered.setdefault(stream, []).append(task)
    return entered


def _formula(
    end_to_end: list[int],
    links: list[Successor],
    ways: Mapping[tuple[str, ...], tuple[str, ...]],
) -> str:
    """The deadline in the paper's terms: ``min(d4 - c4, d5 - c5) - bus1 - gw - bus2``; ``2 bus1``
    where a tuple of another stream is charged there, too."""
    fixed = [format_duration(deadline) for deadline in sorted(set(end_to_end))]
    routes = {link.route for link in links}
    common = len(routes) == 1 and not fixed
    terms = [
        " - ".join([f"d{(n := link.task[1:])} - c{n}", *(() if common else ways[link.route])])
        for link in links
    ]
    parts = fixed + terms
    text = parts[0] if len(parts) == 1 else f"min({', '.join(parts)})"
    return " - ".join([text, *ways[next(iter(routes))]]) if common else text


def _with_priorities(crossings: Sequence[Crossing], tasks: Sequence[Task]) -> tuple[Crossing, ...]:
    """Deadline-monotonic bus priorities, one per stream; ties go to the stream declared first."""
    entered = _entered(tasks)
    urgency = {
        crossing.stream: min(t.relative_deadline - t.cost for t in entered[crossing.stream])
        for crossing in crossings
    }
    ranked = {s: rank for rank, s in enumerate(sorted(urgency, key=lambda s: urgency[s]))}
    return tuple(replace(c, priority=ranked[c.stream]) for c in crossings)
