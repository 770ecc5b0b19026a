"""HVLB_CC figure 11: imprecise computation fills the holes of a schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from headway.experiments.findings import (
    Claim,
    Findings,
    LineChart,
    Point,
    Series,
    numbers,
    stated,
)
from headway.experiments.hvlb import precision as hvlb_precision
from headway.experiments.rows import number, text, where
from headway.experiments.study import Cell, Paper, Row, Study

FIGURE = "figure 11"
ALGORITHM = "hvlb-cc-ic"
HOLES = {"n2": 9, "n5": 5, "n8": 12}
FULL_UNTIL = {"n2": 1.5, "n5": 1.4}
"""the highest arrival rate with full precision"""


def cells(quick: bool) -> list[Cell]:
    return [{"algorithm": ALGORITHM}]


def run(cell: Cell) -> list[Row]:
    name = text(cell, "algorithm")
    trials = hvlb_precision.grid(algorithms=(name,))
    rows: list[Row] = [{"what": "precision", **asdict(row)} for row in hvlb_precision.run(trials)]
    holes = hvlb_precision.holes(name)
    return rows + [{"what": "hole", "task": task, "hole": float(holes[task])} for task in HOLES]


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(
        claims=(_holes(rows), _full(rows), _without(rows)),
        pictures=(_chart(rows),),
    )


def _holes(rows: Sequence[Row]) -> Claim:
    found = {text(row, "task"): number(row, "hole") for row in where(rows, what="hole")}
    return numbers(
        FIGURE,
        "holes behind " + ", ".join(f"{task} {hole}" for task, hole in HOLES.items()),
        ", ".join(f"{task} {hole:g}" for task, hole in found.items())
        + "; n1 and n2 are alike, and this is the schedule that takes n2 first",
        equal=found == HOLES,
    )


def _full(rows: Sequence[Row]) -> Claim:
    found = {
        task: max(
            number(row, "arrival_rate")
            for row in where(rows, what="precision", task=task)
            if number(row, "precise") >= 1
        )
        for task in FULL_UNTIL
    }
    return numbers(
        FIGURE,
        "full precision up to an arrival rate of "
        + ", ".join(f"{rate} ({task})" for task, rate in FULL_UNTIL.items()),
        ", ".join(f"{rate:g} ({task})" for task, rate in found.items()),
        equal=found == FULL_UNTIL,
    )


def _without(rows: Sequence[Row]) -> Claim:
    found = where(rows, what="precision")
    more = [row for row in found if number(row, "arrival_rate") > 1]
    worse = sum(number(row, "plain") < number(row, "precise") for row in more)
    return stated(
        FIGURE,
        "without imprecise computation precision falls from λ = 1 on",
        f"below full precision at all {len(more)} rates above 1, and below imprecise computation "
        f"at {worse} of them",
        holds=all(number(row, "plain") < 1 for row in more) and worse == len(more),
    )


def _chart(rows: Sequence[Row]) -> LineChart:
    names = {"precise": "with imprecise computation", "plain": "without"}
    return LineChart(
        title="Figure 11: precision over the arrival rate",
        x="arrival rate λ",
        y="precision, %",
        series=tuple(
            Series(
                name=f"{task} {names[column]}",
                points=tuple(
                    Point(x=number(row, "arrival_rate"), y=100 * number(row, column))
                    for row in where(rows, what="precision", task=task)
                ),
            )
            for task in FULL_UNTIL
            for column in names
        ),
    )


STUDY = Study(
    name="precision",
    paper=Paper.HVLB_CC,
    figures=(FIGURE,),
    title="Imprecise computation",
    seconds=1,
    cells=cells,
    run=run,
    analyse=analyse,
)
