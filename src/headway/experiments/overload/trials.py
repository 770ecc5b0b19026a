"""Trials of task sets under overload: the same drawn jobs under every policy, as tidy rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import fmean, stdev

import numpy as np
import pyarrow as pa

from headway.model.taskset import TaskSet
from headway.schedule.online import overload_policy_named
from headway.schedule.overload import TrialRecord, draw_releases, simulate


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """What one task did in one trial. ``load`` is in percent."""

    load: int
    trial: int
    policy: str
    task: str
    hard: bool
    jobs: int
    rejected: int
    late: int
    miss_ratio: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """Miss ratio of a task under a policy over all trials of a load."""

    load: int
    policy: str
    task: str
    hard: bool
    mean: float
    deviation: float
    least: float
    most: float
    rejected: float
    """mean share of jobs that were rejected"""


def generator(seed: int, load: int, trial: int) -> np.random.Generator:
    """One stream of random numbers a trial, whatever else is run."""
    return np.random.default_rng([seed, load, trial])


def run_trial(
    task_set: TaskSet, *, load: int, trial: int, policies: Sequence[str], duration: int, seed: int
) -> Iterator[Row]:
    """Every policy on the same jobs."""
    releases = draw_releases(task_set, duration, generator(seed, load, trial))
    for policy in policies:
        outcome = simulate(task_set, releases, overload_policy_named(policy), duration)
        for task in outcome.tasks:
            yield Row(
                load=load,
                trial=trial,
                policy=policy,
                task=task.name,
                hard=task.hard,
                jobs=task.jobs,
                rejected=task.rejected,
                late=task.late,
                miss_ratio=task.miss_ratio,
            )


def record_trial(
    task_set: TaskSet, *, load: int, trial: int, policy: str, duration: int, seed: int
) -> TrialRecord:
    """The same trial again, with everything that happened."""
    record = TrialRecord()
    releases = draw_releases(task_set, duration, generator(seed, load, trial))
    simulate(task_set, releases, overload_policy_named(policy), duration, record)
    return record


def run_trials(
    task_set_at: Callable[[int, int], TaskSet],
    *,
    loads: Sequence[int],
    trials: int,
    policies: Sequence[str],
    duration: int,
    seed: int = 0,
    advance: Callable[[], None] = lambda: None,
) -> list[Row]:
    """All trials; ``task_set_at`` gives the set of a load and trial number."""
    rows: list[Row] = []
    for load in loads:
        for trial in range(trials):
            task_set = task_set_at(load, trial)
            rows += run_trial(
                task_set, load=load, trial=trial, policies=policies, duration=duration, seed=seed
            )
            advance()
    return rows


def analyse(rows: Iterable[Row]) -> list[Cell]:
    """One cell a load, policy and task, in the order of the rows."""
    groups: dict[tuple[int, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.load, row.policy, row.task), []).append(row)
    cells = []
    for (load, policy, task), group in groups.items():
        ratios = [row.miss_ratio for row in group]
        shares = [row.rejected / row.jobs if row.jobs else 0.0 for row in group]
        cells.append(
            Cell(
                load=load,
                policy=policy,
                task=task,
                hard=group[0].hard,
                mean=fmean(ratios),
                deviation=stdev(ratios) if len(ratios) > 1 else 0.0,
                least=min(ratios),
                most=max(ratios),
                rejected=fmean(shares),
            )
        )
    return cells


def to_table(rows: Sequence[Row]) -> pa.Table:
    """The rows as columns."""
    names = [field.name for field in fields(Row)]
    plain = [asdict(row) for row in rows]
    return pa.table({name: [row[name] for row in plain] for name in names})
