"""AEDSMS and S-EDF figure 16: the longest latency of output1 over the drive.

Both policies with the same limit of the load shedder over the same drives; for each second of the
drive the longest latency of a tuple sensed in it, mean and standard deviation over the trials. The
papers do not print the limit, so three are run.

Grid: trial, each with every limit and policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from headway.drive.collision_warning import Setting
from headway.drive.trial_results import measure
from headway.report.charts import LineChart, Point, Series
from headway_studies.aedsms.collision_drives import S_EDF_RATE, driven, trials_of
from headway_studies.row_reading import POLICY_NAMES, number, sample, values, where, whole
from headway_studies.study import Cell, Claim, Findings, Paper, Row, Study, stated

POLICIES = ("s-edf", "fifo+")
LIMITS = (100, 300, S_EDF_RATE)
PUBLISHED = (0.61, 0.65)
"""AEDSMS, S-EDF"""


def cells(quick: bool) -> list[Cell]:
    return [{"trial": trial} for trial in trials_of(quick)]


def run(cell: Cell) -> list[Row]:
    trial = whole(cell, "trial")
    return [
        asdict(row)
        for limit in LIMITS
        for policy in POLICIES
        for row in measure(driven(trial, Setting(policy=policy, shed=limit)), trial).latencies
    ]


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(
        claims=tuple(_claim(rows, limit) for limit in LIMITS),
        pictures=tuple(_chart(rows, limit) for limit in LIMITS),
    )


def reduction(rows: Sequence[Row], limit: int) -> float:
    """One minus S-EDF's longest latencies over FIFO+'s, both averaged over drive and trials."""
    ours, theirs = (
        sample(values(where(rows, policy=policy, shed=limit), "latency")).mean
        for policy in POLICIES
    )
    return 1 - ours / theirs


def _claim(rows: Sequence[Row], limit: int) -> Claim:
    found = reduction(rows, limit)
    longest = {
        policy: max(values(where(rows, policy=policy, shed=limit), "latency"))
        for policy in POLICIES
    }
    told = ", ".join(f"{POLICY_NAMES[policy]} {longest[policy]:.1f} ms" for policy in POLICIES)
    return stated(
        "figure 16",
        "EDF cuts the longest latency of output1 by 61 % (AEDSMS), 65 % (S-EDF)",
        f"by {found:.0%} at {limit} V2V tuples/s; the longest of all: {told}",
        holds=min(PUBLISHED) / 2 <= found,
        why="output1's own way over two CAN buses takes up to 15 ms under either policy",
    )


def _chart(rows: Sequence[Row], limit: int) -> LineChart:
    return LineChart(
        title=f"Figure 16: longest latency of output1, {limit} V2V tuples/s let in",
        x="driving time, s",
        y="longest latency, ms",
        series=tuple(
            Series(
                name=POLICY_NAMES[policy],
                points=_points(where(rows, policy=policy, shed=limit)),
            )
            for policy in POLICIES
        ),
        note="Mean over the trials, bars: standard deviation. Deadline 30 ms.",
    )


def _points(rows: Sequence[Row]) -> tuple[Point, ...]:
    points = []
    for second in sorted(number(row, "second") for row in where(rows, trial=rows[0]["trial"])):
        found = sample(values(where(rows, second=int(second)), "latency"))
        points.append(
            Point(
                x=second,
                y=found.mean,
                low=found.mean - found.deviation,
                high=found.mean + found.deviation,
            )
        )
    return tuple(points)


STUDY = Study(
    name="output1-latency",
    paper=Paper.AEDSMS,
    figures=("figure 16", "S-EDF figure 16"),
    title="The longest latency of output1 over the drive",
    seconds=270,
    cells=cells,
    run=run,
    analyse=analyse,
    seed=1,
)
