"""HVLB_CC figures 7 and 8: schedule length ratio, speedup and load balance on random graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from headway.report.charts import LineChart, Point, Series
from headway_studies.hvlb_cc.random_graphs import RANDOM_GRAPHS, RATE_ORDERS
from headway_studies.hvlb_cc.schedule_trials import (
    COMPARED,
    GRAPHS,
    NAMES,
    SEED,
    TASKS,
    block_cells,
    grid_1,
    measured,
    rates_named,
    run_block,
)
from headway_studies.row_reading import grouped, same_scale, sample, span
from headway_studies.study import Cell, Claim, Findings, Paper, Row, Scalar, Study, stated

BLOCK, QUICK_GRAPHS = 50, 8
WORST_SLR = {
    "1 0.67 0.83": (3.49, 3.06, 3.11),
    "0.83 0.67 1": (3.92, 3.15, 3.12),
    "0.67 0.83 1": (3.62, 2.99, 2.99),
    "1 0.83 0.67": (3.61, 3.29, 3.11),
    "0.83 1 0.67": (3.84, 3.04, 2.99),
    "0.67 1 0.83": (3.79, 3.19, 3.12),
}
"""by execution rates: HSV_CC, (A), (B), as printed"""
BEST_SPEEDUP = {"hsv-cc": 2.26, "hvlb-cc-a": 2.34, "hvlb-cc-b": 2.34}
METRICS = {
    "slr": ("figure 7", "schedule length ratio", "SLR"),
    "speedup": ("figure 7", "speedup", "speedup"),
    "load_balance": ("figure 8", "load balance", "LB"),
}
SHOWN_RATES = ((0.67, 0.83, 1.0), (0.83, 1.0, 0.67), (1.0, 0.67, 0.83))
"""of the six orders; the others look the same, because the network is symmetric in p2 and p3"""


def cells(quick: bool) -> list[Cell]:
    graphs = QUICK_GRAPHS if quick else GRAPHS
    return block_cells(grid_1(graphs), BLOCK)


Groups = Mapping[tuple[Scalar, ...], Sequence[Row]]
"""rows by algorithm, number of tasks and rates"""


def analyse(rows: Sequence[Row]) -> Findings:
    groups = grouped(rows, "algorithm", "tasks", "rates")
    by_rates = grouped(rows, "algorithm", "rates")
    charts = [
        _chart(groups, metric, rates_named(rates)) for metric in METRICS for rates in SHOWN_RATES
    ]
    return Findings(
        claims=(
            *(_better(groups, metric) for metric in METRICS),
            *(_worst(by_rates, place) for place in range(len(COMPARED))),
            _best(grouped(rows, "algorithm")),
        ),
        pictures=tuple(charts),
    )


def _better(groups: Groups, metric: str) -> Claim:
    """In the mean over the graphs of a cell: a number of tasks and an order of rates."""
    figure, words, _ = METRICS[metric]
    wins = {"hvlb-cc-a": 0, "hvlb-cc-b": 0}
    gains = []
    grid = [(n, rates_named(order)) for n in TASKS for order in RATE_ORDERS]
    for cell in grid:
        mean = {name: fmean(measured(groups[name, *cell], metric)) for name in COMPARED}
        for name in wins:
            ratio = mean[name] / mean["hsv-cc"]
            gain = ratio - 1 if metric == "speedup" else 1 - ratio
            wins[name] += gain > 0
            gains.append(gain)
    return stated(
        figure,
        f"(A) and (B) beat HSV_CC in {words} for every number of tasks and order of rates",
        f"better in the mean in {wins['hvlb-cc-a']} (A) and {wins['hvlb-cc-b']} (B) of "
        f"{len(grid)} cells, by {span((100 * gain for gain in gains), 1)} %",
        came=RANDOM_GRAPHS,
        holds=all(count == len(grid) for count in wins.values()),
    )


def _worst(by_rates: Groups, place: int) -> Claim:
    name = COMPARED[place]
    printed = [line[place] for line in WORST_SLR.values()]
    found = {rates: measured(by_rates[name, rates], "slr") for rates in WORST_SLR}
    everything = sample([slr for group in found.values() for slr in group])
    return stated(
        "figure 7",
        f"worst SLR of {NAMES[name]} by order of rates: {span(printed)}",
        f"{span(max(group) for group in found.values())}; over all graphs "
        f"{everything.mean:.2f} ± {everything.deviation:.2f}",
        came=RANDOM_GRAPHS,
        holds=all(same_scale(max(found[rates]), line[place]) for rates, line in WORST_SLR.items()),
    )


def _best(by_algorithm: Groups) -> Claim:
    ours = {name: max(measured(by_algorithm[(name,)], "speedup")) for name in COMPARED}
    return stated(
        "figure 7",
        "best speedup: " + ", ".join(f"{NAMES[n]} {best}" for n, best in BEST_SPEEDUP.items()),
        ", ".join(f"{NAMES[name]} {best:.2f}" for name, best in ours.items()),
        came=RANDOM_GRAPHS,
        holds=all(same_scale(ours[name], best) for name, best in BEST_SPEEDUP.items())
        and ours["hsv-cc"] < min(ours["hvlb-cc-a"], ours["hvlb-cc-b"]),
    )


def _chart(groups: Groups, metric: str, rates: str) -> LineChart:
    figure, words, short = METRICS[metric]
    series = []
    for name in COMPARED:
        points = []
        for tasks in TASKS:
            found = sample(measured(groups[name, tasks, rates], metric))
            points.append(Point(x=tasks, y=found.mean, low=found.least, high=found.most))
        series.append(Series(name=NAMES[name], points=tuple(points)))
    return LineChart(
        title=f"{figure.capitalize()}: {words}, rates ({rates.replace(' ', ', ')})",
        x="tasks",
        y=short,
        series=tuple(series),
        note="Mean over random graphs, CCR 1; the line is from the least to the greatest.",
    )


STUDY = Study(
    name="lengths",
    paper=Paper.HVLB_CC,
    figures=("figure 7", "figure 8"),
    title="Schedule lengths and balance on random graphs",
    seconds=20,
    cells=cells,
    run=run_block,
    analyse=analyse,
    seed=SEED,
)
