"""The pictures of the recorded drive (:mod:`headway.experiments.studies.recorded_drive`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headway.experiments.collision.encounters import STOPPING_TIME
from headway.experiments.findings import BarChart, Grid, LineChart, Picture, Point, Series
from headway.experiments.recorded.car_ahead import CLOSING
from headway.experiments.recorded.positions import CARRIED, FUSED, HELD
from headway.experiments.recorded.rows import (
    FUSED_VIEW,
    POLICIES,
    RADAR_VIEW,
    fixes,
    milliseconds,
    missed_share,
    outputs_at,
    rates_of,
)
from headway.experiments.rows import distinct, number, number_or_none, text, values, where
from headway.experiments.study import Row

LONGEST_TTC = 40.0
"""s, the end of the picture's scale"""
HARDEST = "output1"
"""the output with the shortest deadline"""


def pictures(rows: Sequence[Row]) -> tuple[Picture, ...]:
    hardest = where(rows, part="rate", output=HARDEST)
    return (
        _over_time(rows, "Distance to the car ahead", "m", lambda row: number(row, "distance")),
        _over_time(
            rows,
            "Time to collision with the car ahead",
            "s",
            _shown_ttc,
            f"At the top: {LONGEST_TTC:g} s or more, or not closing by {CLOSING:g} m/s. "
            f"{STOPPING_TIME} s are needed to stop.",
        ),
        _by_rate(
            rows,
            "Missed deadlines by rate of the ECU",
            "missed, %",
            lambda policy, rate: 100 * missed_share(rows, policy, rate),
            "Of the tuples of all outputs. The paper's processor has rate 1.",
        ),
        _by_rate(
            rows,
            f"Longest latency of {HARDEST} by rate of the ECU",
            "ms",
            lambda policy, rate: number(outputs_at(hardest, policy, rate)[0], "longest_ms"),
            f"Deadline {number(hardest[0], 'deadline_ms'):g} ms.",
        ),
        _outputs(rows),
        _misses(rows),
        _positions(rows),
        _position_table(rows),
    )


def _shown_ttc(row: Row) -> float:
    found = number_or_none(row, "ttc")
    return LONGEST_TTC if found is None else min(found, LONGEST_TTC)


def _over_time(
    rows: Sequence[Row], title: str, unit: str, shown: Callable[[Row], float], note: str = ""
) -> LineChart:
    return LineChart(
        title=title,
        x="s of the drive",
        y=unit,
        series=tuple(
            Series(
                name=view,
                points=tuple(
                    Point(x=number(row, "second"), y=shown(row))
                    for row in where(rows, part="moment", view=view)
                ),
            )
            for view in (RADAR_VIEW, FUSED_VIEW)
        ),
        note=note,
    )


def _by_rate(
    rows: Sequence[Row], title: str, y: str, shown: Callable[[str, float], float], note: str
) -> BarChart:
    rates = rates_of(rows)
    return BarChart(
        title=title,
        y=y,
        groups=tuple(f"rate {rate:g}" for rate in rates),
        bars=tuple(POLICIES.values()),
        values=tuple(tuple(shown(policy, rate) for policy in POLICIES) for rate in rates),
        note=note,
    )


def _outputs(rows: Sequence[Row]) -> Grid:
    """At the fastest rate that was run; the promises are for S-EDF."""
    fastest = rates_of(rows)[0]
    return Grid(
        title=f"Outputs at rate {fastest:g}, latencies in ms (the promises are for S-EDF)",
        headers=(
            "Policy", "Output", "Tuples", "Median", "Longest", "Promised", "Deadline", "Missed"
        ),
        rows=tuple(
            (
                name,
                text(row, "output"),
                f"{number(row, 'tuples'):,.0f}",
                milliseconds(row, "median_ms"),
                milliseconds(row, "longest_ms"),
                milliseconds(row, "bound_ms") if policy == "s-edf" else "–",
                f"{number(row, 'deadline_ms'):g}",
                f"{number(row, 'misses'):,.0f}",
            )
            for policy, name in POLICIES.items()
            for row in outputs_at(rows, policy, fastest)
        ),
    )  # fmt: skip


def _misses(rows: Sequence[Row]) -> Grid:
    outputs = distinct(where(rows, part="rate"), "output")
    return Grid(
        title="Missed of all tuples by rate of the ECU",
        headers=("Rate", "Output", *POLICIES.values()),
        rows=tuple(
            (
                f"{rate:g}",
                str(output),
                *(
                    f"{number(row, 'misses'):,.0f} of {number(row, 'tuples'):,.0f}"
                    for policy in POLICIES
                    for row in where(outputs_at(rows, policy, rate), output=output)
                ),
            )
            for rate in rates_of(rows)
            for output in outputs
        ),
    )


def _positions(rows: Sequence[Row]) -> BarChart:
    found = where(rows, part="position")
    thinned = distinct(found, "every")
    return BarChart(
        title="Mean error of our own position",
        y="m",
        groups=tuple(fixes(every) for every in thinned),
        bars=(HELD, CARRIED, FUSED),
        values=tuple(
            tuple(
                values(where(found, every=every, line=line), "mean")[0]
                for line in (HELD, CARRIED, FUSED)
            )
            for every in thinned
        ),
        note="Against the reference trajectory.",
    )


def _position_table(rows: Sequence[Row]) -> Grid:
    keys = ("mean", "rms", "percentile95", "without_offset")
    return Grid(
        title="Error of our own position in metres",
        headers=("Fixes", "Known by", "Mean", "RMS", "95th percentile", "Mean without GNSS offset"),
        rows=tuple(
            (
                fixes(row["every"]),
                text(row, "line"),
                *(f"{number(row, key):.3f}" for key in keys),
            )
            for row in where(rows, part="position")
        ),
    )
