"""``headway run``: a query over a recording, in the vehicle engine."""

from __future__ import annotations

import json as json_format
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from headway.cli.exit_codes import ExitCode
from headway.cli.progress import progress
from headway.cli.run_engine import Clock, Cores, EngineName, EngineOptions
from headway.cli.run_plan import RunnablePlan, runnable_plan
from headway.cli.screen import heading, sentence, show, table, write, write_problem
from headway.model.time import MICROSECOND
from headway.report import run_tables
from headway.report.perfetto import PerfettoTrace
from headway.runtime.replay import replay
from headway.runtime.run_folder import SUMMARY, RunFolder
from headway.runtime.totals import Totals, summary_data
from headway.runtime.writing import RunWriter
from headway.sources.scan import Contents, scan_recording

PERFETTO = "trace.perfetto.json"


def run(
    query: Annotated[
        Path, typer.Argument(metavar="QUERY.yaml|PLAN.json", help="the query, or a compiled plan")
    ],
    input: Annotated[
        Path,
        typer.Option(metavar="DIR", help="the recording: a Parquet, CSV or JSONL file per source"),
    ],
    output: Annotated[Path, typer.Option(metavar="DIR", help="where the results go")],
    vehicle: Annotated[
        Path | None, typer.Option(metavar="VEHICLE.yaml", help="the vehicle the query runs in")
    ] = None,
    policy: Annotated[
        str, typer.Option(metavar="NAME", help="how jobs are scheduled: see `headway policies`")
    ] = "s-edf",
    clock: Annotated[
        Clock, typer.Option(help="virtual: exact, as fast as can be; wall: in real time")
    ] = Clock.VIRTUAL,
    zero_cost: Annotated[
        bool, typer.Option("--zero-cost", help="operators take no time: the meaning of the query")
    ] = False,
    cores: Annotated[
        Cores, typer.Option(help="how the cores of a node share its jobs")
    ] = Cores.GLOBAL,
    batching: Annotated[
        bool,
        typer.Option(
            "--batching", help="waiting tuples run as one while every promise of the plan holds"
        ),
    ] = False,
    speed: Annotated[
        float | None,
        typer.Option(metavar="X", help="with --clock wall: so many times as fast as recorded"),
    ] = None,
    trace: Annotated[
        bool, typer.Option("--trace", help=f"also write trace.parquet and {PERFETTO}")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="replace the results of an earlier run")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="print the summary as JSON instead of tables")
    ] = False,
    engine: Annotated[EngineName, typer.Option(help="what runs it")] = EngineName.VEHICLE,
) -> None:
    """Run a query over a recording and say how its outputs stood to their deadlines.

    \b
    Example:
      headway run examples/hello/query.yaml --input examples/hello/recording --output build/hello

    Writes a Parquet file per output, one per kind of tuple that left its way (late, shed, failed,
    rejected) and summary.json. A recording with a column `vehicle` is run vehicle by vehicle.

    Exit code: 0 fine, 1 a hard output missed a deadline, 2 bad input.
    """
    options = EngineOptions(
        engine=engine,
        policy=policy,
        clock=clock,
        cores=cores,
        speed=speed,
        batching=batching,
        zero_cost=zero_cost,
        trace=trace,
    )
    prepared = runnable_plan(query, vehicle, zero_cost=zero_cost)
    with prepared.placing():
        options.make(prepared)  # what cannot be opened is found before anything is read
    contents = scan_recording(input, prepared.plan.query.sources)
    totals = Totals()
    with RunFolder(output, force=force) as folder:
        _run_all(prepared, input, contents, options, totals, folder, shown=not json)
        data = _summary(prepared, contents, options, totals, [*folder.names, SUMMARY])
        text = json_format.dumps(data, indent=1, ensure_ascii=False) + "\n"
        folder.write_text(SUMMARY, text)
    if prepared.note and clock is Clock.VIRTUAL:
        write_problem(f"note: {prepared.note}")
    if complaint := options.complaint():
        write_problem(f"warning: {complaint}")
    if json:
        write(text)
    else:
        show(_explained(prepared, data, totals, output))
    if totals.hard_misses:
        raise typer.Exit(int(ExitCode.NOT_PROMISED))


def _run_all(
    prepared: RunnablePlan,
    recording: Path,
    contents: Contents,
    options: EngineOptions,
    totals: Totals,
    folder: RunFolder,
    *,
    shown: bool,
) -> None:
    """Runs every vehicle and writes what it gives."""
    plan, traced = prepared.plan, options.trace
    writer = RunWriter(folder, plan, named=contents.named, traced=traced)
    perfetto = PerfettoTrace(plan, contents.begin * MICROSECOND) if traced else None
    try:
        with progress(contents.count, shown=shown) as advance:
            for one in replay(plan, recording, contents, lambda: options.make(prepared), advance):
                totals.add(one)
                writer.add(one)
                if perfetto is not None:
                    perfetto.add(one)
    finally:
        writer.close()
    if perfetto is not None:
        folder.write_text(PERFETTO, perfetto.to_json())


def _summary(
    prepared: RunnablePlan,
    contents: Contents,
    options: EngineOptions,
    totals: Totals,
    files: list[str],
) -> dict[str, Any]:
    """What summary.json holds. No time of day: the same run gives the same bytes."""
    data: dict[str, Any] = {
        "query": prepared.plan.query.name,
        "vehicle": prepared.plan.vehicle.name,
        **options.data(prepared),
        "tuples": contents.tuples,
        **summary_data(totals.summary),
        "files": files,
    }
    if contents.named:
        data["by_vehicle"] = {str(name): summary_data(one) for name, one in totals.by_vehicle}
    return data


def _explained(
    prepared: RunnablePlan, data: dict[str, Any], totals: Totals, output: Path
) -> Iterator[RenderableType]:
    name, on = prepared.plan.query.name, prepared.plan.vehicle.name
    yield heading(f"{name} on {on}, {data['policy']}, {data['clock']} time, {data['costs']} costs")
    summary = totals.summary
    yield table(run_tables.outputs(summary))
    yield table(run_tables.counts(totals.by_vehicle, summary))
    yield sentence(run_tables.verdict(summary, totals.hard_misses))
    yield f"wrote {output}"
