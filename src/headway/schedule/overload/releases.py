"""The jobs of a trial, drawn before it runs: every policy meets the same ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from headway.model.taskset import FULL, OverloadTask, TaskSet

Release = tuple[int, int, int, int, int]
"""(release time, absolute deadline, task, execution time, utilisation)"""


def draw_releases(
    task_set: TaskSet, duration: int, random: np.random.Generator
) -> list[Release]:  # fmt: skip
    """All releases before ``duration`` (ns), in order of admission: by time, then by deadline, then
    by place in the set, hard tasks first."""
    drawn: list[Release] = []
    for index, task in enumerate(task_set.tasks):
        times = _times(task, duration, random)
        for time, use in zip(times, task.utilisation.draw(len(times), random), strict=True):
            execution = max(1, task.deadline * use // FULL)
            drawn.append((time, time + task.deadline, index, execution, use))
    return in_order(task_set.tasks, drawn)


def in_order(tasks: Sequence[OverloadTask], releases: list[Release]) -> list[Release]:
    """Releases as admission takes them."""
    return sorted(releases, key=release_order(tasks))


def release_order(tasks: Sequence[OverloadTask]) -> Callable[[Release], tuple[int, ...]]:
    """The key of :func:`in_order`."""
    soft = [not task.hard for task in tasks]
    return lambda one: (one[0], one[1], soft[one[2]], one[2])


def _times(task: OverloadTask, duration: int, random: np.random.Generator) -> list[int]:
    """Periodic tasks begin at 0 (section 2.3); sporadic ones at any time within their first gap."""
    if not task.sporadic:
        return list(range(0, duration, task.period))
    first = int(random.integers(0, task.period))
    if task.mean_gap is None or task.mean_gap == task.period:
        return list(range(first, duration, task.period))
    times, more = [first], task.mean_gap - task.period
    most = duration // task.period + 1
    for extra in random.exponential(more, most):
        times.append(times[-1] + task.period + int(extra))
        if times[-1] >= duration:
            break
    return [time for time in times if time < duration]
