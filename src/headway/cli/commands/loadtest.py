"""``headway loadtest``: how often deadlines are missed when more is asked for than there is."""

from __future__ import annotations

import json as json_format
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any

import pyarrow.parquet as pq
import typer

from headway.cli import terminal
from headway.cli.charts_written import charts_or_note
from headway.compiler import compile_query
from headway.errors import InputError
from headway.files import load_query, load_vehicle, placed
from headway.files.taskset_file import is_task_set, load_task_set
from headway.model.quantities import MILLISECOND
from headway.model.taskset import FULL, TaskSet, check_hard_load
from headway.report.loadtest_timeline import trial_perfetto, trial_svg
from headway.report.run_charts import miss_charts
from headway.report.tables.loadtest_tables import misses, plain, verdict
from headway.schedule.online import OVERLOAD_POLICIES, overload_policy_named
from headway.schedule.overload import load_trials, plan_paths
from headway.schedule.overload.admission_over_nodes import NodePath
from headway.schedule.overload.one_processor import TrialRecord

# ---------------------------------------------------------------- what is given

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
            raise InputError("a task set needs no --vehicle", want="leave it out")
        loaded = load_task_set(path)
        given = LoadInput(loaded.task_set.name, [loaded.task_set], loaded.placed)
    else:
        query = load_query(path)
        if vehicle is None:
            raise InputError("a query needs a vehicle", want="name one with --vehicle")
        on = load_vehicle(vehicle)
        with placed(query, on):
            plan = compile_query(query.query, on.vehicle)
            sets = plan_paths.task_sets_of(plan)
            paths = [*plan_paths.paths_over_nodes(plan), *plan_paths.paths_beyond(plan)]
        given = LoadInput(query.query.name, sets, lambda: placed(query, on), paths)
    if guarded:
        with given.placing():
            if is_task_set(path):
                check_hard_load(given.sets[0])
            else:
                plan_paths.check_nodes(given.sets)
    return given


def parse_loads(text: str) -> list[int]:
    """``100..200`` is 100, 110, …, 200; ``100..200:25`` goes in steps of 25."""
    loads: list[int] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise InputError("not a load in percent", got=repr(text), want=LOAD_FORM)
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or STEP)
        if not 0 < first <= last <= MOST_LOAD or not step:
            want = f"from low to high, above 0 and at most {MOST_LOAD}: {LOAD_FORM}"
            raise InputError("not a load in percent", got=repr(text), want=want)
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
    raise InputError("there is no such trial", got=repr(text), want=want)


# ---------------------------------------------------------------- the trials


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
    def rows(self, advance: Callable[[], None]) -> list[load_trials.LoadRow]: ...

    @abstractmethod
    def records(self, shown: Shown) -> list[tuple[TaskSet, TrialRecord]]:
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

    def rows(self, advance: Callable[[], None]) -> list[load_trials.LoadRow]:
        rows: list[load_trials.LoadRow] = []
        for which, one in enumerate(self.given.sets):
            found = load_trials.run_load_trials(
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

    def records(self, shown: Shown) -> list[tuple[TaskSet, TrialRecord]]:
        found = []
        for which in range(len(self.given.sets)):
            task_set = self.given.at(which, shown.load)
            record = load_trials.record_load_trial(
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
            raise InputError("a task set has no paths over nodes", want=want)
        load_trials.check_end_to_end_policies(self.policies)

    @property
    def count(self) -> int:
        return len(self.loads) * self.trials

    def _at(self, load: int) -> list[NodePath]:
        return plan_paths.at_load(self.given.paths, load * FULL // 100)

    def rows(self, advance: Callable[[], None]) -> list[load_trials.LoadRow]:
        return load_trials.run_path_trials(
            self._at,
            loads=self.loads,
            trials=self.trials,
            policies=self.policies,
            duration=self.duration,
            seed=self.seed,
            advance=advance,
        )

    def records(self, shown: Shown) -> list[tuple[TaskSet, TrialRecord]]:
        paths = self._at(shown.load)
        random = load_trials.trial_generator(self.seed, shown.load, shown.trial)
        jobs = load_trials.draw_path_jobs(paths, self.duration, random)
        found = load_trials.run_path_trial(paths, jobs, shown.policy, self.duration)
        return [(node.task_set, node.record) for node in found.nodes.values()]


# ---------------------------------------------------------------- the command

DEFAULT = "op-edf,er-edf,rop-edf-1,rop-edf-2"


def loadtest(
    file: Annotated[
        Path, typer.Argument(metavar="TASKSET.yaml|QUERY.yaml", help="a task set, or a query")
    ],
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,C",
            help=f"any of {', '.join(OVERLOAD_POLICIES)} (default {DEFAULT})",
            show_default=False,
        ),
    ] = None,
    load: Annotated[
        str, typer.Option(metavar="LOADS", help=f"total requested utilisation in %: {LOAD_FORM}")
    ] = "100..200",
    trials: Annotated[
        int, typer.Option(metavar="N", min=1, max=100_000, help="drawn anew at every load")
    ] = 10,
    duration: Annotated[
        int, typer.Option(metavar="MS", min=1, max=10**9, help="virtual time of a trial")
    ] = 20_000,
    vehicle: Annotated[
        Path | None, typer.Option(metavar="VEHICLE.yaml", help="where the query runs")
    ] = None,
    end_to_end: Annotated[
        bool,
        typer.Option(
            "--end-to-end",
            help="query: admit jobs on all nodes of their path or on none, messages included "
            f"(policies {', '.join(load_trials.end_to_end_policies())})",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="of the drawn jobs")] = 0,
    timeline: Annotated[
        str | None,
        typer.Option(metavar="POLICY:LOAD:TRIAL", help="the trial to draw (with --out)"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="write misses.html and .svg, rows.parquet, timeline.*.json and .svg, summary",
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="print the miss ratios as JSON instead of tables")
    ] = False,
) -> None:
    """Load testing: raise the soft load beyond the processor and count missed deadlines.

    \b
    Example:
      headway loadtest examples/overload/crossing.yaml --policy op-edf,rop-edf-1 --load 100..200
      headway loadtest examples/collision_warning/query.yaml --end-to-end
          --vehicle examples/collision_warning/vehicle_modern.yaml

    All policies meet the same jobs, and the same seed gives the same files. Of a query every
    operator path is a task, on each node it runs on; V2V beyond what a shedder keeps is soft load.
    With --end-to-end a path is one task over its nodes, and the load is that of the busiest node.

    Exit code: 0 under some policy no hard task missed a deadline, 1 under none, 2 bad input.
    """
    chosen = policy or (",".join(load_trials.end_to_end_policies()) if end_to_end else DEFAULT)
    policies = list(dict.fromkeys(overload_policy_named(n).name for n in chosen.split(",")))
    loads = parse_loads(load)
    shown = parse_shown(timeline, policies, loads, trials)
    given = load_input(file, vehicle, policies)
    kind = PathTrials if end_to_end else SetTrials
    test: Trials = kind(
        given=given,
        loads=loads,
        trials=trials,
        policies=policies,
        duration=duration * MILLISECOND,
        seed=seed,
    )
    with (
        given.placing(),
        terminal.progress(test.count, shown=not json, unit="trials", step=1) as advance,
    ):
        rows = test.rows(advance)
    cells = load_trials.load_cells(rows)
    about = {
        "name": given.name,
        "policies": policies,
        "loads": loads,
        "trials": trials,
        "duration_ms": duration,
        "seed": seed,
    }
    summary = json_format.dumps(plain(cells, about), indent=1, ensure_ascii=False) + "\n"
    written: list[Path] = []
    if out is not None:
        charts = charts_or_note("misses", miss_charts(cells), f"{given.name}: misses")
        texts = {"summary.json": summary, **charts}
        with given.placing():
            texts |= test.timelines(shown)
        written = terminal.write_files(out, texts)
        written += terminal.write_bytes(out, {"rows.parquet": _parquet(rows)})
    if json:
        terminal.write(summary)
    else:
        title = f"{given.name}: {trials} trials of {duration:,} ms a load"
        lines = [terminal.sentence(line) for line in verdict(cells)]
        terminal.show(
            [
                terminal.heading(title),
                terminal.table(misses(cells)),
                *lines,
                *(f"wrote {p}" for p in written),
            ]
        )
    if not any(_kept(cells, name) for name in policies):
        raise typer.Exit(int(terminal.ExitCode.NOT_PROMISED))


def _kept(cells: list[load_trials.LoadCell], policy: str) -> bool:
    return all(cell.most == 0 for cell in cells if cell.policy == policy and cell.hard)


def _parquet(rows: list[load_trials.LoadRow]) -> bytes:
    buffer = BytesIO()
    pq.write_table(load_trials.load_table(rows), buffer)
    return buffer.getvalue()
