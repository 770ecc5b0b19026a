"""Beyond ROP-EDF: reservations over several nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from headway.experiments.findings import Claim, Findings, LineChart, Point, Series, beyond
from headway.experiments.overload import across_nodes as across
from headway.experiments.rows import Sample, blocks, grouped, number, sample, where, whole
from headway.experiments.study import Cell, Paper, Row, Study

FIGURE = "several nodes"
SEED = 9
TRIALS, QUICK_TRIALS, BLOCK = 100, 20, 25
WHOLE, FIRST = across.ADMISSIONS


def cells(quick: bool) -> list[Cell]:
    return [
        {"level": level, "first": first, "trials": count}
        for level in across.LEVELS
        for first, count in blocks(QUICK_TRIALS if quick else TRIALS, BLOCK)
    ]


def run(cell: Cell) -> list[Row]:
    first = whole(cell, "first")
    return [
        asdict(row)
        for trial in range(first, first + whole(cell, "trials"))
        for row in across.run_trial(whole(cell, "level"), trial, SEED)
    ]


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(
        claims=(_late(rows, WHOLE), _partly(rows), _late(rows, FIRST), _accepted(rows)),
        pictures=(_chart(rows),),
    )


def _late(rows: Sequence[Row], admission: str) -> Claim:
    chosen = where(rows, admission=admission)
    by_node = ", ".join(
        f"{node} {sum(whole(row, 'hard_late') for row in where(chosen, node=node))}"
        for node in across.NODES
    )
    stages = sum(whole(row, "hard_stages") for row in chosen)
    soft = sum(whole(row, "soft_late") for row in chosen)
    admitted = sum(whole(row, "soft_stages") for row in chosen)
    asked = (
        "do admitted jobs keep their deadlines on every node?"
        if admission == WHOLE
        else "and if only the first node were asked?"
    )
    return beyond(
        FIGURE,
        asked,
        f"late hard stages: {by_node}, of {stages:,} in all; late soft stages: {soft:,} of "
        f"{admitted:,} admitted",
    )


def _trials(rows: Sequence[Row], admission: str) -> list[Row]:
    """One row for each trial: what is counted for the whole trial stands in every node's row."""
    chosen = grouped(where(rows, admission=admission), "level", "trial")
    return [group[0] for group in chosen.values()]


def _partly(rows: Sequence[Row]) -> Claim:
    found = _trials(rows, WHOLE)
    admitted = sum(whole(row, "soft_admitted") for row in found)
    refused = sum(whole(row, "soft_jobs") for row in found) - admitted
    return beyond(
        FIGURE,
        "is a job ever admitted on some of its nodes only?",
        f"{sum(whole(row, 'partly') for row in found)} of {admitted:,} admitted and {refused:,} "
        "refused soft jobs held a part of their windows",
    )


def _share(rows: Sequence[Row], admission: str, level: int) -> Sample:
    chosen = where(_trials(rows, admission), level=level)
    return sample([number(row, "soft_admitted") / number(row, "soft_jobs") for row in chosen])


def _accepted(rows: Sequence[Row]) -> Claim:
    return beyond(
        FIGURE,
        "how many soft jobs are admitted, by what is asked of each node?",
        ", ".join(f"{level} %: {_share(rows, WHOLE, level).percent()}" for level in across.LEVELS),
    )


def _chart(rows: Sequence[Row]) -> LineChart:
    series = []
    for admission in across.ADMISSIONS:
        points = []
        for level in across.LEVELS:
            one = _share(rows, admission, level)
            points.append(
                Point(x=level, y=100 * one.mean, low=100 * one.least, high=100 * one.most)
            )
        series.append(Series(name=f"admitted: {admission}", points=tuple(points)))
    late = tuple(
        Point(x=level, y=100 * _late_share(where(rows, admission=FIRST, level=level)))
        for level in across.LEVELS
    )
    return LineChart(
        title="Soft jobs admitted across three nodes",
        x="asked of each node, %",
        y="%",
        series=(*series, Series(name=f"late hard stages: {FIRST}", points=late)),
        note="Hard paths need half of every node; mean, and from the least to the greatest.",
    )


def _late_share(rows: Sequence[Row]) -> float:
    stages = sum(whole(row, "hard_stages") for row in rows)
    return sum(whole(row, "hard_late") for row in rows) / stages if stages else 0.0


STUDY = Study(
    name="nodes",
    paper=Paper.NONE,
    figures=(FIGURE,),
    title="ROP-EDF across nodes",
    seconds=3,
    cells=cells,
    run=run,
    analyse=analyse,
    seed=SEED,
)
