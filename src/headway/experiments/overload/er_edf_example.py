"""The ROP-EDF paper's example of a hard task that is rejected (section 3, table 1, figure 5)."""

from __future__ import annotations

from headway.model.quantities import MILLISECOND
from headway.model.taskset import FULL, OverloadTask, Range, TaskKind, TaskSet
from headway.schedule.overload import Release
from headway.schedule.overload.simulate import in_order

UNIT = MILLISECOND
DURATION = 24 * UNIT
TABLE_1 = {
    "H1": (TaskKind.HARD, 12, 20, 25),
    "S1": (TaskKind.SOFT, 10, 30, 40),
    "S2": (TaskKind.SOFT, 10, 20, 30),
    "S3": (TaskKind.SOFT, 10, 30, 50),
}
"""task -> (kind, period and deadline in ms, average and peak utilisation in %)"""
APERIODIC = ("S3",)
JOBS = (
    ("H1", 0, 3), ("S1", 0, 4), ("S2", 0, 3), ("S1", 10, 3), ("S2", 10, 2), ("S3", 11, 5),
    ("H1", 12, 3),
)  # fmt: skip
"""(task, release, execution)"""

RUNS_UNTIL_10 = (("S1", 0, 3), ("S2", 3, 5), ("H1", 5, 8), ("S1", 8, 9), ("S2", 9, 10))
REPLENISHED = (("S1", 8), ("S2", 9))
LEFT_AT_12 = 0.2
REJECTED = (("H1", 12),)
"""under ER-EDF; ROP-EDF rejects no hard job"""


def task_set() -> TaskSet:
    percent = FULL // 100
    return TaskSet(
        name="table 1",
        tasks=tuple(
            OverloadTask(
                name=name,
                kind=kind,
                period=deadline * UNIT,
                deadline=deadline * UNIT,
                utilisation=Range(1, peak * percent, average * percent),
                sporadic=name in APERIODIC,
            )
            for name, (kind, deadline, average, peak) in TABLE_1.items()
        ),
    )


def releases() -> list[Release]:
    tasks = task_set().tasks
    names = [task.name for task in tasks]
    found: list[Release] = []
    for name, release, execution in JOBS:
        index = names.index(name)
        deadline = tasks[index].deadline
        due, use = release * UNIT + deadline, execution * UNIT * FULL // deadline
        found.append((release * UNIT, due, index, execution * UNIT, use))
    return in_order(tasks, found)
