"""The trials of ``headway loadtest``: of task sets, node by node, or of paths over nodes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headway.cli.load_inputs import LoadInput, Shown
from headway.errors import InputError, Problem
from headway.model.taskset import FULL, TaskSet
from headway.report.loadtest_timeline import trial_perfetto, trial_svg
from headway.schedule.overload import Record
from headway.schedule.overload.distributed import Path
from headway.schedule.overload.load_trials import (
    LoadRow,
    check_end_to_end_policies,
    draw_path_jobs,
    record_load_trial,
    run_load_trials,
    run_path_trial,
    run_path_trials,
    trial_generator,
)
from headway.schedule.overload.plan_paths import at_load


@dataclass(frozen=True, kw_only=True)
class Trials(ABC):
    """``duration`` in ns."""

    given: LoadInput
    loads: Sequence[int]
    trials: int
    policies: Sequence[str]
    duration: int
    seed: int

    @property
    @abstractmethod
    def count(self) -> int:
        """Steps of the progress bar."""

    @abstractmethod
    def rows(self, advance: Callable[[], None]) -> list[LoadRow]: ...

    @abstractmethod
    def records(self, shown: Shown) -> list[tuple[TaskSet, Record]]:
        """The chosen trial, one record for each node."""

    def timelines(self, shown: Shown) -> dict[str, str]:
        """Perfetto and Gantt files of the chosen trial, by name."""
        texts = {}
        about: dict[str, Any] = {"policy": shown.policy, "load": shown.load, "trial": shown.trial}
        recorded = self.records(shown)
        for task_set, record in recorded:
            title = f"{task_set.name}: {shown.policy} at {shown.load} %, trial {shown.trial}"
            name = "timeline" if len(recorded) == 1 else f"timeline-{task_set.name}"
            texts[f"{name}.perfetto.json"] = trial_perfetto(task_set, record, about)
            texts[f"{name}.svg"] = trial_svg(task_set, record, title, self.duration)
        return texts


@dataclass(frozen=True, kw_only=True)
class SetTrials(Trials):
    """Each processor by itself."""

    @property
    def count(self) -> int:
        return len(self.given.sets) * len(self.loads) * self.trials

    def rows(self, advance: Callable[[], None]) -> list[LoadRow]:
        rows: list[LoadRow] = []
        for which, one in enumerate(self.given.sets):
            found = run_load_trials(
                lambda at, _, which=which: self.given.at(which, at),  # type: ignore[misc]
                loads=self.loads,
                trials=self.trials,
                policies=self.policies,
                duration=self.duration,
                seed=self.seed,
                advance=advance,
            )
            if len(self.given.sets) > 1:
                found = [replace(row, task=f"{row.task} on {one.name}") for row in found]
            rows += found
        return rows

    def records(self, shown: Shown) -> list[tuple[TaskSet, Record]]:
        found = []
        for which in range(len(self.given.sets)):
            task_set = self.given.at(which, shown.load)
            record = record_load_trial(
                task_set,
                load=shown.load,
                trial=shown.trial,
                policy=shown.policy,
                duration=self.duration,
                seed=self.seed,
            )
            found.append((task_set, record))
        return found


@dataclass(frozen=True, kw_only=True)
class PathTrials(Trials):
    """All nodes together: a path is admitted end to end."""

    def __post_init__(self) -> None:
        if not self.given.paths:
            want = "name a query and its vehicle, or leave out --end-to-end"
            raise InputError(Problem("a task set has no paths over nodes", want=want))
        check_end_to_end_policies(self.policies)

    @property
    def count(self) -> int:
        return len(self.loads) * self.trials

    def _at(self, load: int) -> list[Path]:
        return at_load(self.given.paths, load * FULL // 100)

    def rows(self, advance: Callable[[], None]) -> list[LoadRow]:
        return run_path_trials(
            self._at,
            loads=self.loads,
            trials=self.trials,
            policies=self.policies,
            duration=self.duration,
            seed=self.seed,
            advance=advance,
        )

    def records(self, shown: Shown) -> list[tuple[TaskSet, Record]]:
        paths = self._at(shown.load)
        random = trial_generator(self.seed, shown.load, shown.trial)
        jobs = draw_path_jobs(paths, self.duration, random)
        found = run_path_trial(paths, jobs, shown.policy, self.duration)
        return [(node.task_set, node.record) for node in found.nodes.values()]
