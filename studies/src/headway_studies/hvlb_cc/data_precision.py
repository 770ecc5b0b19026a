"""HVLB_CC experiment 5 (section 5.7, figure 11): data precision against the input arrival rate.

The graph of figure 3 with the computation times of table 4, CCR 1. Tasks n2 and n5 are imprecise:
what is scheduled is their mandatory part, and at an arrival rate λ they ask for λ times as much.
Without imprecise computation nothing beyond the mandatory part is processed; with it, the schedule
hole behind the task is used. Published holes: n2 9, n5 5, n8 12; precision of 100 % up to λ 1.5
(n2) and 1.4 (n5).

As in the worked example, the time on a link is rounded down to whole units; ranks are not printed
for table 4, so they are exact here.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from headway.model.static_network import Schedule
from headway.model.taskgraph import Edge, GraphTask, TaskGraph
from headway.report.charts import LineChart, Point, Series
from headway.schedule.static import ALGORITHMS, ExactAlpha, Instance, Options
from headway.schedule.static.hvlb_cc_ic import precision, schedule_holes
from headway_studies.hvlb_cc.random_graphs import figure_2
from headway_studies.provenance import fitted
from headway_studies.row_reading import flag, number, text, where
from headway_studies.study import Cell, Claim, Findings, Paper, Row, Study, numbers, stated
from headway_studies.study_charts import Grid

TABLE_4 = {
    "n2": (26, 17, 20),
    "n1": (26, 17, 20),
    "n3": (14, 9, 11),
    "n4": (12, 8, 10),
    "n5": (17, 11, 13),
    "n6": (30, 20, 24),
    "n7": (9, 6, 7),
    "n8": (27, 18, 22),
    "n9": (27, 18, 22),
    "n10": (30, 20, 24),
}
"""n1 and n2 differ in nothing but their names. The published holes are those of a schedule that
takes n2 first, so it is listed first."""
FIGURE_3 = {
    "n1": ("n4", "n5"),
    "n2": ("n4", "n5"),
    "n3": ("n5", "n6"),
    "n4": ("n7", "n8"),
    "n5": ("n7", "n8"),
    "n6": ("n9",),
    "n7": ("n10",),
    "n8": ("n9",),
}
IMPRECISE = ("n2", "n5")
PERIOD = 250
RATES = tuple(Fraction(10 + step, 10) for step in range(11))
"""λ from 1 to 2"""


def graph(*, n2_first: bool = True) -> TaskGraph:
    """Of two alike tasks the one that is listed first comes first in the queue."""
    listed = TABLE_4 if n2_first else dict(sorted(TABLE_4.items(), key=lambda one: int(one[0][1:])))
    return TaskGraph(
        name="figure 3, table 4",
        tasks=tuple(
            GraphTask(
                name=name,
                times=dict(zip(("p1", "p2", "p3"), times, strict=True)),
                imprecise=name in IMPRECISE,
            )
            for name, times in listed.items()
        ),
        edges=tuple(
            Edge(sender=sender, receiver=receiver, ccr=1)
            for sender, receivers in FIGURE_3.items()
            for receiver in receivers
        ),
        period=PERIOD,
    )


def _scheduled(
    algorithm: str, *, n2_first: bool = True, whole: bool = True
) -> tuple[Instance, Schedule | None]:
    instance = Instance(graph(n2_first=n2_first), figure_2(), Options(whole_link_times=whole))
    return instance, ALGORITHMS[algorithm].run(instance, ExactAlpha()).schedule


def holes(algorithm: str, *, n2_first: bool = True, whole: bool = True) -> dict[str, Fraction]:
    """The hole behind every task of its schedule."""
    instance, schedule = _scheduled(algorithm, n2_first=n2_first, whole=whole)
    return {} if schedule is None else dict(schedule_holes(instance, schedule))


def precision_rows(algorithm: str) -> list[Row]:
    """``precise`` is processed / requested time with the hole, ``plain`` without."""
    instance, schedule = _scheduled(algorithm)
    if schedule is None:
        return []
    found = schedule_holes(instance, schedule)
    rows: list[Row] = []
    for arrival_rate in RATES:
        for task in IMPRECISE:
            slot = schedule.of_task[task]
            mandatory, none = slot.finish - slot.start, Fraction(0)
            rows.append(
                {
                    "what": "precision",
                    "algorithm": algorithm,
                    "task": task,
                    "arrival_rate": float(arrival_rate),
                    "makespan": float(schedule.makespan),
                    "hole": float(found[task]),
                    "precise": float(precision(found[task], mandatory, arrival_rate)),
                    "plain": float(precision(none, mandatory, arrival_rate)),
                }
            )
    return rows


N2_FIRST = fitted(
    "n1 and n2 are alike, and the queue takes n2 first; link times rounded down to whole units",
    tried="n1 first, exact link times (last table)",
)
FIGURE = "figure 11"
ALGORITHM = "hvlb-cc-ic"
HOLES = {"n2": 9, "n5": 5, "n8": 12}
FULL_UNTIL = {"n2": 1.5, "n5": 1.4}
"""the highest arrival rate with full precision"""


def cells(quick: bool) -> list[Cell]:
    return [{"algorithm": ALGORITHM}]


def run(cell: Cell) -> list[Row]:
    name = text(cell, "algorithm")
    behind = holes(name)
    rows = precision_rows(name) + [
        {"what": "hole", "task": task, "hole": float(behind[task])} for task in HOLES
    ]
    for n2_first, whole in product((True, False), (True, False)):
        found = holes(name, n2_first=n2_first, whole=whole)
        told = ", ".join(f"{task} {float(found[task]):g}" for task in HOLES)
        rows.append({"what": "reading", "n2_first": n2_first, "whole": whole, "holes": told})
    return rows


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(
        claims=(_holes(rows), _full(rows), _without(rows)),
        pictures=(_chart(rows), _table_of_readings(rows)),
    )


def _holes(rows: Sequence[Row]) -> Claim:
    found = {text(row, "task"): number(row, "hole") for row in where(rows, what="hole")}
    return numbers(
        FIGURE,
        "holes behind " + ", ".join(f"{task} {hole}" for task, hole in HOLES.items()),
        ", ".join(f"{task} {hole:g}" for task, hole in found.items())
        + "; n1 and n2 are alike, and this is the schedule that takes n2 first",
        came=N2_FIRST,
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
        came=N2_FIRST,
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
        came=N2_FIRST,
        holds=all(number(row, "plain") < 1 for row in more) and worse == len(more),
    )


def _table_of_readings(rows: Sequence[Row]) -> Grid:
    return Grid(
        title="The holes by reading",
        headers=("of n1 and n2 goes first", "link times", "holes behind"),
        rows=tuple(
            (
                "n2" if flag(row, "n2_first") else "n1",
                "whole" if flag(row, "whole") else "exact",
                text(row, "holes"),
            )
            for row in where(rows, what="reading")
        ),
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
