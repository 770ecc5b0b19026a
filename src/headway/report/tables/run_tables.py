"""Runs as tables and sentences, for people: in the vehicle, on Spark, and of a whole fleet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headway.engine.operator_counts import OperatorCount
from headway.engine.results import OutputSummary, RunSummary
from headway.model.plan import Plan
from headway.model.quantities import format_duration, milliseconds
from headway.report.plan.plan_tables import (
    BROKEN,
    KEPT,
    NONE,
    Table,
    chain_text,
    percent,
    sign,
)
from headway.spark.spark_results import FleetRun, OutputProgress, SparkOutput, SparkRun

Runs = Sequence[tuple[str | None, RunSummary]]


# ---------------------------------------------------------------- what all runs have


def outputs(found: Sequence[OutputSummary], title: str = "Outputs") -> Table:
    """Latencies, from sensing to output, against the deadline."""
    rows = [
        [
            *_named(one),
            *_latencies(one, one.tuples),
            format_duration(one.deadline),
            f"{one.misses:,}",
            percent(one.miss_ratio) if one.tuples else NONE,
            sign(not one.misses) if one.tuples else NONE,
        ]
        for one in found
    ]
    headers = ["Output", "Kind", "Tuples", "Median (ms)", "99 % (ms)", "Max (ms)"]
    headers += ["Deadline", "Missed", "Ratio", "Kept"]
    if any(one.precision is not None for one in found):
        headers.append("Precision")
        for row, one in zip(rows, found, strict=True):
            row.append(NONE if one.precision is None else percent(one.precision))
    return Table(title=title, headers=headers, rows=rows, numeric=tuple(range(2, 9)))


def _named(output: OutputSummary) -> list[str]:
    return [output.output, "hard" if output.hard else "soft", f"{output.tuples:,}"]


def _latencies(output: OutputSummary, counted: int) -> list[str]:
    times = (output.latency_median, output.latency_99, output.latency_max)
    return [milliseconds(time) if counted else NONE for time in times]


def _deadlines(found: Sequence[OutputSummary], instead: str = "", where: str = "") -> str:
    """How deadlines were kept, in one line; ``instead`` is what else to say where no hard one was
    missed."""
    hard = [one.output for one in found if one.hard and one.misses]
    missed = sum(one.misses for one in found)
    if hard:
        return f"{BROKEN} Deadlines of hard outputs were missed: {', '.join(hard)}."
    if instead:
        return instead
    if missed:
        return f"{KEPT} No hard deadline was missed; {missed:,} of soft outputs were."
    if not any(one.tuples for one in found):
        return "No output gave a tuple, so no deadline was put to the test."
    return f"{KEPT} No deadline was missed{where}."


# ---------------------------------------------------------------- in the vehicle


def chains(summary: RunSummary, plan: Plan) -> Table:
    """The greatest data age and reaction time seen of each chain, beside the bounds."""
    bounds = {} if plan.verdict is None else {(c.output, c.streams): c for c in plan.verdict.chains}
    rows = []
    for one in summary.chains:
        chain = bounds[one.output, one.streams]
        rows.append(
            [
                one.output,
                chain_text(chain),
                *(
                    NONE if time is None else milliseconds(time)
                    for time in (one.age, chain.age.bound, one.reaction, chain.reaction.bound)
                ),
            ]
        )
    headers = ["Output", "Chain", "Greatest age (ms)", "Bound (ms)", "Longest reaction (ms)"]
    headers += ["Bound (ms)"]
    return Table(title="Chains", headers=headers, rows=rows, numeric=(2, 3, 4, 5))


def counts(runs: Runs, total: RunSummary) -> Table:
    """What came in, what left its way, and what the scheduler did; a line per vehicle."""
    listed = [(vehicle or NONE, summary) for vehicle, summary in runs]
    if len(listed) > 1:
        listed.append(("all", total))
    rows = [
        [vehicle]
        + [
            f"{count:,}"
            for count in (
                summary.arrived,
                summary.rejected,
                summary.shed,
                summary.late,
                summary.failed,
                summary.decisions,
                summary.preemptions,
                summary.timeouts,
            )
        ]
        + [percent(summary.miss_ratio)]
        for vehicle, summary in listed
    ]
    headers = ["Vehicle", "Arrived", "Rejected", "Shed", "Late", "Failed"]
    headers += ["Decisions", "Preemptions", "Timeouts", "Weighted miss ratio"]
    return Table(title="Counts", headers=headers, rows=rows, numeric=tuple(range(1, 10)))


def operators(found: Sequence[OperatorCount]) -> Table:
    """What became of the tuples of each source and operator."""
    rows = [
        [
            one.operator,
            f"{one.consumed:,}",
            f"{one.produced:,}",
            *(
                f"{count:,}" if count else NONE
                for count in (one.filtered, one.late, one.failed, one.shed + one.rejected, one.kept)
            ),
        ]
        for one in found
    ]
    headers = ["Operator", "In", "Out", "Filtered", "Late", "Failed", "Refused", "Still inside"]
    return Table(title="Operators", headers=headers, rows=rows, numeric=tuple(range(1, 8)))


def silent_outputs(summary: RunSummary, reasons: Mapping[str, str]) -> list[str]:
    """A sentence for each output without a tuple; ``reasons`` where they are known."""
    silent = [one.output for one in summary.outputs if not one.tuples]
    return [
        f"{output} gave no tuple{f': {reason}' if (reason := reasons.get(output)) else ''}."
        for output in silent
    ]


def verdict(summary: RunSummary) -> str:
    """The run in one line."""
    refused = f"{BROKEN} {summary.refused:,} jobs of hard outputs were not admitted."
    kept = _deadlines(summary.outputs, instead=refused if summary.refused else "")
    return f"{kept} {exceeded(summary)}".rstrip()


def exceeded(summary: RunSummary) -> str:
    """Who went beyond what the query declares; empty where nobody did."""
    if not summary.exceeded:
        return ""
    who = "; ".join(f"{one.where} by {one.count:,} ({one.declared})" for one in summary.exceeded)
    return f"No promise covers this run: more came than is declared, of {who}."


# ---------------------------------------------------------------- on Spark


def spark_outputs(found: Sequence[SparkOutput]) -> Table:
    """Latencies and misses of the tuples that could have been in time."""
    rows = [
        [
            *_named(one),
            f"{one.replayed:,}",
            *_latencies(one, one.judged),
            format_duration(one.deadline),
            f"{one.misses:,}" if one.judged else NONE,
            percent(one.miss_ratio) if one.judged else NONE,
            sign(not one.misses) if one.judged else NONE,
        ]
        for one in found
    ]
    headers = ["Output", "Kind", "Tuples", "Replayed", "Median (ms)", "99 % (ms)", "Max (ms)"]
    headers += ["Deadline", "Missed", "Ratio", "Kept"]
    if any(one.precision is not None for one in found):
        headers.append("Precision")
        for row, one in zip(rows, found, strict=True):
            row.append(NONE if one.precision is None else percent(one.precision))
    return Table(title="Outputs", headers=headers, rows=rows, numeric=tuple(range(2, 10)))


def spark_progress(found: Sequence[OutputProgress], elapsed: float) -> Table:
    """Where the outputs of a live query stand."""
    rows = [
        [
            one.output,
            "hard" if one.hard else "soft",
            f"{one.batches:,}",
            f"{one.rows_per_second:,.0f}",
            NONE if one.batch_ms is None else f"{one.batch_ms:,} ms",
            _lag(one),
            f"{one.tuples:,}",
            f"{one.misses:,} of {one.judged:,}" if one.judged else NONE,
            one.doing,
        ]
        for one in found
    ]
    headers = ["Output", "Kind", "Batches", "Rows/s", "Batch time", "Lag", "Tuples", "Missed"]
    headers.append("Spark is")
    title = f"live for {elapsed:,.0f} s; Ctrl-C stops"
    return Table(title=title, headers=headers, rows=rows, numeric=tuple(range(2, 8)))


def _lag(one: OutputProgress) -> str:
    """How far behind the clock the newest tuple was sensed; a recording is not behind, but old."""
    if one.lag_s is None:
        return NONE
    return f"{one.lag_s:,.1f} s" if one.judged else "a replay"


def spark_side(run: SparkRun) -> Table:
    """What left its way, and where."""
    rows = [[one.where, one.kind, f"{one.tuples:,}"] for one in run.side]
    headers = ["Source or operator", "Kind", "Tuples"]
    return Table(title="Left their way", headers=headers, rows=rows, numeric=(2,))


def spark_operators(run: SparkRun) -> Table:
    """What went into and came out of each operator."""
    rows = [
        [
            one.operator,
            *(NONE if count is None else f"{count:,}" for count in (one.taken, one.given)),
        ]
        for one in run.operators
    ]
    return Table(title="Operators", headers=["Operator", "In", "Out"], rows=rows, numeric=(1, 2))


def spark_verdict(run: SparkRun) -> str:
    """The run in one line."""
    replay = f"{KEPT} A replay: all deadlines had passed before the run began, so none is judged."
    return _deadlines(run.outputs, instead=replay if run.replayed else "")


def spark_speed(run: SparkRun) -> str:
    """How long it took, and how fast that is where the input's size is known."""
    text = f"{sum(output.tuples for output in run.outputs):,} tuples out in {run.seconds:.1f} s"
    if run.rows_in is not None and run.seconds > 0:
        text = f"{run.rows_in:,} tuples in, {text}: {run.rows_in / run.seconds:,.0f} a second"
    if run.batches is not None:
        text += f", {run.batches:,} micro-batches"
    return f"{text}, {run.restarts} restarts" if run.restarts else text


# ---------------------------------------------------------------- a fleet


def fleet_outputs(run: FleetRun) -> Table:
    return outputs(run.outputs, "Outputs of the fleet")


def fleet_worst(run: FleetRun) -> Table:
    """The vehicles that did worst, for each output."""
    rows = [
        [
            output.output,
            one.vehicle or NONE,
            f"{one.tuples:,}",
            f"{one.misses:,}",
            milliseconds(one.latency_99),
            milliseconds(one.latency_max),
        ]
        for output in run.outputs
        for one in run.worst(output.output)
    ]
    headers = ["Output", "Vehicle", "Tuples", "Missed", "99 % (ms)", "Max (ms)"]
    return Table(title="Worst vehicles", headers=headers, rows=rows, numeric=(2, 3, 4, 5))


def fleet_met(run: FleetRun) -> str:
    """How it went with the cars on collision course."""
    met = f"{run.met:,} cars were on collision course with a vehicle of the fleet"
    if run.crashes:
        share = percent(run.crashes / run.met)
        return f"{BROKEN} {met}; {run.crashes:,} ({share}) were noticed too late to stop."
    return f"{KEPT} {met}; all were noticed in time to stop."


def fleet_verdict(run: FleetRun) -> str:
    """The run in one line."""
    return _deadlines(run.outputs, where=f" in {run.vehicles:,} vehicles")
