"""Pass: relative deadlines by EDF* (AEDSMS equations 1 and 2, S-EDF section 5.3).

A task that feeds outputs gets the shortest of their end-to-end deadlines; for every task it releases,
``d_i - c_i - c(route)``. The least counts. A crossing stream's priority on buses follows the deadline
of its most urgent receiver.
"""

from __future__ import annotations

from dataclasses import replace

from headway.compile.compilation import Compilation
from headway.model.plan import Crossing, Successor, Task
from headway.model.time import format_duration


def deadlines(compilation: Compilation) -> Compilation:
    """Fills in every task's relative deadline, formula and successors, and priorities on buses."""
    graph = compilation.graph
    crossing_of = {(c.stream, c.receiver): c for c in compilation.crossings}
    entered: dict[str, list[Task]] = {}
    for task in compilation.tasks:
        for stream in task.entries:
            entered.setdefault(stream, []).append(task)

    rank = {name: position for position, name in enumerate(graph.order)}
    done: dict[str, Task] = {}
    for task in sorted(compilation.tasks, key=lambda t: rank[t.operators[-1]], reverse=True):
        stream = task.operators[-1]
        links = []
        for follower in entered.get(stream, []):
            crossing = crossing_of.get((stream, follower.node))
            delay = crossing.delay if crossing else 0
            route = tuple(hop.name for hop in crossing.hops) if crossing else ()
            links.append(Successor(task=follower.name, delay=delay, route=route))
        end_to_end = [graph.outputs[name].deadline or 0 for name in task.outputs]
        after = [done[s.task].relative_deadline - done[s.task].cost - s.delay for s in links]
        done[task.name] = replace(
            task,
            relative_deadline=min(end_to_end + after),
            formula=_formula(end_to_end, links),
            successors=tuple(links),
        )
    tasks = tuple(done[task.name] for task in compilation.tasks)
    return replace(compilation, tasks=tasks, crossings=_with_priorities(compilation, entered, done))


def _formula(end_to_end: list[int], links: list[Successor]) -> str:
    """The deadline in the paper's terms: ``min(d4 - c4, d5 - c5) - bus1 - gw - bus2``."""
    fixed = [format_duration(deadline) for deadline in sorted(set(end_to_end))]
    routes = {link.route for link in links}
    common = len(routes) == 1 and not fixed
    terms = [
        " - ".join([f"d{(n := link.task[1:])} - c{n}", *(() if common else link.route)])
        for link in links
    ]
    parts = fixed + terms
    text = parts[0] if len(parts) == 1 else f"min({', '.join(parts)})"
    return " - ".join([text, *next(iter(routes))]) if common else text


def _with_priorities(
    compilation: Compilation, entered: dict[str, list[Task]], done: dict[str, Task]
) -> tuple[Crossing, ...]:
    """Deadline-monotonic bus priorities, one per stream; ties go to the stream declared first."""
    urgency: dict[str, int] = {}
    for crossing in compilation.crossings:
        urgency[crossing.stream] = min(
            done[task.name].relative_deadline - done[task.name].cost
            for task in entered[crossing.stream]
        )
    ranked = {s: rank for rank, s in enumerate(sorted(urgency, key=lambda s: urgency[s]))}
    return tuple(replace(c, priority=ranked[c.stream]) for c in compilation.crossings)
