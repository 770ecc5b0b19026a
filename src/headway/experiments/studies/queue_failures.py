"""HVLB_CC figure 10: how often a queue cannot be worked off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import sqrt

from headway.experiments.findings import (
    NO_REASON,
    BarChart,
    Claim,
    Findings,
    LineChart,
    Point,
    Series,
    stated,
)
from headway.experiments.hvlb import failures as hvlb_failures
from headway.experiments.rows import (
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
from headway.experiments.study import Cell, Paper, Row, Study

FIGURE = "figure 10"
BLOCK, QUICK_GRAPHS = 250, 500
QUEUES = {"hsv_cc": "HSV_CC", "b_depth": "(B) with 1/depth", "b_depth2": "(B) with 1/depth²"}
PUBLISHED = dict(zip(QUEUES, hvlb_failures.PUBLISHED.values(), strict=True))
FAMILIES = {"shallow": "graphs at most 4 deep", "tgff": "graphs as TGFF grows them"}
NEAR = 0.05
"""failure rates this near to the published ones are of their scale"""
WHY_DEEP = (
    "Whether a queue fails depends on the depth above all: from depth d to d + 1 the factor "
    "((d + 1) / d)² shrinks towards 1, while a successor may have three times the out-degree of "
    "its predecessor. The paper does not say how deep its graphs are."
)
FEWEST = 20
"""graphs of a depth that make a point of the chart"""


def cells(quick: bool) -> list[Cell]:
    graphs = QUICK_GRAPHS if quick else hvlb_failures.GRAPHS
    return [
        {"family": family, "first": first, "graphs": count}
        for family in FAMILIES
        for first, count in blocks(graphs, BLOCK)
    ]


def run(cell: Cell) -> list[Row]:
    first = whole(cell, "first")
    trials = [
        hvlb_failures.Trial(family=text(cell, "family"), number=place)
        for place in range(first, first + whole(cell, "graphs"))
    ]
    return [asdict(row) for row in hvlb_failures.run(trials)]


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
        holds=_near(chosen),
        why=_why_deep(rows) if family == "tgff" else NO_REASON,
    )


def _chart(rows: Sequence[Row]) -> BarChart:
    ours = [
        tuple(100 * _rate(where(rows, family=family), queue) for family in FAMILIES)
        for queue in QUEUES
    ]
    return BarChart(
        title="Figure 10: scheduling failure rate",
        y="failed queues, %",
        groups=tuple(QUEUES.values()),
        bars=("published", *FAMILIES.values()),
        values=tuple(
            (100 * PUBLISHED[queue], *rates) for queue, rates in zip(QUEUES, ours, strict=True)
        ),
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
    seed=hvlb_failures.SEED,
)
