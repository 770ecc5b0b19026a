"""AEDSMS and S-EDF figure 16: the longest latency of output1 over the drive.

Both policies with the same limit of the load shedder over the same drives; for each second of the
drive the longest latency of a tuple sensed in it, mean and standard deviation over the trials. The
papers do not print the limit, so three are run, the two that they publish among them. S-EDF
preempts between operators, as printed; beside it, between the items of a fusion.

Grid: trial, each with every limit and policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

from headway.drive.collision_warning import Setting
from headway.drive.trial_results import measure
from headway.report.charts import LineChart, Point, Series
from headway_studies.aedsms.collision_drives import (
    AS_PRINTED,
    FIFO,
    IN_ITEMS,
    came_of,
    driven,
    trials_of,
)
from headway_studies.aedsms.collision_drives import PUBLISHED as PUBLISHED_RATES
from headway_studies.row_reading import number, sample, values, where, whole
from headway_studies.study import NO_REASON, Cell, Claim, Findings, Paper, Row, Study, stated

LIMITS = (PUBLISHED_RATES["fifo+"], 300, PUBLISHED_RATES["s-edf"])
OUTPUT1_WAITS = (
    "output1's own way over two CAN buses takes up to 15 ms under either policy, and then it waits "
    "for a fusion that is not left before it is done"
)
PUBLISHED = (0.61, 0.65)
"""AEDSMS, S-EDF"""


def cells(quick: bool) -> list[Cell]:
    return [{"trial": trial} for trial in trials_of(quick)]


def run(cell: Cell) -> list[Row]:
    trial = whole(cell, "trial")
    return [
        asdict(row) | {"setting": setting.label}
        for limit in LIMITS
        for setting in settings_at(limit)
        for row in measure(driven(trial, setting), trial).latencies
    ]


def settings_at(limit: int) -> tuple[Setting, Setting, Setting]:
    """As printed, ours, and the rival."""
    return replace(AS_PRINTED, shed=limit), replace(IN_ITEMS, shed=limit), replace(FIFO, shed=limit)


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(
        claims=tuple(
            _claim(rows, ours, settings_at(limit)[2])
            for place in (0, 1)
            for limit in LIMITS
            for ours in [settings_at(limit)[place]]
        ),
        pictures=tuple(_chart(rows, limit) for limit in LIMITS),
    )


def reduction(rows: Sequence[Row], ours: Setting, rival: Setting) -> float:
    """One minus S-EDF's longest latencies over FIFO+'s, both averaged over drive and trials."""
    mine, theirs = (sample(latencies(rows, setting)).mean for setting in (ours, rival))
    return 1 - mine / theirs


def latencies(rows: Sequence[Row], setting: Setting) -> list[float]:
    return values(where(rows, setting=setting.label), "latency")


def _claim(rows: Sequence[Row], ours: Setting, rival: Setting) -> Claim:
    found = reduction(rows, ours, rival)
    told = ", ".join(
        f"{max(latencies(rows, setting)):.1f} ms ({setting.label})" for setting in (ours, rival)
    )
    return stated(
        "figure 16",
        "EDF cuts the longest latency of output1 by 61 % (AEDSMS), 65 % (S-EDF)",
        f"by {found:.0%} at {ours.shed} V2V tuples/s; the longest of all: {told}",
        came=came_of(ours),
        holds=min(PUBLISHED) / 2 <= found,
        why=NO_REASON if ours.between_items else OUTPUT1_WAITS,
    )


def _chart(rows: Sequence[Row], limit: int) -> LineChart:
    return LineChart(
        title=f"Figure 16: longest latency of output1, {limit} V2V tuples/s let in",
        x="driving time, s",
        y="longest latency, ms",
        series=tuple(
            Series(name=setting.label, points=_points(where(rows, setting=setting.label)))
            for setting in settings_at(limit)
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
    seconds=400,
    cells=cells,
    run=run,
    analyse=analyse,
    seed=1,
)
