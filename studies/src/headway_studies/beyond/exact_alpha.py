"""Beyond HVLB_CC: every schedule over α, without a grid, against the paper's sweep.

For 200 random graphs (10 to 50 tasks, every CCR and order of rates in turn): the least makespan of
a sweep over 2,001 values of α, 0 to 20, and of the exact walk over α >= 0. How long either takes,
``benchmarks/bench_static.py`` tells.

The grid looks at α up to 20 only, with the period of :func:`random_graph`; the exact walk has no
such limits, so that it may win by finer steps and by α beyond the grid.
"""

from __future__ import annotations

from collections.abc import Sequence

from headway.report.charts import LineChart, Point, Series
from headway.schedule.static import ALGORITHMS, ExactAlpha, GridAlpha, Instance
from headway_studies.hvlb_cc.random_graphs import RANDOM_GRAPHS, RATE_ORDERS, figure_2
from headway_studies.hvlb_cc.schedule_trials import RATIOS, TASKS, ScheduleTrial, graph_of
from headway_studies.row_reading import blocks, distinct, number, sample, values, where, whole
from headway_studies.study import Cell, Claim, Findings, Paper, Row, Study, beyond

GRAPHS = 200
SEED = 20162
ALGORITHM = "hvlb-cc-c"


def grid(graphs: int = GRAPHS, seed: int = SEED) -> list[ScheduleTrial]:
    return [
        ScheduleTrial(
            tasks=TASKS[number % len(TASKS)],
            ccr=RATIOS[number // len(TASKS) % len(RATIOS)],
            rates=RATE_ORDERS[number % len(RATE_ORDERS)],
            number=number,
            seed=seed,
            falling=False,
        )
        for number in range(graphs)
    ]


def run_trial(trial: ScheduleTrial) -> Row:
    """Both ways on the same prepared instance: makespans and numbers of schedules."""
    instance = Instance(graph_of(trial), figure_2(trial.rates))
    exact, swept = (
        ALGORITHMS[ALGORITHM].run(instance, alpha) for alpha in (ExactAlpha(), GridAlpha())
    )
    return {
        "number": trial.number,
        "tasks": trial.tasks,
        "exact": float(exact.makespan or 0),
        "grid": float(swept.makespan or 0),
        "schedules": len(exact.intervals),
        "schedules_on_grid": len(swept.intervals),
    }


FIGURE = "exact α"
BLOCK, QUICK_GRAPHS = 10, 10
GRID_PASSES = int(GridAlpha().last / GridAlpha().step) + 1


def cells(quick: bool) -> list[Cell]:
    total = QUICK_GRAPHS if quick else GRAPHS
    return [{"first": first, "graphs": count} for first, count in blocks(total, BLOCK)]


def run(cell: Cell) -> list[Row]:
    first, count = whole(cell, "first"), whole(cell, "graphs")
    return [run_trial(trial) for trial in grid(first + count)[first:]]


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
        came=RANDOM_GRAPHS,
    )


def _passes(rows: Sequence[Row]) -> Claim:
    found, seen = sample(values(rows, "schedules")), sample(values(rows, "schedules_on_grid"))
    return beyond(
        FIGURE,
        f"what do the {GRID_PASSES:,} passes of the grid look at?",
        f"{seen.mean:.0f} ± {seen.deviation:.0f} distinct schedules, of {found.mean:.0f} ± "
        f"{found.deviation:.0f} over all α; the walk makes one pass a schedule at most, "
        f"{GRID_PASSES / found.mean:.0f} times fewer in the mean",
        came=RANDOM_GRAPHS,
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
    seed=SEED,
)
