"""A run's numbers as tables, for people."""

from __future__ import annotations

from collections.abc import Sequence

from headway.model.quantities import format_duration, milliseconds
from headway.report.plan.plan_tables import BROKEN, KEPT, NONE, Table, percent, sign
from headway.runtime.results import OutputSummary, Summary

Runs = Sequence[tuple[str | None, Summary]]


def outputs(summary: Summary) -> Table:
    """Latencies, from sensing to output, against the deadline."""
    rows = [
        [
            output.output,
            "hard" if output.hard else "soft",
            f"{output.tuples:,}",
            *_latencies(output),
            format_duration(output.deadline),
            f"{output.misses:,}",
            percent(output.miss_ratio) if output.tuples else NONE,
            sign(not output.misses),
        ]
        for output in summary.outputs
    ]
    headers = ["Output", "Kind", "Tuples", "Median (ms)", "99 % (ms)", "Max (ms)"]
    headers += ["Deadline", "Missed", "Ratio", "Kept"]
    return Table(title="Outputs", headers=headers, rows=rows, numeric=(2, 3, 4, 5, 6, 7, 8))


def _latencies(output: OutputSummary) -> list[str]:
    times = (output.latency_median, output.latency_99, output.latency_max)
    return [milliseconds(time) if output.tuples else NONE for time in times]


def counts(runs: Runs, total: Summary) -> Table:
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


def verdict(summary: Summary, hard_misses: Sequence[str]) -> str:
    """The run in one line."""
    if hard_misses:
        which = ", ".join(hard_misses)
        return f"{BROKEN} Deadlines of hard outputs were missed: {which}."
    if summary.refused:
        return f"{BROKEN} {summary.refused:,} jobs of hard outputs were not admitted."
    missed = sum(output.misses for output in summary.outputs)
    if missed:
        return f"{KEPT} No hard deadline was missed; {missed:,} of soft outputs were."
    return f"{KEPT} No deadline was missed."
