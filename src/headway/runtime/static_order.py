"""Facts about units that the static policies need: order, level, processing capacity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headway.model.plan import Task
from headway.model.quantities import SECOND


@dataclass(frozen=True, slots=True)
class StaticOrder:
    """By task name. ``rank`` is topological with the branch to the shorter deadline first;
    ``position`` that of the plan's static schedule, or the rank."""

    rank: dict[str, int]
    position: dict[str, int]
    level: dict[str, int]
    capacity: dict[str, float]


def static_order(tasks: Sequence[Task], scheduled: Sequence[str] = ()) -> StaticOrder:
    """Ranks, levels and capacities of the tasks of all nodes together.

    ``scheduled``: the operators by their start in a static schedule."""
    by_name = {task.name: task for task in tasks}
    ranked = _ranked(tasks)
    level: dict[str, int] = {}
    fastest_in: dict[str, int] = {}
    for name in ranked:
        task = by_name[name]
        level.setdefault(name, 0)
        fastest_in.setdefault(name, 0)
        for follower in task.successors:
            reached = level[name] + len(task.operators)
            level[follower.task] = max(level.get(follower.task, 0), reached)
            so_far = fastest_in[name] + task.cost
            fastest_in[follower.task] = min(fastest_in.get(follower.task, so_far), so_far)
    fastest_out: dict[str, int] = {}
    for name in reversed(ranked):
        task = by_name[name]
        after = [fastest_out[follower.task] for follower in task.successors]
        fastest_out[name] = task.cost + min(after, default=0)
    capacity = {name: SECOND / max(fastest_in[name] + fastest_out[name], 1) for name in ranked}
    for name in ranked:  # branches are scheduled together with the path they leave
        for follower in by_name[name].successors:
            capacity[follower.task] = max(capacity[follower.task], capacity[name])
    rank = {name: i for i, name in enumerate(ranked)}
    starts = {operator: i for i, operator in enumerate(scheduled)}
    position = {
        name: starts.get(by_name[name].operators[0], len(starts) + rank[name]) for name in ranked
    }
    return StaticOrder(rank, position, level, capacity)


def _ranked(tasks: Sequence[Task]) -> list[str]:
    """Reverse postorder of a depth-first walk that visits the longest deadline first."""
    by_name = {task.name: task for task in tasks}

    def children(task: Task) -> list[str]:
        later = sorted(
            enumerate(task.successors),
            key=lambda item: (by_name[item[1].task].relative_deadline, item[0]),
            reverse=True,
        )
        return [follower.task for _, follower in later]

    followed = {follower.task for task in tasks for follower in task.successors}
    roots = [task for task in tasks if task.name not in followed]
    roots.sort(key=lambda task: -task.relative_deadline)
    seen: set[str] = set()
    finished: list[str] = []
    for root in roots:
        stack = [(root.name, iter(children(root)))]
        if root.name in seen:
            continue
        seen.add(root.name)
        while stack:
            name, rest = stack[-1]
            child = next((c for c in rest if c not in seen), None)
            if child is None:
                finished.append(name)
                stack.pop()
            else:
                seen.add(child)
                stack.append((child, iter(children(by_name[child]))))
    return finished[::-1]
