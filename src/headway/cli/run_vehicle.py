"""``headway run --engine vehicle``: a recording through the engine of the car."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from rich.console import RenderableType

from headway.cli.exit_codes import ExitCode
from headway.cli.progress import progress
from headway.cli.run_engine import Clock, EngineOptions
from headway.cli.run_plan import RunnablePlan, runnable_plan
from headway.cli.screen import heading, sentence, show, table, write, write_problem
from headway.model.time import MICROSECOND
from headway.report import run_tables
from headway.report.perfetto import PerfettoTrace
from headway.runtime.replay import replay
from headway.runtime.run_folder import RunFolder
from headway.runtime.totals import Totals, summary_data
from headway.runtime.writing import RunWriter
from headway.sources.scan import Contents, scan_recording

PERFETTO = "trace.perfetto.json"


def run_vehicle(
    options: EngineOptions,
    query: Path,
    vehicle: Path | None,
    recording: Path,
    output: Path,
    *,
    force: bool,
    json: bool,
) -> None:
    """Runs, writes and shows; exit code 1 where a hard output missed a deadline."""
    prepared = runnable_plan(query, vehicle, zero_cost=options.zero_cost)
    with prepared.placing():
        options.make(prepared)  # what cannot be opened is found before anything is read
    contents = scan_recording(recording, prepared.plan.query.sources)
    totals = Totals()
    with RunFolder(output, force=force) as folder:
        _run_all(prepared, recording, contents, options, totals, folder, shown=not json)
        data = _summary(prepared, contents, options, totals)
        text = folder.write_summary(data)
    if prepared.note and options.clock is Clock.VIRTUAL:
        write_problem(f"note: {prepared.note}")
    if complaint := options.complaint():
        write_problem(f"warning: {complaint}")
    if json:
        write(text)
    else:
        show(_explained(prepared, data, totals, output))
    if totals.hard_misses or totals.summary.refused:
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
) -> dict[str, Any]:
    """What summary.json holds. No time of day: the same run gives the same bytes."""
    data: dict[str, Any] = {
        "query": prepared.plan.query.name,
        "vehicle": prepared.plan.vehicle.name,
        **options.data(prepared),
        "tuples": contents.tuples,
        **summary_data(totals.summary),
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
