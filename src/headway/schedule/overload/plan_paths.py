"""A compiled query as paths over nodes, for end-to-end admission; and what its nodes must hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headway.errors import TaskSetError
from headway.model.plan import Plan
from headway.model.taskset import TaskSet, check_hard_load
from headway.schedule.overload.distributed import Path, Stage
from headway.schedule.overload.from_plan import OperatorPath, operator_paths, task_sets_of


def check_nodes(sets: Iterable[TaskSet]) -> None:
    """Hard paths within 1 − α on every node; TaskSetError names the node and the output to blame
    first, which is where the query file says something about it."""
    for task_set in sets:
        try:
            check_hard_load(task_set)
        except TaskSetError as error:
            raise TaskSetError(
                replace(
                    problem,
                    what=f"on {task_set.name!r} {problem.what}",
                    at=f"outputs.{problem.at.partition('→')[2].partition(' ')[0]}",
                )
                for problem in error.problems
            ) from None


def paths_over_nodes(plan: Plan) -> list[Path]:
    """The operator paths of a plan with a stage on each node they visit.

    Windows are those of :func:`task_sets_of`; latencies are those of the messages in between."""
    tasks = {
        (task_set.name, task.name): task
        for task_set in task_sets_of(plan)
        for task in task_set.tasks
    }
    placement = dict(plan.placement)
    found = []
    for path in operator_paths(plan):
        nodes = list(dict.fromkeys(placement[name] for name in path.operators))
        visited = [node for node in nodes if (node, path.name) in tasks]
        stages = []
        for index, node in enumerate(visited):
            task = tasks[node, path.name]
            following = visited[index + 1] if index + 1 < len(visited) else None
            latency = _latency(plan, path, node, following) if following else 0
            stages.append(
                Stage(node=node, window=task.deadline, peak=task.peak, latency=latency)
            )  # fmt: skip
        if stages:
            gap = tasks[visited[0], path.name].period
            found.append(Path(name=path.name, kind=path.kind, gap=gap, stages=tuple(stages)))
    return found


def _latency(plan: Plan, path: OperatorPath, sender: str, receiver: str) -> int:
    streams = {path.source.name, *path.operators}
    return max(
        (
            crossing.delay
            for crossing in plan.crossings
            if crossing.stream in streams
            and (crossing.sender, crossing.receiver) == (sender, receiver)
        ),
        default=0,
    )
