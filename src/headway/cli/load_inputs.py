"""What ``headway loadtest`` is given: task sets, loads, policies, and which trial to draw."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from headway.cli.places import placed
from headway.compile import compile_query
from headway.errors import InputError, Problem
from headway.files import load_query, load_vehicle
from headway.files.taskset import is_task_set, load_task_set
from headway.model.taskset import FULL, TaskSet, check_hard_load
from headway.schedule.online import overload_policy_named
from headway.schedule.overload.distributed import Path as NodePath
from headway.schedule.overload.from_plan import task_sets_of
from headway.schedule.overload.plan_paths import check_nodes, paths_beyond, paths_over_nodes

STEP, MOST_LOAD, MOST_LOADS = 10, 1000, 1000
LOAD_FORM = "such as 150, 100..200, 100..200:25 or 100,120,160"
_RANGE = re.compile(r"([0-9]{1,4})(?:\.\.([0-9]{1,4})(?::([0-9]{1,4}))?)?")


@dataclass(frozen=True)
class LoadInput:
    """One task set, or one for each node of a query's vehicle."""

    name: str
    sets: list[TaskSet]
    placing: Callable[[], AbstractContextManager[None]]
    paths: list[NodePath] = field(default_factory=list)
    """of a query: its operator paths over the nodes, what shedders would drop included"""

    def at(self, which: int, load: int) -> TaskSet:
        """A set at a load (%); a node without soft tasks stays as it is."""
        found = self.sets[which]
        if all(task.hard for task in found.tasks) and len(self.sets) > 1:
            return found
        return found.at_load(load * FULL // 100)


def load_input(path: Path, vehicle: Path | None, policies: Sequence[str]) -> LoadInput:
    """Reads the file; hard load above capacity is refused here, with its place, if a policy that
    reserves is to run."""
    guarded = any(overload_policy_named(name).guarded for name in policies)
    if is_task_set(path):
        if vehicle is not None:
            raise InputError(Problem("a task set needs no --vehicle", want="leave it out"))
        loaded = load_task_set(path)
        given = LoadInput(loaded.task_set.name, [loaded.task_set], loaded.placed)
    else:
        query = load_query(path)
        if vehicle is None:
            raise InputError(Problem("a query needs a vehicle", want="name one with --vehicle"))
        on = load_vehicle(vehicle)
        with placed(query, on):
            plan = compile_query(query.query, on.vehicle)
            sets = task_sets_of(plan)
            paths = [*paths_over_nodes(plan), *paths_beyond(plan)]
        given = LoadInput(query.query.name, sets, lambda: placed(query, on), paths)
    if guarded:
        with given.placing():
            if is_task_set(path):
                check_hard_load(given.sets[0])
            else:
                check_nodes(given.sets)
    return given


def parse_loads(text: str) -> list[int]:
    """``100..200`` is 100, 110, …, 200; ``100..200:25`` goes in steps of 25."""
    loads: list[int] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise InputError(Problem("not a load in percent", got=repr(text), want=LOAD_FORM))
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or STEP)
        if not 0 < first <= last <= MOST_LOAD or not step:
            want = f"from low to high, above 0 and at most {MOST_LOAD}: {LOAD_FORM}"
            raise InputError(Problem("not a load in percent", got=repr(text), want=want))
        loads += range(first, last + 1, step)
    return list(dict.fromkeys(loads))[:MOST_LOADS]


@dataclass(frozen=True)
class Shown:
    """The trial whose timeline is drawn."""

    policy: str
    load: int
    trial: int


def parse_shown(
    text: str | None, policies: Sequence[str], loads: Sequence[int], trials: int
) -> Shown:
    """``POLICY:LOAD:TRIAL``; without it the first policy at the highest load."""
    if text is None:
        return Shown(policies[0], loads[-1], 0)
    policy, _, rest = text.partition(":")
    load, _, trial = rest.partition(":")
    known = load.isascii() and load.isdigit() and trial.isascii() and trial.isdigit()
    if policy in policies and known and int(load) in loads and int(trial) < trials:
        return Shown(policy, int(load), int(trial))
    want = f"POLICY:LOAD:TRIAL of this test, such as {policies[0]}:{loads[-1]}:0"
    raise InputError(Problem("there is no such trial", got=repr(text), want=want))
