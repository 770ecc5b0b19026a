"""What can be said before anything runs: the room for soft tasks, and what each may expect.

Hard tasks are safe up to 1 − α (theorem 1), so 1 − C_SUMH − α is left for soft ones. A soft task
for whose jobs there is always room never misses; one whose smallest job does not fit is never
admitted; between the two it depends on the others, and policy 2 reserves a share ω for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from headway.model.taskset import FULL, Constant, OverloadTask, Range, TaskSet


class Chance(StrEnum):
    ALWAYS = "always in time"
    SOMETIMES = "in time when there is room"
    NEVER = "never"


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """Of a soft task. ``reserved`` is what policy 2 keeps for it, at most its peak."""

    task: str
    wanted: int
    reserved: int
    whole_jobs: Chance
    """under policy 1"""
    shares: Chance
    """under policy 2"""


def soft_room(task_set: TaskSet) -> int:
    """1 − C_SUMH − α"""
    return FULL - task_set.overhead - task_set.hard_capacity


def expectations(task_set: TaskSet) -> list[Expectation]:
    """One for every soft task."""
    soft = [task for task in task_set.tasks if not task.hard]
    room, total = FULL - task_set.hard_capacity, sum(task.average for task in soft)
    left = room - task_set.overhead
    calm = sum(task.peak for task in soft) <= left and all(t.deadline <= t.period for t in soft)
    found = []
    for task in soft:
        share = room * task.average // total if total else 0
        # All shares together are the whole room, so with α above 0 the last may find none.
        shares_fit = task_set.overhead == 0 or sum(room * t.average // total for t in soft) <= left
        one_at_a_time = task.deadline <= task.period
        kept = calm or (shares_fit and one_at_a_time and share >= task.peak)
        found.append(
            Expectation(
                task=task.name,
                wanted=task.average,
                reserved=min(share, task.peak),
                whole_jobs=_whole(task, left, calm),
                shares=Chance.ALWAYS if kept and share <= left else _shares(share, left),
            )
        )
    return found


def _whole(task: OverloadTask, left: int, calm: bool) -> Chance:
    if calm:
        return Chance.ALWAYS
    return Chance.NEVER if _least(task) > left else Chance.SOMETIMES


def _shares(share: int, left: int) -> Chance:
    return Chance.NEVER if share > left else Chance.SOMETIMES


def _least(task: OverloadTask) -> int:
    use = task.utilisation
    if isinstance(use, Constant):
        return use.value
    return use.low if isinstance(use, Range) else min(use.values)
