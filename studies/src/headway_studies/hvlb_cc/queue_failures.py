"""HVLB_CC experiment 4 (section 5.6, figure 10): how often a queue cannot be worked off.

1,000 random graphs, in-degree at most 2, out-degree at most 3, no other constraint; a failure is a
task that comes to the head of the queue before one of its predecessors. Published: HSV_CC 78 %, (B)
with 1/depth 29 %, (B) with 1/depth² 0 %. The paper does not say how many tasks these graphs have.

Two families, because the answer depends on how deep the graphs are:

- ``shallow``: 20 tasks, 4 to 8 entries, at most 4 deep, works 10 to 20. A queue by 1/depth² fails
  only where hrank(s)/hrank(p) > outd(p)/outd(s) · ((d+1)/d)², which at d = 1 is impossible with
  out-degrees up to 3, at d = 2 wants a successor with three quarters of its predecessor's rank, and
  at the last depths nothing is left that has successors. This family gives the published rates.
- ``tgff``: as TGFF grows them, 10 to 50 tasks; they are 5 to 10 deep, and there (B) fails too.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from headway.model.taskgraph import TaskGraph
from headway.report.charts import LineChart, Point, Series
from headway.schedule.static import Instance
from headway.schedule.static.ranks import Ranks, by_priority, failure_of, priorities_a, priorities_b
from headway_studies.hvlb_cc.random_graphs import (
    RANDOM_GRAPHS,
    RATE_ORDERS,
    SHALLOW_GRAPHS,
    Shape,
    figure_2,
    random_graph,
)
from headway_studies.row_reading import (
    blocks,
    distinct,
    flag,
    number,
    sample,
    text,
    values,
    where,
    whole,
)
from headway_studies.study import NO_REASON, Cell, Claim, Findings, Paper, Row, Study, stated
from headway_studies.study_charts import BarChart

GRAPHS = 1000
TASKS = (10, 20, 30, 40, 50)
SEED = 20161
FIGURE = "figure 10"
BLOCK, QUICK_GRAPHS = 250, 500
FAMILIES = {"shallow": "graphs at most 4 deep", "tgff": "graphs as TGFF grows them"}
QUEUES = {"hsv_cc": "HSV_CC", "b_depth": "(B) with 1/depth", "b_depth2": "(B) with 1/depth²"}
PUBLISHED = {"hsv_cc": 0.78, "b_depth": 0.29, "b_depth2": 0.0}
NEAR = 0.05
"""failure rates this near to the published ones are of their scale"""
WHY_DEEP = (
    "Whether a queue fails depends on the depth above all: from depth d to d + 1 the factor "
    "((d + 1) / d)² shrinks towards 1, while a successor may have three times the out-degree of "
    "its predecessor. The paper does not say how deep its graphs are."
)
FEWEST = 20
"""graphs of a depth that make a point of the chart"""


def graph_of(family: str, place: int) -> TaskGraph:
    random = np.random.default_rng([SEED, list(FAMILIES).index(family), place])
    if family == "shallow":
        shape = Shape(tasks=20, least_entries=4, most_entries=8, most_depth=4)
        return random_graph(shape, ccr=1, random=random, least_work=10)
    return random_graph(Shape(tasks=TASKS[place % len(TASKS)]), ccr=1, random=random)


def run_trial(family: str, place: int) -> Row:
    """Makes the queues only: whether one fails does not depend on α or on the processors."""
    rates = RATE_ORDERS[place % len(RATE_ORDERS)]
    instance = Instance(graph_of(family, place), figure_2(rates))
    ranks = Ranks(instance)
    queues = (priorities_a(ranks), priorities_b(ranks, depth_power=1), priorities_b(ranks))
    failed = [failure_of(instance, by_priority(queue)) is not None for queue in queues]
    return {
        "family": family,
        "number": place,
        "tasks": len(instance.tasks),
        "depth": max(ranks.depth),
        **dict(zip(QUEUES, failed, strict=True)),
    }


def cells(quick: bool) -> list[Cell]:
    graphs = QUICK_GRAPHS if quick else GRAPHS
    return [
        {"family": family, "first": first, "graphs": count}
        for family in FAMILIES
        for first, count in blocks(graphs, BLOCK)
    ]


def run(cell: Cell) -> list[Row]:
    family, first = text(cell, "family"), whole(cell, "first")
    return [run_trial(family, place) for place in range(first, first + whole(cell, "graphs"))]


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(
        claims=(_order(rows), _rates(rows, "shallow"), _rates(rows, "tgff")),
        pictures=(_chart(rows), _by_depth(rows)),
    )


def _rate(rows: Sequence[Row], queue: str) -> float:
    return sum(flag(row, queue) for row in rows) / len(rows)


def _told(rows: Sequence[Row]) -> str:
    """With the half width of the 95 % interval of a share."""
    parts = []
    for queue, name in QUEUES.items():
        rate = _rate(rows, queue)
        width = 1.96 * sqrt(rate * (1 - rate) / len(rows))
        parts.append(f"{name} {100 * rate:.1f} ± {100 * width:.1f} %")
    return ", ".join(parts)


def _order(rows: Sequence[Row]) -> Claim:
    found = {
        family: [_rate(where(rows, family=family), queue) for queue in QUEUES]
        for family in FAMILIES
    }
    return stated(
        FIGURE,
        "depth makes failures rarer, its square rarer still",
        "; ".join(
            f"{FAMILIES[family]}: " + ", ".join(f"{rate:.1%}" for rate in rates)
            for family, rates in found.items()
        ),
        came=SHALLOW_GRAPHS,
        holds=all(plain > depth > square for plain, depth, square in found.values()),
    )


def _near(rows: Sequence[Row]) -> bool:
    return all(abs(_rate(rows, queue) - rate) <= NEAR for queue, rate in PUBLISHED.items())


def _why_deep(rows: Sequence[Row]) -> str:
    depths = sample(values(where(rows, family="tgff"), "depth"))
    told = f"{WHY_DEEP} These are {depths.mean:.1f} ± {depths.deviation:.1f} deep."
    if _near(where(rows, family="shallow")):
        told += " Graphs at most 4 deep, like its figure 3, give the published rates."
    return told


def _rates(rows: Sequence[Row], family: str) -> Claim:
    chosen = where(rows, family=family)
    published = ", ".join(f"{QUEUES[queue]} {rate:.0%}" for queue, rate in PUBLISHED.items())
    return stated(
        FIGURE,
        f"of 1,000 random graphs fail: {published}",
        f"{FAMILIES[family]}: {_told(chosen)}, of {len(chosen):,}",
        came=SHALLOW_GRAPHS if family == "shallow" else RANDOM_GRAPHS,
        holds=_near(chosen),
        why=_why_deep(rows) if family == "tgff" else NO_REASON,
    )


def _chart(rows: Sequence[Row]) -> BarChart:
    return BarChart(
        title="Figure 10: scheduling failure rate",
        y="failed queues, %",
        groups=tuple(QUEUES.values()),
        bars=tuple(FAMILIES.values()),
        values=tuple(
            tuple(100 * _rate(where(rows, family=family), queue) for family in FAMILIES)
            for queue in QUEUES
        ),
        published=tuple(100 * PUBLISHED[queue] for queue in QUEUES),
    )


def _by_depth(rows: Sequence[Row]) -> LineChart:
    grown = where(rows, family="tgff")
    depths = sorted(int(str(depth)) for depth in distinct(grown, "depth"))
    groups = [where(grown, depth=depth) for depth in depths]
    groups = [group for group in groups if len(group) >= FEWEST]
    return LineChart(
        title="Failures over the depth of the graph",
        x="depth",
        y="failed queues, %",
        series=tuple(
            Series(
                name=name,
                points=tuple(
                    Point(x=number(group[0], "depth"), y=100 * _rate(group, queue))
                    for group in groups
                ),
            )
            for queue, name in QUEUES.items()
        ),
        note=f"Graphs as TGFF grows them; depths of at least {FEWEST} graphs.",
    )


STUDY = Study(
    name="failures",
    paper=Paper.HVLB_CC,
    figures=(FIGURE,),
    title="Queues that cannot be worked off",
    seconds=4,
    cells=cells,
    run=run,
    analyse=analyse,
    seed=SEED,
)
