"""Trials of operator paths over several nodes: admission end to end, all nodes or none.

A trial draws jobs of all paths. Under ``rop-edf-1`` a soft job is admitted at its release on every
node of its path for the windows it needs there, or on none; under ``op-edf`` all are. Then each
node runs its stages by EDF. A job is late if any of its stages ends after its window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from headway.errors import InputError, Problem
from headway.experiments.overload.trials import Row, generator
from headway.model.taskset import FULL, Constant, OverloadTask, TaskSet
from headway.schedule.online import overload_policy_named
from headway.schedule.overload import Happening, Release, TrialRecord, simulate
from headway.schedule.overload.admission_over_nodes import Admission, NodePath
from headway.schedule.overload.simulate import release_order

END_TO_END, EVERYBODY = "rop-edf-1", "op-edf"
KNOWN = (END_TO_END, EVERYBODY)

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


def check_policies(policies: Sequence[str]) -> None:
    """InputError for a policy without a version for paths over nodes."""
    for name in policies:
        if name not in KNOWN:
            want = f"one of {', '.join(KNOWN)}, or leave out --end-to-end"
            raise InputError(Problem(f"{name!r} does not admit end to end", want=want))


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
    admission = Admission(paths) if policy == END_TO_END else None
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
        edf = overload_policy_named(EVERYBODY)
        simulate(on_node, [one for one, _ in here], edf, duration, record)
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
) -> list[Row]:
    """All trials, the same jobs under every policy."""
    rows = []
    for load in loads:
        paths = paths_at(load)
        for trial in range(trials):
            jobs = draw_path_jobs(paths, duration, generator(seed, load, trial))
            for policy in policies:
                found = run_path_trial(paths, jobs, policy, duration)
                for index, path in enumerate(paths):
                    missed = found.rejected[index] + found.late[index]
                    rows.append(
                        Row(
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
