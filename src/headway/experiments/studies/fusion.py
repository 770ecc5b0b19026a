"""AEDSMS table 2 and figure 15: what a fusion costs, over the fusion number."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from headway.experiments import fusion_latency
from headway.experiments.findings import (
    Claim,
    Findings,
    LineChart,
    Point,
    Series,
    numbers,
    stated,
)
from headway.experiments.rows import number, values, where, whole
from headway.experiments.straight_line import fitted
from headway.experiments.study import Cell, Paper, Row, Study
from headway.model.quantities import MILLISECOND

TABLE_2 = {"type 1": 1.84, "type 2": 11.0}
"""ms, at fusion number 1"""
FIGURE_15_ERROR = 1.64
"""ms, between measured and predicted"""
LINEAR = 0.05
"""of the mean: filter steps this near to the line are called linear"""
MOST = 60
TYPE_1_TUPLES = 2
"""a position and a speed make one fusion"""


def cells(quick: bool) -> list[Cell]:
    return [
        {"first": first, "last": first + 9, "step": 3 if quick else 1}
        for first in range(1, MOST + 1, 10)
    ]


def run(cell: Cell) -> list[Row]:
    fusion_numbers = range(whole(cell, "first"), whole(cell, "last") + 1, whole(cell, "step"))
    rows = [
        _row("type 2", count, fusion_latency.latency("type 2", count))
        | {"steps": fusion_latency.filter_steps(count)}
        for count in fusion_numbers
    ]
    if 1 in fusion_numbers:
        rows.append(_row("type 1", 1, fusion_latency.latency("type 1", TYPE_1_TUPLES)))
    return list(rows)


def _row(kind: str, count: int, nanoseconds: int) -> dict[str, float | str | None]:
    return {
        "kind": kind, "fusion_number": count, "latency_ms": nanoseconds / MILLISECOND,
        "steps": None,
    }  # fmt: skip


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(
        claims=(_single(rows), _linear(rows)),
        pictures=(_chart(rows),),
    )


def _single(rows: Sequence[Row]) -> Claim:
    found = {
        kind: number(row, "latency_ms")
        for kind in TABLE_2
        for row in where(rows, kind=kind, fusion_number=1)
    }
    return numbers(
        "table 2",
        "at fusion number 1 type 1 takes 1.84 ms and type 2 11.0 ms (800 MHz)",
        ", ".join(f"{kind} {time:g} ms" for kind, time in found.items())
        + " in virtual time: taken over from the table as declared costs, not measured anew",
        equal=found == TABLE_2,
    )


def _linear(rows: Sequence[Row]) -> Claim:
    """The latency follows declared costs; that the real operator does work in proportion to the
    fusion number is what these rest on."""
    fused = where(rows, kind="type 2")
    counts, steps = values(fused, "fusion_number"), values(fused, "steps")
    line, work = fitted(counts, values(fused, "latency_ms")), fitted(counts, steps)
    apart = work.mean_error / fmean(steps)
    return stated(
        "figure 15",
        "type 2 is linear in the fusion number, "
        f"{FIGURE_15_ERROR} ms from the fitted line in the mean",
        f"the real operator does {work.intercept:.1f} + {work.slope:.2f} filter steps an item, "
        f"{apart:.1%} from the line in the mean; in virtual time, by declared costs, "
        f"{line.intercept:.1f} ms + {line.slope:.2f} ms an item ({line.mean_error:.2f} ms from the "
        "line; the slope is an assumption)",
        holds=line.mean_error <= FIGURE_15_ERROR and line.slope > 0 and apart < LINEAR,
    )


def _chart(rows: Sequence[Row]) -> LineChart:
    fused = where(rows, kind="type 2")
    points = tuple(
        Point(x=number(row, "fusion_number"), y=number(row, "latency_ms")) for row in fused
    )
    line = fitted([point.x for point in points], [point.y for point in points])
    ends = (points[0].x, points[-1].x)
    return LineChart(
        title="Figure 15: latency of type 2 over the fusion number",
        x="fusion number",
        y="latency, ms",
        series=(
            Series(name="type 2 in the engine", points=points),
            Series(name="fitted line", points=tuple(Point(x=x, y=line.at(x)) for x in ends)),
            Series(
                name="table 2",
                points=(Point(x=1, y=TABLE_2["type 2"]),),
                published=True,
            ),
        ),
        note="Virtual time: declared costs. The paper prints no slope; 1 ms an item is assumed.",
    )


STUDY = Study(
    name="fusion",
    paper=Paper.AEDSMS,
    figures=("table 2", "figure 15"),
    title="What a fusion costs",
    seconds=1,
    cells=cells,
    run=run,
    analyse=analyse,
)
