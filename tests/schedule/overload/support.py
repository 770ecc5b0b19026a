"""Random task sets, the paper's example, and checkers of what a trial recorded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headway.model.quantities import MILLISECOND
from headway.model.taskset import (
    FULL,
    Constant,
    Distribution,
    OverloadTask,
    Range,
    Recorded,
    TaskKind,
    TaskSet,
    Utilisation,
)
from headway.schedule.overload.one_processor import Release, in_order

MS = MILLISECOND
GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "golden" / "er_edf_fig5.json").read_text(encoding="utf-8")
)


def figure_5() -> tuple[TaskSet, list[Release]]:
    """Table 1 and the jobs of figure 5."""
    tasks = tuple(
        OverloadTask(
            name=name,
            kind=TaskKind(facts["kind"]),
            period=facts.get("period", facts["deadline"]) * MS,
            deadline=facts["deadline"] * MS,
            utilisation=Range(1, round(facts["peak"] * FULL), round(facts["average"] * FULL)),
            sporadic=facts.get("aperiodic", False),
        )
        for name, facts in GOLDEN["tasks"].items()
    )
    names = [task.name for task in tasks]
    releases: list[Release] = []
    for job in GOLDEN["jobs"]:
        index = names.index(job["task"])
        release, execution = job["release"] * MS, job["execution"] * MS
        deadline = tasks[index].deadline
        use = execution * FULL // deadline
        releases.append((release, release + deadline, index, execution, use))
    return TaskSet(name="figure 5", tasks=tasks), in_order(tasks, releases)


def shares(random: np.random.Generator, count: int, total: int) -> list[int]:
    """``count`` whole shares above 0 that sum to at most ``total``."""
    cuts = np.sort(random.random(count - 1)) if count > 1 else np.array([])
    parts = np.diff(np.concatenate(([0.0], cuts, [1.0])))
    return [max(1, int(part * (total - count))) for part in parts]


def random_task_set(random: np.random.Generator) -> TaskSet:
    """Hard peaks up to exactly 1 − α, soft averages up to 300 %; periodic and sporadic."""
    overhead = int(random.choice([0, 0, 10_000, 50_000]))
    hard_total = int((FULL - overhead) * random.choice([0.2, 0.5, 0.8, 1.0]))
    soft_total = int(FULL * random.uniform(0.1, 3.0))
    tasks: list[OverloadTask] = []
    for kind, total in ((TaskKind.HARD, hard_total), (TaskKind.SOFT, soft_total)):
        for number, share in enumerate(shares(random, int(random.integers(1, 6)), total)):
            period = int(random.integers(5, 60)) * MS
            shorter = period if random.random() < 0.5 else int(period * random.uniform(0.4, 1))
            sporadic = bool(random.random() < 0.5)
            tasks.append(
                OverloadTask(
                    name=f"{kind[0].upper()}{number + 1}",
                    kind=kind,
                    period=period,
                    deadline=shorter,
                    utilisation=_utilisation(random, kind, share),
                    sporadic=sporadic,
                    mean_gap=int(period * random.uniform(1, 2)) if sporadic else None,
                )
            )
    return TaskSet(name="random", tasks=tuple(tasks), overhead=overhead)


def _utilisation(random: np.random.Generator, kind: TaskKind, share: int) -> Utilisation:
    """``share`` is the peak of a hard task and the average of a soft one."""
    way = random.integers(4)
    if way == 0:
        return Constant(share)
    if kind is TaskKind.HARD:
        low = max(1, share // 2)
        return Range(low, share, (low + share) // 2, Distribution.UNIFORM)
    low, high = max(1, share // 2), share + share // 2
    if way == 1:
        return Recorded((low, share, high) if low > 1 else (share,))
    distribution = Distribution.GAUSSIAN if way == 2 else Distribution.UNIFORM
    return Range(low, high, (low + high) // 2, distribution)


def misses_of(tasks: Sequence[Any]) -> dict[str, int]:
    return {task.name: task.misses for task in tasks}
