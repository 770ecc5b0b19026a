"""A run on Spark as tables, for people."""

from __future__ import annotations

from collections.abc import Sequence

from headway.model.quantities import format_duration, milliseconds
from headway.report.plan.plan_tables import BROKEN, KEPT, NONE, Table, percent, sign
from headway.spark.spark_results import OutputProgress, SparkOutput, SparkRun


def outputs(run: SparkRun) -> Table:
    """Latencies and misses of the tuples that could have been in time."""
    rows = [
        [
            output.output,
            "hard" if output.hard else "soft",
            f"{output.tuples:,}",
            f"{output.replayed:,}",
            *_latencies(output),
            format_duration(output.deadline),
            f"{output.misses:,}" if output.judged else NONE,
            percent(output.miss_ratio) if output.judged else NONE,
            sign(not output.misses) if output.judged else NONE,
        ]
        for output in run.outputs
    ]
    headers = ["Output", "Kind", "Tuples", "Replayed", "Median (ms)", "99 % (ms)", "Max (ms)"]
    headers += ["Deadline", "Missed", "Ratio", "Kept"]
    return Table(title="Outputs", headers=headers, rows=rows, numeric=tuple(range(2, 10)))


def _latencies(output: SparkOutput) -> list[str]:
    times = (output.latency_median, output.latency_99, output.latency_max)
    return [milliseconds(time) if output.judged else NONE for time in times]


def progress(outputs: Sequence[OutputProgress], elapsed: float) -> Table:
    """Where the outputs of a live query stand."""
    rows = [
        [
            one.output,
            "hard" if one.hard else "soft",
            f"{one.batches:,}",
            f"{one.rows_per_second:,.0f}",
            NONE if one.batch_ms is None else f"{one.batch_ms:,} ms",
            NONE if one.lag_s is None else format_lag(one.lag_s),
            f"{one.tuples:,}",
            f"{one.misses:,} of {one.judged:,}" if one.judged else NONE,
        ]
        for one in outputs
    ]
    headers = ["Output", "Kind", "Batches", "Rows/s", "Batch time", "Lag", "Tuples", "Missed"]
    title = f"live for {elapsed:,.0f} s; Ctrl-C stops"
    return Table(title=title, headers=headers, rows=rows, numeric=tuple(range(2, 8)))


def format_lag(seconds: float) -> str:
    """A recording may be years old."""
    days = seconds / 86_400
    return f"{days:,.0f} days" if days >= 2 else f"{seconds:,.1f} s"


def side(run: SparkRun) -> Table:
    """What left its way, and where."""
    rows = [[one.where, one.kind, f"{one.tuples:,}"] for one in run.side]
    headers = ["Source or operator", "Kind", "Tuples"]
    return Table(title="Left their way", headers=headers, rows=rows, numeric=(2,))


def verdict(run: SparkRun) -> str:
    """The run in one line."""
    if run.hard_misses:
        return f"{BROKEN} Deadlines of hard outputs were missed: {', '.join(run.hard_misses)}."
    if run.replayed:
        return f"{KEPT} A replay: all deadlines had passed before the run began, so none is judged."
    missed = sum(output.misses for output in run.outputs)
    if missed:
        return f"{KEPT} No hard deadline was missed; {missed:,} of soft outputs were."
    return f"{KEPT} No deadline was missed."


def speed(run: SparkRun) -> str:
    """How long it took, and how fast that is where the input's size is known."""
    text = f"{sum(output.tuples for output in run.outputs):,} tuples out in {run.seconds:.1f} s"
    if run.rows_in is not None and run.seconds > 0:
        text = f"{run.rows_in:,} tuples in, {text}: {run.rows_in / run.seconds:,.0f} a second"
    if run.batches is not None:
        text += f", {run.batches:,} micro-batches"
    return f"{text}, {run.restarts} restarts" if run.restarts else text
