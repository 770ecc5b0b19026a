"""``headway loadtest``: how often deadlines are missed when more is asked for than there is."""

from __future__ import annotations

import json as json_format
from io import BytesIO
from pathlib import Path
from typing import Annotated

import pyarrow.parquet as pq
import typer

from headway.cli.exit_codes import ExitCode
from headway.cli.load_inputs import LOAD_FORM, load_input, parse_loads, parse_shown
from headway.cli.load_trials import PathTrials, SetTrials, Trials
from headway.cli.outputs import charts_or_note, write_bytes, write_files
from headway.cli.progress import progress
from headway.cli.screen import heading, sentence, show, table, write
from headway.model.time import MILLISECOND
from headway.report.loadtest_tables import misses, plain, verdict
from headway.report.run_charts import miss_charts
from headway.schedule.online import OVERLOAD_POLICIES, overload_policy_named
from headway.schedule.overload.load_trials import (
    END_TO_END_POLICIES,
    LoadCell,
    LoadRow,
    load_cells,
    load_table,
)

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
            f"(policies {', '.join(END_TO_END_POLICIES)})",
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
    chosen = policy or (",".join(END_TO_END_POLICIES) if end_to_end else DEFAULT)
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
    with given.placing(), progress(test.count, shown=not json, unit="trials", step=1) as advance:
        rows = test.rows(advance)
    cells = load_cells(rows)
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


def _kept(cells: list[LoadCell], policy: str) -> bool:
    return all(cell.most == 0 for cell in cells if cell.policy == policy and cell.hard)


def _parquet(rows: list[LoadRow]) -> bytes:
    buffer = BytesIO()
    pq.write_table(load_table(rows), buffer)
    return buffer.getvalue()
