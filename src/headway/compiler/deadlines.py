"""Pass: relative deadlines by EDF* (AEDSMS equations 1 and 2, S-EDF section 5.3).

A task that feeds outputs gets the shortest of their end-to-end deadlines; for every task it
releases, ``d_i - c_i - c(route)``. The least counts. A crossing stream's priority on buses
follows the deadline of its most urgent receiver.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headway.compiler.compilation import Compilation
from headway.model.graph import Graph
from headway.model.plan import Crossing, Successor, Task
from headway.model.quantities import format_duration


def deadlines(compilation: Compilation) -> Compilation:
    """Fills in every task's relative deadline, formula and successors, and priorities on buses."""
    graph, crossings = compilation.graph, compilation.crossings
    tasks = with_deadlines(compilation.tasks, graph, crossings)
    return replace(
        compilation,
        tasks=tasks,
        operator_tasks=with_deadlines(compilation.operator_tasks, graph, crossings),
        crossings=_with_priorities(crossings, tasks),
    )


def with_deadlines(
    tasks: Sequence[Task], graph: Graph, crossings: Sequence[Crossing]
) -> tuple[Task, ...]:
    """The tasks with their relative deadlines by EDF*."""
    crossing_of = {(c.stream, c.receiver): c for c in crossings}
    entered = _entered(tasks)
    rank = {name: position for position, name in enumerate(graph.order)}
    done: dict[str, Task] = {}
    for task in sorted(tasks, key=lambda t: rank[t.operators[-1]], reverse=True):
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
    return tuple(done[task.name] for task in tasks)


def _entered(tasks: Sequence[Task]) -> dict[str, list[Task]]:
    """The tasks that a stream enters."""
    entered: dict[str, list[Task]] = {}
    for task in tasks:
        for stream in task.entries:
            entered.setdefault(stream, []).append(task)
    return entered


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


def _with_priorities(crossings: Sequence[Crossing], tasks: Sequence[Task]) -> tuple[Crossing, ...]:
    """Deadline-monotonic bus priorities, one per stream; ties go to the stream declared first."""
    entered = _entered(tasks)
    urgency = {
        crossing.stream: min(t.relative_deadline - t.cost for t in entered[crossing.stream])
        for crossing in crossings
    }
    ranked = {s: rank for rank, s in enumerate(sorted(urgency, key=lambda s: urgency[s]))}
    return tuple(replace(c, priority=ranked[c.stream]) for c in crossings)
