"""``headway loadtest``: how often deadlines are missed when more is asked for than there is."""

from __future__ import annotations

import json as json_format
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any

import pyarrow.parquet as pq
import typer

from headway.cli.exit_codes import ExitCode
from headway.cli.load_inputs import (
    LOAD_FORM,
    LoadInput,
    Shown,
    load_input,
    parse_loads,
    parse_shown,
)
from headway.cli.outputs import write_bytes, write_files
from headway.cli.progress import progress
from headway.cli.screen import heading, sentence, show, table, write
from headway.experiments.rop_trials import Cell, Row, analyse, record_trial, run_trials, to_table
from headway.model.time import MILLISECOND
from headway.report.loadtest_chart import misses_svg
from headway.report.loadtest_tables import misses, plain, verdict
from headway.report.loadtest_timeline import trial_perfetto, trial_svg
from headway.schedule.online import OVERLOAD_POLICIES, overload_policy_named

DEFAULT = "op-edf,er-edf,rop-edf-1,rop-edf-2"


def loadtest(
    file: Annotated[
        Path, typer.Argument(metavar="TASKSET.yaml|QUERY.yaml", help="a task set, or a query")
    ],
    policy: Annotated[
        str, typer.Option(metavar="A,B,C", help=f"any of {', '.join(OVERLOAD_POLICIES)}")
    ] = DEFAULT,
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
    seed: Annotated[int, typer.Option(min=0, help="of the drawn jobs")] = 0,
    timeline: Annotated[
        str | None,
        typer.Option(metavar="POLICY:LOAD:TRIAL", help="the trial to draw (with --out)"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="write misses.svg, rows.parquet, timeline.*.json and .svg, summary"
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

    All policies meet the same jobs, and the same seed gives the same files. Of a query every
    operator path is a task, on each node it runs on; V2V beyond what a shedder keeps is soft load.

    Exit code: 0 under some policy no hard task missed a deadline, 1 under none, 2 bad input.
    """
    policies = [overload_policy_named(name).name for name in dict.fromkeys(policy.split(","))]
    policies = list(dict.fromkeys(policies))
    loads = parse_loads(load)
    shown = parse_shown(timeline, policies, loads, trials)
    given = load_input(file, vehicle, policies)
    rows: list[Row] = []
    total = len(given.sets) * len(loads) * trials
    with (
        given.placing(),
        progress(total, shown=not json, unit="trials", step=1) as advance,
    ):
        for which in range(len(given.sets)):
            found = run_trials(
                lambda at, _, which=which: given.at(which, at),  # type: ignore[misc]
                loads=loads,
                trials=trials,
                policies=policies,
                duration=duration * MILLISECOND,
                seed=seed,
                advance=advance,
            )
            rows += _named(found, given.sets[which].name) if len(given.sets) > 1 else found
    cells = analyse(rows)
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
        texts = {"summary.json": summary, "misses.svg": misses_svg(cells, f"{given.name}: misses")}
        with given.placing():
            texts |= _timelines(given, shown, duration * MILLISECOND, seed)
        written = write_files(out, texts)
        written += write_bytes(out, {"rows.parquet": _parquet(rows)})
    if json:
        write(summary)
    else:
        title = f"{given.name}: {trials} trials of {duration:,} ms a load"
        lines = [sentence(line) for line in verdict(cells)]
        show([heading(title), table(misses(cells)), *lines, *(f"wrote {p}" for p in written)])
    if not any(_kept(cells, name) for name in policies):
        raise typer.Exit(int(ExitCode.NOT_PROMISED))


def _named(rows: list[Row], node: str) -> list[Row]:
    return [replace(row, task=f"{row.task} on {node}") for row in rows]


def _kept(cells: list[Cell], policy: str) -> bool:
    return all(cell.most == 0 for cell in cells if cell.policy == policy and cell.hard)


def _timelines(given: LoadInput, shown: Shown, duration: int, seed: int) -> dict[str, str]:
    """The chosen trial, one timeline for each node."""
    texts = {}
    for which, one in enumerate(given.sets):
        task_set = given.at(which, shown.load)
        record = record_trial(
            task_set,
            load=shown.load,
            trial=shown.trial,
            policy=shown.policy,
            duration=duration,
            seed=seed,
        )
        about: dict[str, Any] = {"policy": shown.policy, "load": shown.load, "trial": shown.trial}
        title = f"{one.name}: {shown.policy} at {shown.load} %, trial {shown.trial}"
        name = "timeline" if len(given.sets) == 1 else f"timeline-{one.name}"
        texts[f"{name}.perfetto.json"] = trial_perfetto(task_set, record, about)
        texts[f"{name}.svg"] = trial_svg(task_set, record, title, duration)
    return texts


def _parquet(rows: list[Row]) -> bytes:
    buffer = BytesIO()
    pq.write_table(to_table(rows), buffer)
    return buffer.getvalue()
