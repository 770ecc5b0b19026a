"""The columns of the ROP-EDF paper's table 6 as experiments: each is a family of random task sets,
and a method has the feature if no set of the family shows a miss.

- ``below``: all peaks together within one processor; does a hard job miss?
- ``overload``: peaks beyond it, what is requested (Σ ψ(hard) + Σ θ(soft)) within; a hard job?
- ``deadlines``: jobs of one task have a long or a short deadline, within one processor by density
  (C/D); does any job miss its own?
- ``requested``: 110 to 200 % requested, hard peaks within 80 %; does a hard job miss?

Periods are 10 to 100 ms, half of the tasks are sporadic. The same jobs for every method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headway.model.quantities import MILLISECOND
from headway.model.taskset import (
    FULL,
    Constant,
    Distribution,
    OverloadTask,
    Range,
    TaskKind,
    TaskSet,
)
from headway.schedule.online.reservation import ReservationPolicy
from headway.schedule.overload import Release, draw_releases, simulate
from headway.schedule.overload.simulate import in_order

QUESTIONS = {
    "below": "hard guarantee below overload",
    "overload": "hard guarantee in overload",
    "deadlines": "several deadlines a task",
    "requested": "over 100 % requested",
}
DURATION = 2_000 * MILLISECOND
SHORT = 0.5
"""of the period: the deadline of every other job of a task with several"""


@dataclass(frozen=True, kw_only=True)
class Load:
    """Shares of a processor that a set asks for: hard peaks, soft averages; soft peaks are
    ``swing`` times the average."""

    hard: float
    soft: float
    swing: float


def _load(question: str, random: np.random.Generator) -> Load:
    hard = random.uniform(0.3, 0.6)
    if question in ("below", "deadlines"):
        return Load(hard=hard, soft=random.uniform(0.85, 1.0) - hard, swing=1.0)
    if question == "overload":
        return Load(hard=hard, soft=random.uniform(0.9, 1.0) - hard, swing=2.0)
    return Load(hard=random.uniform(0.3, 0.8), soft=random.uniform(0.8, 1.2), swing=1.5)


def task_set(question: str, number: int, seed: int) -> TaskSet:
    """A random set of 2 to 4 hard and 3 to 6 soft tasks."""
    random = np.random.default_rng([seed, list(QUESTIONS).index(question), number])
    load = _load(question, random)
    tasks: list[OverloadTask] = []
    for kind, total, few, many in (
        (TaskKind.HARD, load.hard, 2, 4),
        (TaskKind.SOFT, load.soft, 3, 6),
    ):
        count = int(random.integers(few, many + 1))
        parts = random.dirichlet(np.full(count, 2.0)) * total * FULL
        for place, part in enumerate(parts, start=1):
            use = max(1, int(part))
            low, high = use - int(use * (load.swing - 1)), int(use * load.swing)
            tasks.append(
                OverloadTask(
                    name=f"{kind.value[0].upper()}{place}",
                    kind=kind,
                    period=(period := int(random.integers(10, 101)) * MILLISECOND),
                    deadline=period,
                    utilisation=Constant(use)
                    if kind is TaskKind.HARD or load.swing == 1
                    else Range(max(1, low), high, use, Distribution.UNIFORM),
                    sporadic=bool(random.random() < 0.5),
                )
            )
    return TaskSet(name=f"{question} {number}", tasks=tuple(tasks))


def releases_of(question: str, drawn: TaskSet, number: int, seed: int) -> list[Release]:
    """The jobs of a set; under ``deadlines`` every other job of a task must be done in half the
    time and asks for as much less."""
    random = np.random.default_rng([seed, len(QUESTIONS), number])
    releases = draw_releases(drawn, DURATION, random)
    if question != "deadlines":
        return releases
    seen = [0] * len(drawn.tasks)
    shorter: list[Release] = []
    for release, deadline, task, execution, use in releases:
        due, left = deadline, execution
        if seen[task] % 2:
            window = int((deadline - release) * SHORT)
            due, left = release + window, max(1, window * use // FULL)
        seen[task] += 1
        shorter.append((release, due, task, left, use))
    return in_order(drawn.tasks, shorter)


def misses(
    question: str, drawn: TaskSet, releases: Sequence[Release], policy: ReservationPolicy
) -> tuple[int, int]:
    """(missed, all) jobs that count for the question."""
    outcome = simulate(drawn, releases, policy, DURATION)
    counted = [task for task in outcome.tasks if task.hard or question == "deadlines"]
    return sum(task.misses for task in counted), sum(task.jobs for task in counted)


def counterexample() -> tuple[TaskSet, list[Release]]:
    """A hard task of 50 % that misses under ROP-EDF as printed: S1 completes early, its reservation
    is returned, and S2 takes its place before H has run."""
    half, unit = FULL // 2, MILLISECOND
    deadlines = {"H": 10 * unit, "S1": 9_900_000, "S2": 5 * unit}
    tasks = tuple(
        OverloadTask(
            name=name,
            kind=TaskKind.HARD if name == "H" else TaskKind.SOFT,
            period=20 * unit,
            deadline=deadline,
            utilisation=Constant(half),
        )
        for name, deadline in deadlines.items()
    )
    starts = (0, 0, 4_950_000)
    releases: list[Release] = [
        (start, start + deadline, place, deadline // 2, half)
        for place, (start, deadline) in enumerate(zip(starts, deadlines.values(), strict=True))
    ]
    return TaskSet(name="counterexample", tasks=tasks), in_order(tasks, releases)
