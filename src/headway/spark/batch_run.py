"""A query over a whole recording on Spark: each output computed once, accounted and written."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from headway.model.plan import Plan
from headway.model.query import Criticality, Output
from headway.spark.accounting import Account, now
from headway.spark.failures import translated
from headway.spark.outcome import SparkOutput, SparkRun
from headway.spark.output_folder import OutputFolder
from headway.spark.plan import lower_batch
from headway.spark.reading import PARQUET, find_files, read_batch
from headway.spark.sinks import CONSOLE, Sink
from headway.spark.sources.quarantine import FOLDER, Quarantine, notes

OnOutput = Callable[[str], None]
OnRows = Callable[[str, list[dict[str, object]]], None]


def run_batch(
    spark: SparkSession,
    plan: Plan,
    recording: Path,
    folder: OutputFolder,
    sink: Sink,
    *,
    on_output: OnOutput = lambda name: None,
    on_rows: OnRows = lambda name, rows: None,
) -> SparkRun:
    """``on_output`` is called before each output is computed; ``on_rows`` gets the rows that the
    console shows."""
    began, clock = now(), time.perf_counter()
    schemas = dict(plan.schemas)
    done: dict[str, SparkOutput] = {}
    quarantine = Quarantine(folder.part(FOLDER))
    with translated():
        sources = read_batch(spark, recording, plan.query.sources, quarantine=quarantine)
        with lower_batch(plan, sources) as lowered:
            for output in sorted(plan.query.outputs, key=urgency):
                on_output(output.name)
                account = Account(output, schemas[output.stream], began)
                done[output.name] = sink.write(lowered[output.name], account, folder)
                if sink.format == CONSOLE:
                    on_rows(output.name, sink.shown(lowered[output.name], account))
    left_out = quarantine.entries()
    if not left_out:
        folder.drop(FOLDER)
    return SparkRun(
        outputs=tuple(done[output.name] for output in plan.query.outputs),
        seconds=time.perf_counter() - clock,
        rows_in=None if left_out else _rows_in(plan, recording),
        notes=notes(left_out),
    )


def urgency(output: Output) -> tuple[bool, int]:
    """Hard before soft, then the earliest deadline first."""
    return output.criticality is not Criticality.HARD, output.deadline or 0


def _rows_in(plan: Plan, recording: Path) -> int | None:
    """What Parquet files say they hold; text would have to be read for it."""
    rows = 0
    for source in plan.query.sources:
        files = find_files(recording, source)
        if files.suffix != PARQUET:
            return None
        rows += sum(pq.ParquetFile(path).metadata.num_rows for path in files.paths())
    return rows
