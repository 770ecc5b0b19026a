"""A compiled query as paths over nodes, for end-to-end admission; and what its nodes must hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from headway.errors import Problem, TaskSetError
from headway.model.plan import Plan
from headway.model.taskset import Kind, TaskSet, check_hard_load, percent
from headway.schedule.overload.distributed import Path, Stage
from headway.schedule.overload.from_plan import (
    OperatorPath,
    beyond_names,
    operator_paths,
    task_sets_of,
    times_beyond,
)


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


def paths_beyond(plan: Plan) -> list[Path]:
    """What load shedders would drop, as soft paths of their own."""
    by_name = {path.name: path for path in operator_paths(plan)}
    found = []
    for path in paths_over_nodes(plan):
        times = times_beyond(by_name[path.name])
        most = max(int(stage.peak * times) for stage in path.stages)
        names = beyond_names(by_name[path.name], most)
        stages = tuple(
            replace(stage, peak=max(1, int(stage.peak * times) // len(names)))
            for stage in path.stages
            if names
        )
        found += [replace(path, name=name, kind=Kind.SOFT, stages=stages) for name in names]
    return found


def at_load(paths: Sequence[Path], load: int) -> list[Path]:
    """The paths with soft stages scaled so that on the node that is asked for most ``load``
    (millionths) is requested."""
    hard, soft = _asked(paths, hard=True), _asked(paths, hard=False)
    fitting = [Fraction(load - hard.get(node, 0), use) for node, use in soft.items() if use]
    factor = min(fitting, default=Fraction(1))
    if factor < 0:
        raise TaskSetError(
            Problem(
                f"the load cannot be {percent(load)}",
                got=", ".join(f"{node} {percent(use)}" for node, use in hard.items()),
                want="only soft paths are scaled: ask for more than the hard ones need",
            )
        )
    return [
        path
        if path.hard
        else replace(
            path,
            stages=tuple(replace(s, peak=max(1, int(s.peak * factor))) for s in path.stages),
        )
        for path in paths
    ]


def _asked(paths: Sequence[Path], *, hard: bool) -> dict[str, int]:
    asked: dict[str, int] = {}
    for path in paths:
        for stage in path.stages:
            if path.hard is hard:
                asked[stage.node] = asked.get(stage.node, 0) + stage.peak
    return asked


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
