"""Beyond HVLB_CC: every schedule over α, without a grid, against the paper's sweep."""

from __future__ import annotations

from collections.abc import Sequence

from headway.experiments.findings import (
    Claim,
    Findings,
    LineChart,
    Point,
    Series,
    beyond,
)
from headway.experiments.hvlb import alpha as hvlb_alpha
from headway.experiments.rows import blocks, distinct, number, sample, values, where, whole
from headway.experiments.study import Cell, Paper, Row, Study
from headway.schedule.static import GridAlpha

FIGURE = "exact α"
BLOCK, QUICK_GRAPHS = 10, 10
GRID_PASSES = int(GridAlpha().last / GridAlpha().step) + 1


def cells(quick: bool) -> list[Cell]:
    total = QUICK_GRAPHS if quick else hvlb_alpha.GRAPHS
    return [{"first": first, "graphs": count} for first, count in blocks(total, BLOCK)]


def run(cell: Cell) -> list[Row]:
    """Makespans and numbers of schedules; no clock is read."""
    first, count = whole(cell, "first"), whole(cell, "graphs")
    rows = []
    for trial in hvlb_alpha.grid(first + count)[first:]:
        found = hvlb_alpha.run_trial(trial, clock=lambda: 0.0)
        rows.append(
            {
                "number": found.number,
                "tasks": found.tasks,
                "exact": found.exact_makespan,
                "grid": found.grid_makespan,
                "schedules": found.schedules,
                "schedules_on_grid": found.schedules_on_grid,
            }
        )
    return list(rows)


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(claims=(_makespans(rows), _passes(rows)), pictures=(_chart(rows),))


def _makespans(rows: Sequence[Row]) -> Claim:
    gains = [1 - number(row, "exact") / number(row, "grid") for row in rows]
    better, worse = [gain for gain in gains if gain > 0], [gain for gain in gains if gain < 0]
    return beyond(
        FIGURE,
        "does the grid of 0.01 from 0 to 20 find the shortest schedule?",
        f"{len(rows)} graphs: the exact walk is shorter on {len(better)} (by up to "
        f"{max(gains):.1%}) and longer on {len(worse)}",
    )


def _passes(rows: Sequence[Row]) -> Claim:
    found, seen = sample(values(rows, "schedules")), sample(values(rows, "schedules_on_grid"))
    return beyond(
        FIGURE,
        f"what do the {GRID_PASSES:,} passes of the grid look at?",
        f"{seen.mean:.0f} ± {seen.deviation:.0f} distinct schedules, of {found.mean:.0f} ± "
        f"{found.deviation:.0f} over all α; the walk makes one pass a schedule at most, "
        f"{GRID_PASSES / found.mean:.0f} times fewer in the mean",
    )


def _chart(rows: Sequence[Row]) -> LineChart:
    sizes = sorted(int(str(size)) for size in distinct(rows, "tasks"))
    series = []
    for name, column in (
        ("schedules over all α", "schedules"),
        ("distinct schedules on the grid", "schedules_on_grid"),
    ):
        points = []
        for size in sizes:
            found = sample(values(where(rows, tasks=size), column))
            points.append(Point(x=size, y=found.mean, low=found.least, high=found.most))
        series.append(Series(name=name, points=tuple(points)))
    return LineChart(
        title=f"How many schedules there are; the grid makes {GRID_PASSES:,} passes",
        x="tasks",
        y="schedules",
        series=tuple(series),
        note="Mean over graphs of every CCR; the line is from the least to the greatest.",
    )


STUDY = Study(
    name="alpha",
    paper=Paper.NONE,
    figures=(FIGURE,),
    title="Every α at once",
    seconds=20,
    cells=cells,
    run=run,
    analyse=analyse,
    seed=hvlb_alpha.SEED,
)
