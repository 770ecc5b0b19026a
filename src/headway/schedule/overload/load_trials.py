"""Trials of task sets under overload: the same drawn jobs under every policy, as tidy rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import fmean, stdev

import numpy as np
import pyarrow as pa

from headway.errors import InputError
from headway.model.taskset import FULL, Constant, OverloadTask, TaskSet
from headway.schedule.online import OVERLOAD_POLICIES, overload_policy_named
from headway.schedule.online.op_edf import OperatorPathEdf
from headway.schedule.online.reservation import ReservationPolicy
from headway.schedule.overload.admission_over_nodes import Admission, NodePath
from headway.schedule.overload.one_processor import (
    Happening,
    Release,
    TrialRecord,
    draw_releases,
    release_order,
    simulate,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadRow:
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
class LoadCell:
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


def trial_generator(seed: int, load: int, trial: int) -> np.random.Generator:
    """One stream of random numbers a trial, whatever else is run."""
    return np.random.default_rng([seed, load, trial])


def run_load_trial(
    task_set: TaskSet,
    *,
    load: int,
    trial: int,
    policies: Sequence[str | ReservationPolicy],
    duration: int,
    seed: int,
) -> Iterator[LoadRow]:
    """Every policy, by name or as it is, on the same jobs."""
    releases = draw_releases(task_set, duration, trial_generator(seed, load, trial))
    for one in policies:
        policy = overload_policy_named(one) if isinstance(one, str) else one
        outcome = simulate(task_set, releases, policy, duration)
        for task in outcome.tasks:
            yield LoadRow(
                load=load,
                trial=trial,
                policy=policy.name,
                task=task.name,
                hard=task.hard,
                jobs=task.jobs,
                rejected=task.rejected,
                late=task.late,
                miss_ratio=task.miss_ratio,
            )


def record_load_trial(
    task_set: TaskSet, *, load: int, trial: int, policy: str, duration: int, seed: int
) -> TrialRecord:
    """The same trial again, with everything that happened."""
    record = TrialRecord()
    releases = draw_releases(task_set, duration, trial_generator(seed, load, trial))
    simulate(task_set, releases, overload_policy_named(policy), duration, record)
    return record


def run_load_trials(
    task_set_at: Callable[[int, int], TaskSet],
    *,
    loads: Sequence[int],
    trials: int,
    policies: Sequence[str],
    duration: int,
    seed: int = 0,
    advance: Callable[[], None] = lambda: None,
) -> list[LoadRow]:
    """All trials; ``task_set_at`` gives the set of a load and trial number."""
    rows: list[LoadRow] = []
    for load in loads:
        for trial in range(trials):
            task_set = task_set_at(load, trial)
            rows += run_load_trial(
                task_set, load=load, trial=trial, policies=policies, duration=duration, seed=seed
            )
            advance()
    return rows


def load_cells(rows: Iterable[LoadRow]) -> list[LoadCell]:
    """One cell a load, policy and task, in the order of the rows."""
    groups: dict[tuple[int, str, str], list[LoadRow]] = {}
    for row in rows:
        groups.setdefault((row.load, row.policy, row.task), []).append(row)
    cells = []
    for (load, policy, task), group in groups.items():
        ratios = [row.miss_ratio for row in group]
        shares = [row.rejected / row.jobs if row.jobs else 0.0 for row in group]
        cells.append(
            LoadCell(
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


def load_table(rows: Sequence[LoadRow]) -> pa.Table:
    """The rows as columns."""
    names = [field.name for field in fields(LoadRow)]
    plain = [asdict(row) for row in rows]
    return pa.table({name: [row[name] for row in plain] for name in names})


# ----------------------------------------------------------------
# Trials of operator paths over several nodes: admission end to end, all nodes or none.
#
# A trial draws jobs of all paths. Under a policy that guards (``rop-edf-1``) a soft job is admitted
# at its release on every node of its path for the windows it needs there, or on none; under others
# (``op-edf``) all are. Then each node runs its stages by EDF. A job is late if any of its stages
# ends after its window.

PathRelease = tuple[int, int]
"""(release time, path)"""


@dataclass(frozen=True)
class NodeTrial:
    """What one node did, as a task set of the stages there."""

    task_set: TaskSet
    record: TrialRecord


@dataclass(frozen=True)
class PathTrial:
    jobs: list[int]
    """of each path, those whose deadline lies within the trial"""
    rejected: list[int]
    late: list[int]
    nodes: dict[str, NodeTrial]


def end_to_end_policies() -> list[str]:
    """The policies with a version for paths over nodes, those that guard first."""
    found = [(name, one) for name, one in OVERLOAD_POLICIES.items() if one.end_to_end]
    return [name for name, _ in sorted(found, key=lambda named: not named[1].guarded)]


def check_end_to_end_policies(policies: Sequence[str]) -> None:
    """InputError for a policy without a version for paths over nodes."""
    for name in policies:
        if not overload_policy_named(name).end_to_end:
            want = f"one of {', '.join(end_to_end_policies())}, or leave out --end-to-end"
            raise InputError(f"{name!r} does not admit end to end", want=want)


def draw_path_jobs(
    paths: Sequence[NodePath], duration: int, random: np.random.Generator
) -> list[PathRelease]:
    """Every path as often as it may, from a drawn time within its first gap on."""
    found = [
        (time, index)
        for index, path in enumerate(paths)
        for time in range(int(random.integers(0, path.gap)), duration, path.gap)
    ]
    return sorted(found)


def run_path_trial(
    paths: Sequence[NodePath], jobs: Sequence[PathRelease], policy: str, duration: int
) -> PathTrial:
    """TaskSetError when the hard paths of a node do not fit, where that is asked."""
    admission = Admission(paths) if overload_policy_named(policy).guarded else None
    tasks = tuple(
        OverloadTask(
            name=path.name,
            kind=path.kind,
            period=path.gap,
            deadline=path.deadline,
            utilisation=Constant(max(stage.peak for stage in path.stages)),
        )
        for path in paths
    )
    counted = [0] * len(paths)
    rejected, late = list(counted), list(counted)
    stages: dict[str, list[tuple[Release, int]]] = {}
    turned_down: list[tuple[str, int, int]] = []
    """(first node, release, path)"""
    for number, (release, index) in enumerate(jobs):
        path = paths[index]
        within = release + path.deadline <= duration
        counted[index] += within
        peaks = [stage.peak for stage in path.stages]
        if admission is not None and not admission.admit(path, release, peaks):
            rejected[index] += within
            turned_down.append((path.stages[0].node, release, index))
            continue
        for stage, opens, closes in path.windows(release):
            work = max(1, stage.window * stage.peak // FULL)
            one = (opens, closes, index, work, stage.peak)
            stages.setdefault(stage.node, []).append((one, number))
    late_jobs: set[int] = set()
    nodes = {}
    order = release_order(tasks)
    for node, here in stages.items():
        here.sort(key=lambda one: order(one[0]))
        record, on_node = TrialRecord(), TaskSet(name=node, tasks=tasks)
        simulate(on_node, [one for one, _ in here], OperatorPathEdf(), duration, record)
        in_time = {number for what, _, _, number in record.events if what is Happening.COMPLETED}
        for place, (one, number) in enumerate(here):
            if one[1] <= duration and place not in in_time:
                late_jobs.add(number)
        for number, (first, release, index) in enumerate(turned_down, start=len(here)):
            if first == node:
                record.add(Happening.REJECTED, release, index, number)
        nodes[node] = NodeTrial(on_node, record)
    for number in late_jobs:
        release, index = jobs[number]
        late[index] += release + paths[index].deadline <= duration
    return PathTrial(counted, rejected, late, nodes)


def run_path_trials(
    paths_at: Callable[[int], Sequence[NodePath]],
    *,
    loads: Sequence[int],
    trials: int,
    policies: Sequence[str],
    duration: int,
    seed: int = 0,
    advance: Callable[[], None] = lambda: None,
) -> list[LoadRow]:
    """All trials, the same jobs under every policy."""
    rows = []
    for load in loads:
        paths = paths_at(load)
        for trial in range(trials):
            jobs = draw_path_jobs(paths, duration, trial_generator(seed, load, trial))
            for policy in policies:
                found = run_path_trial(paths, jobs, policy, duration)
                for index, path in enumerate(paths):
                    missed = found.rejected[index] + found.late[index]
                    rows.append(
                        LoadRow(
                            load=load,
                            trial=trial,
                            policy=policy,
                            task=path.name,
                            hard=path.hard,
                            jobs=found.jobs[index],
                            rejected=found.rejected[index],
                            late=found.late[index],
                            miss_ratio=missed / found.jobs[index] if found.jobs[index] else 0.0,
                        )
                    )
            advance()
    return rows
