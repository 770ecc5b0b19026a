"""A fleet's run as tables, for people."""

from __future__ import annotations

from headway.model.quantities import format_duration, milliseconds
from headway.report.plan.plan_tables import BROKEN, KEPT, NONE, Table, percent, sign
from headway.spark.spark_results import FleetRun


def outputs(run: FleetRun) -> Table:
    rows = [
        [
            one.output,
            "hard" if one.hard else "soft",
            f"{one.tuples:,}",
            *(milliseconds(t) for t in (one.latency_median, one.latency_99, one.latency_max)),
            format_duration(one.deadline),
            f"{one.misses:,}",
            percent(one.miss_ratio) if one.tuples else NONE,
            sign(not one.misses),
        ]
        for one in run.outputs
    ]
    headers = ["Output", "Kind", "Tuples", "Median (ms)", "99 % (ms)", "Max (ms)", "Deadline"]
    headers += ["Missed", "Ratio", "Kept"]
    return Table(title="Outputs of the fleet", headers=headers, rows=rows,
                 numeric=tuple(range(2, 9)))  # fmt: skip


def worst(run: FleetRun) -> Table:
    """The vehicles that did worst, for each output."""
    rows = [
        [output.output, one.vehicle or NONE, f"{one.tuples:,}", f"{one.misses:,}",
         milliseconds(one.latency_99), milliseconds(one.latency_max)]
        for output in run.outputs
        for one in run.worst(output.output)
    ]  # fmt: skip
    headers = ["Output", "Vehicle", "Tuples", "Missed", "99 % (ms)", "Max (ms)"]
    return Table(title="Worst vehicles", headers=headers, rows=rows, numeric=(2, 3, 4, 5))


def met(run: FleetRun) -> str:
    """How it went with the cars on collision course."""
    met = f"{run.met:,} cars were on collision course with a vehicle of the fleet"
    if run.crashes:
        share = percent(run.crashes / run.met)
        return f"{BROKEN} {met}; {run.crashes:,} ({share}) were noticed too late to stop."
    return f"{KEPT} {met}; all were noticed in time to stop."


def verdict(run: FleetRun) -> str:
    if run.hard_misses:
        return f"{BROKEN} Deadlines of hard outputs were missed: {', '.join(run.hard_misses)}."
    missed = sum(output.misses for output in run.outputs)
    if missed:
        return f"{KEPT} No hard deadline was missed; {missed:,} of soft outputs were."
    return f"{KEPT} No deadline was missed in {run.vehicles:,} vehicles."
