"""Detections and crashes as pictures: figures 18 and 19, and tables."""

from __future__ import annotations

from collections.abc import Sequence

from headway.experiments.collision.cells import SETTINGS
from headway.experiments.collision.encounters import STOPPING_TIME
from headway.experiments.collision.setting import Setting
from headway.experiments.findings import BoxPlot, Grid, LineChart, Point, Series, box
from headway.experiments.rows import flag, number, values, where, whole
from headway.experiments.study import Row

WIDTH = 0.25
"""seconds of TTC in an interval of figure 18: two cycles of the sensors and a little"""
EDGES: tuple[float, ...] = tuple(place * WIDTH for place in range(round(8 / WIDTH) + 1))


def crash_rate(meetings: Sequence[Row], setting: Setting) -> float:
    mine = where(meetings, setting=setting.label)
    return sum(flag(row, "crash") for row in mine) / len(mine)


def times_left(meetings: Sequence[Row], setting: Setting) -> list[float]:
    """At the first detections; never in time counts as 0."""
    mine = where(meetings, setting=setting.label)
    return [0.0 if row["ttc"] is None else number(row, "ttc") for row in mine]


def detection(rows: Sequence[Row]) -> LineChart:
    found = where(rows, part="detection")
    return LineChart(
        title="Figure 18: share of the cars on collision course that are detected",
        x="time to collision, s",
        y="detection rate",
        series=tuple(
            Series(
                name=setting.label,
                points=tuple(
                    Point(x=ttc + WIDTH / 2, y=_mean(where(mine, interval=ttc)))
                    for ttc in EDGES[:-1]
                ),
            )
            for setting in SETTINGS
            for mine in [where(found, setting=setting.label)]
        ),
        note=f"In intervals of {WIDTH} s, over all trials; not cumulative. "
        f"Our car needs {STOPPING_TIME} s to stop.",
    )


def _mean(rows: Sequence[Row]) -> float:
    found = values(rows, "rate")
    return sum(found) / len(found)


def boxes(meetings: Sequence[Row]) -> BoxPlot:
    return BoxPlot(
        title="Figure 19: time to collision at the first detection",
        y="TTC, s",
        boxes=tuple(box(one.label, times_left(meetings, one)) for one in SETTINGS),
        limit=STOPPING_TIME,
        note="Six cars a trial; below the line our car cannot stop in time.",
    )


def table(rows: Sequence[Row]) -> Grid:
    meetings, trials = where(rows, part="meeting"), where(rows, part="trial")
    return Grid(
        title="Crashes and deadlines",
        headers=("Setting", "Cars met", "Crash rate", "Worst TTC (s)", "Missed 1", "Missed 2"),
        rows=tuple(
            (
                one.label,
                str(len(where(meetings, setting=one.label))),
                f"{crash_rate(meetings, one):.1%}",
                f"{min(times_left(meetings, one)):.2f}",
                missed(where(trials, setting=one.label), 1),
                missed(where(trials, setting=one.label), 2),
            )
            for one in SETTINGS
        ),
    )


def cars(rows: Sequence[Row], scarce: Setting) -> Grid:
    """Who is reported how often, and what a random choice of 100 tuples a second makes of it."""
    meetings, told = where(rows, part="meeting"), where(rows, part="reports")
    table = []
    for car in sorted({whole(row, "car") for row in told}):
        mine, met = where(told, car=car), where(meetings, car=car)
        table.append(
            (
                str(car),
                f"{_average(mine, 'in_view'):.1f}",
                f"{_average(mine, 'count'):.0f} by {_average(mine, 'senders'):.1f}",
                f"{_average(mine, 'offered'):.0f}",
                f"{_average(mine, 'all_shed'):.1%}",
                f"{crash_rate(met, scarce):.1%}",
            )
        )
    return Grid(
        title="Cars on collision course, one by one: reports by V2V until 2.8 s before the impact",
        headers=(
            "Car",
            "First (s before)",
            "Reports, senders",
            "Offered (/s)",
            f"Chance that {scarce.shed}/s at random miss all",
            f"Crash rate, {scarce.label}",
        ),
        rows=tuple(table),
    )


def _average(rows: Sequence[Row], key: str) -> float:
    found = values(rows, key)
    return sum(found) / len(found)


def missed(trials: Sequence[Row], output: int) -> str:
    """The share of an output's tuples that were late."""
    late, tuples = (sum(values(trials, f"{name}{output}")) for name in ("misses", "tuples"))
    return f"{late / tuples:.2%}" if tuples else "–"
