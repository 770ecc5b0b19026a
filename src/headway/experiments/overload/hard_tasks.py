"""ROP-EDF study 2 (section 5.3, figure 9): hard misses under ER-EDF and under ROP-EDF.

Grid: total requested utilisation 100, 110, 120, 130 % x 50 random task sets x policy; 20,000 ms.
A set has 4 hard and 6 soft tasks. Tasks 1 to 9 are periodic with deadlines of 10 to 100 ms and
utilisations that sum to 100 %; task 10 is aperiodic, 50 ms apart, and asks for the rest; at 100 %
it asks for nothing. Utilisations are constant: the paper prints only the requested ones.
``python benchmarks/bench_overload.py --studies`` prints it::

    ratios = hard_miss_ratios(run())
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

import numpy as np

from headway.experiments.overload.trials import Row, run_trials
from headway.model.quantities import MILLISECOND
from headway.model.taskset import FULL, Constant, OverloadTask, TaskKind, TaskSet

LEVELS = (100, 110, 120, 130)
POLICIES = ("er-edf", "rop-edf-1", "rop-edf-2")
SETS = 50
DURATION = 20_000 * MILLISECOND
HARD, PERIODIC = 4, 9
GAP = 50
LEAST = FULL // 100
"""of a task"""


def task_set(level: int, number: int, seed: int = 0) -> TaskSet:
    """The same nine periodic tasks at every level."""
    random = np.random.default_rng([seed, number])
    deadlines = random.integers(10, 101, PERIODIC)
    rest = FULL - PERIODIC * LEAST
    cuts = np.sort(random.integers(0, rest + 1, PERIODIC - 1))
    uses = np.diff(np.concatenate(([0], cuts, [rest]))) + LEAST
    tasks = [
        _task(index, int(deadlines[index]), int(uses[index]), sporadic=False)
        for index in range(PERIODIC)
    ]
    if level > 100:
        tasks.append(_task(PERIODIC, GAP, (level - 100) * FULL // 100, sporadic=True))
    return TaskSet(name=f"{level} %, set {number}", tasks=tuple(tasks))


def _task(index: int, deadline: int, use: int, *, sporadic: bool) -> OverloadTask:
    hard = index < HARD
    return OverloadTask(
        name=f"H{index + 1}" if hard else f"S{index + 1 - HARD}",
        kind=TaskKind.HARD if hard else TaskKind.SOFT,
        period=deadline * MILLISECOND,
        deadline=deadline * MILLISECOND,
        utilisation=Constant(use),
        sporadic=sporadic,
    )


def run(
    *,
    sets: int = SETS,
    duration: int = DURATION,
    policies: Sequence[str] = POLICIES,
    seed: int = 0,
) -> list[Row]:
    return run_trials(
        lambda level, number: task_set(level, number, seed),
        loads=LEVELS,
        trials=sets,
        policies=policies,
        duration=duration,
        seed=seed,
    )


def hard_miss_ratios(rows: Iterable[Row]) -> dict[tuple[str, int], float]:
    """(policy, level) -> average miss ratio of hard tasks over the sets."""
    return {key: fmean(ratios) for key, ratios in hard_miss_ratios_by_set(rows).items()}


def hard_miss_ratios_by_set(rows: Iterable[Row]) -> dict[tuple[str, int], list[float]]:
    """(policy, level) -> miss ratio of hard tasks in each set."""
    found: dict[tuple[str, int], dict[int, list[Row]]] = {}
    for row in rows:
        if row.hard:
            sets = found.setdefault((row.policy, row.load), {})
            sets.setdefault(row.trial, []).append(row)
    return {
        key: [
            sum(row.rejected + row.late for row in group) / sum(row.jobs for row in group)
            for group in sets.values()
        ]
        for key, sets in found.items()
    }
