"""The S-EDF paper's basic study over what a scheduling decision costs, which it does not print.

Printed are what a preemption costs (2.6 µs) and, for 28 tuples on input2, the mean delay of all
outputs under S-EDF (7.8 ms; both section 6.1.1). The nine statements that the study ``basic``
checks at one cost are taken here at all of them, so that a reader sees which of them hang on it.

Grid: cost of a decision; each cell is the whole basic study.
"""

from __future__ import annotations

from collections.abc import Sequence

from headway.model.quantities import MICROSECOND
from headway.report.charts import LineChart, Point, Series
from headway_studies.provenance import assumed, fitted
from headway_studies.row_reading import number, values, where
from headway_studies.s_edf.sedf_basic import (
    DECISION_COST,
    FROM_DELAY,
    PREEMPTION_COST,
    Statement,
    grid,
    run_trial,
    statements,
)
from headway_studies.study import Cell, Claim, Findings, Paper, Row, Study, beyond, stated
from headway_studies.study_charts import HeatMap

COSTS = (
    0.0, 2.6, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 33.0, 36.0, 40.0, 43.0, 45.0, 48.0, 50.0, 55.0,
    60.0, 65.0, 70.0, 75.0, 80.0, 90.0, 100.0,
)  # fmt: skip
"""µs"""
PRINTED_COST = PREEMPTION_COST / MICROSECOND
DERIVED = DECISION_COST / MICROSECOND
QUICK_COSTS = (PRINTED_COST, DERIVED)
PUBLISHED_DELAY = 7.8
"""ms: mean over all outputs, 28 tuples on input2"""
DELAY_NEAR = 0.05
"""ms: printed with one digit"""
MOST = 28
"""tuples of input2"""
NO_PREEMPTION = (
    "operators take 100 µs exactly here: o1 to o4 fill the 400 µs between two tuples, so that no "
    "train with a later deadline has begun when one comes; measured times vary"
)


def cells(quick: bool) -> list[Cell]:
    return [{"decision_us": cost} for cost in (QUICK_COSTS if quick else COSTS)]


def run(cell: Cell) -> list[Row]:
    cost = number(cell, "decision_us")
    trials = grid(decision_cost=round(cost * MICROSECOND))
    return [{**run_trial(trial), "decision_us": cost} for trial in trials]


def analyse(rows: Sequence[Row]) -> Findings:
    found = {
        cost: statements(where(rows, decision_us=cost))
        for cost in dict.fromkeys(number(row, "decision_us") for row in rows)
    }
    return Findings(
        claims=(_as_printed(found), _delay(rows), _preemptions(rows), _range(found)),
        pictures=(_heat_map(found), _delays(rows)),
    )


def _as_printed(found: dict[float, tuple[Statement, ...]]) -> Claim:
    failed = [one for one in found[PRINTED_COST] if one.by <= 0]
    told = "; ".join(f"{one.figure}, {one.published}: {one.told}" for one in failed)
    count = len(found[PRINTED_COST])
    return stated(
        "figures 9 to 12",
        "the nine statements of the basic study",
        f"{count - len(failed)} of {count} with {PRINTED_COST:g} µs a decision"
        + (f"; not: {told}" if failed else ""),
        came=assumed(
            f"a decision costs what is printed for a preemption, {PRINTED_COST:g} µs; what a "
            "decision costs is not printed"
        ),
        holds=not failed,
        why="with so little scheduling cost nobody falls behind on input2, where these are stated",
    )


def _most_tuples(rows: Sequence[Row], cost: float) -> Row:
    (row,) = where(
        rows, decision_us=cost, policy="s-edf", input="input2", tuples=MOST, batches=False
    )
    return row


def _delay(rows: Sequence[Row]) -> Claim:
    ours = {cost: number(_most_tuples(rows, cost), "delay_ms") for cost in (PRINTED_COST, DERIVED)}
    return stated(
        "section 6.1.1",
        f"with {MOST} tuples on input2 the mean delay of all outputs is {PUBLISHED_DELAY} ms",
        ", ".join(f"{delay:.2f} ms with {cost:g} µs a decision" for cost, delay in ours.items()),
        came=fitted(
            f"{DERIVED:g} µs a decision, so that this delay comes out",
            tried=f"{len(COSTS)} costs from {COSTS[0]:g} to {COSTS[-1]:g} µs (last chart)",
        ),
        holds=abs(ours[DERIVED] - PUBLISHED_DELAY) <= DELAY_NEAR,
    )


def _preemptions(rows: Sequence[Row]) -> Claim:
    mine = where(rows, decision_us=DERIVED, policy="s-edf", batches=False)
    most = max(mine, key=lambda row: number(row, "preemptions"))
    here = number(_most_tuples(rows, DERIVED), "preemptions")
    return stated(
        "section 6.1.1",
        f"{MOST} tuples on input2 preempt most often of all inputs",
        f"{here:.0f} preemptions with {DERIVED:g} µs a decision; the most, "
        f"{number(most, 'preemptions'):.0f}, with N = {most['tuples']} on {most['input']}",
        came=FROM_DELAY,
        holds=here > 0 and here == number(most, "preemptions"),
        why=NO_PREEMPTION if here == 0 else "another input preempts more often",
    )


def _range(found: dict[float, tuple[Statement, ...]]) -> Claim:
    whole = [cost for cost, ours in found.items() if all(one.by > 0 for one in ours)]
    return beyond(
        "figures 9 to 12",
        "at which costs of a decision do all nine hold?",
        f"at {', '.join(f'{cost:g}' for cost in whole) or 'none'} µs, of {len(found)} from "
        f"{min(found):g} to {max(found):g} µs",
        came=assumed("one cost for every decision of every policy"),
    )


def _heat_map(found: dict[float, tuple[Statement, ...]]) -> HeatMap:
    names = [f"{one.figure}: {one.published}" for one in next(iter(found.values()))]
    return HeatMap(
        title="Figures 9 to 12: by how much each statement holds, over the cost of a decision",
        x="cost of a decision, µs",
        columns=tuple(f"{cost:g}" for cost in found),
        rows=tuple(names),
        values=tuple(
            tuple(100 * ours[place].by for ours in found.values()) for place in range(len(names))
        ),
        unit="percentage points of the miss ratio",
        marked=tuple(f"{cost:g}" for cost in (PRINTED_COST, DERIVED) if cost in found),
        note=f"✓ holds, ✗ does not. Framed: {PRINTED_COST:g} µs, printed for a preemption, and "
        f"{DERIVED:g} µs, which gives the printed mean delay.",
    )


def _delays(rows: Sequence[Row]) -> LineChart:
    costs = list(dict.fromkeys(number(row, "decision_us") for row in rows))
    ours = [values([_most_tuples(rows, cost)], "delay_ms")[0] for cost in costs]
    return LineChart(
        title="Mean delay of all outputs under S-EDF, 28 tuples on input2",
        x="cost of a decision, µs",
        y="mean delay, ms",
        series=(
            Series(
                name="ours",
                points=tuple(Point(x=x, y=y) for x, y in zip(costs, ours, strict=True)),
            ),
            Series(
                name="published",
                points=tuple(Point(x=x, y=PUBLISHED_DELAY) for x in (costs[0], costs[-1])),
                published=True,
            ),
        ),
    )


STUDY = Study(
    name="basic-costs",
    paper=Paper.S_EDF,
    figures=("section 6.1.1",),
    title="The basic study over what a decision costs",
    seconds=20,
    cells=cells,
    run=run,
    analyse=analyse,
)
