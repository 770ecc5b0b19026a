"""ROP-EDF study 1 (section 5.2, tables 2 to 5): both admission policies against OP-EDF.

Grid: total requested utilisation 100, 110, 120, 130 % x 10 task sets x policy; 20,000 ms each;
α = 0, deadlines equal periods. ``python benchmarks/bench_overload.py --studies`` prints it::

    cells = analyse(run())
"""

from __future__ import annotations

from collections.abc import Sequence

from headway.experiments.overload.trials import Row, run_trials
from headway.model.quantities import MILLISECOND
from headway.model.taskset import (
    FULL,
    Constant,
    OverloadTask,
    Range,
    TaskKind,
    TaskSet,
    Utilisation,
)

LEVELS = (100, 110, 120, 130)
POLICIES = ("op-edf", "rop-edf-1", "rop-edf-2")
SETS = 10
DURATION = 20_000 * MILLISECOND
_ONE = FULL // 100
_TASKS = {
    "H1": (TaskKind.HARD, 90, 25),
    "H2": (TaskKind.HARD, 100, 16),
    "S1": (TaskKind.SOFT, 200, 26),
    "S2": (TaskKind.SOFT, 150, 18),
    "S3": (TaskKind.SOFT, 100, 15),
}
_GAUSSIAN = {
    100: {},
    110: {"S3": (15, 35)},
    120: {"S3": (15, 55)},
    130: {"S2": (18, 38), "S3": (15, 55)},
}


def task_set(level: int) -> TaskSet:
    """Table 2, 3, 4 or 5."""

    def use(name: str, percent: int) -> Utilisation:
        if name in _GAUSSIAN[level]:
            low, high = _GAUSSIAN[level][name]
            return Range(low * _ONE, high * _ONE, (low + high) // 2 * _ONE)
        return Constant(percent * _ONE)

    tasks = tuple(
        OverloadTask(
            name=name,
            kind=kind,
            period=period * MILLISECOND,
            deadline=period * MILLISECOND,
            utilisation=use(name, percent),
        )
        for name, (kind, period, percent) in _TASKS.items()
    )
    return TaskSet(name=f"tables 2 to 5, {level} %", tasks=tasks)


def run(
    *,
    sets: int = SETS,
    duration: int = DURATION,
    policies: Sequence[str] = POLICIES,
    seed: int = 0,
) -> list[Row]:
    return run_trials(
        lambda level, _: task_set(level),
        loads=LEVELS,
        trials=sets,
        policies=policies,
        duration=duration,
        seed=seed,
    )
