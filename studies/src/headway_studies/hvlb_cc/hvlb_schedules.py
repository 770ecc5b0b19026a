"""HVLB_CC figures 4 to 6: the worked example's schedules, and the makespan over α.

The reading of the example that gives the printed makespans was found by trying: what others give
is a table of its own, those with ranks computed from the graph among them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from headway.model.static_network import Schedule
from headway.report.charts import LineChart, Point, Series
from headway.schedule.static import ALGORITHMS, GridAlpha, Options, StaticResult
from headway_studies.hvlb_cc import worked_example
from headway_studies.row_reading import flag, number, text, where
from headway_studies.row_reading import whole as whole_number
from headway_studies.study import NO_REASON, Cell, Claim, Findings, Paper, Row, Study, numbers
from headway_studies.study_charts import Grid, Span, Timeline

NAMES = {"hsv-cc": "HSV_CC", "hvlb-cc-a": "HVLB_CC (A)", "hvlb-cc-b": "HVLB_CC (B)"}
LAST_ALPHA, STEP = 3, Fraction(1, 100)
WHY_DIGITS = (
    "at one value of α the choice hangs on the third digit of the ranks; with ranks of two digits, "
    "as the paper prints them, all points are equal"
)
LINKS = ("l1", "l2", "l3", "l4")
FIGURE_4, FIGURE_6 = "hsv-cc", "hvlb-cc-b"
"""the algorithms whose schedules they show, on one axis"""


PRINTED_RANKS, TWO_DIGITS, EXACT = "as printed", "computed, two digits", "computed, exact"
RANKS = (PRINTED_RANKS, TWO_DIGITS, EXACT)
TRIED_PERIODS = (150, 250)


def cells(quick: bool) -> list[Cell]:
    runs: list[Cell] = [{"algorithm": name} for name in NAMES]
    readings: list[Cell] = [
        {"algorithm": name, "ranks": ranks} for name in worked_example.FIGURE_5 for ranks in RANKS
    ]
    return [*runs, *readings]


def run(cell: Cell) -> list[Row]:
    """The queue, the makespan at every point of the grid, and the best schedule; or, for a kind of
    ranks, how much of figure 5 each reading gives."""
    name = text(cell, "algorithm")
    if "ranks" in cell:
        return _readings(name, text(cell, "ranks"))
    made = worked_example.instance(worked_example.PERIODS[name], worked_example.printed_reading())
    result = ALGORITHMS[name].run(made, GridAlpha(LAST_ALPHA, STEP))
    rows = [_row(name, "queue", task, place=place) for place, task in enumerate(result.order)]
    rows += [_row(name, "alpha", "", place=at, end=value) for at, value in _makespans(result)]
    if result.schedule is not None:
        rows += _slots(name, result.schedule)
    return list(rows)


def _readings(name: str, ranks: str) -> list[Row]:
    wanted = _figure_5_points(name)
    rows: list[Row] = []
    for whole, candidate, period in product((True, False), (False, True), TRIED_PERIODS):
        options = Options(
            whole_link_times=whole,
            ranks=worked_example.printed_reading().ranks if ranks == PRINTED_RANKS else None,
            rank_digits=2 if ranks == TWO_DIGITS else None,
            balance_counts_candidate=candidate,
        )
        made = worked_example.instance(period, options)
        found = dict(_makespans(ALGORITHMS[name].run(made, GridAlpha(LAST_ALPHA, STEP))))
        rows.append(
            {
                "what": "reading",
                "algorithm": name,
                "ranks": ranks,
                "whole": whole,
                "candidate": candidate,
                "period": period,
                "same": sum(found.get(at) == length for at, length in wanted.items()),
                "points": len(wanted),
                "least": float(min(found.values())),
            }
        )
    return rows


def _figure_5_points(name: str) -> dict[int, int]:
    """α in hundredths -> the printed makespan."""
    return {
        at: makespan
        for first, last, makespan in worked_example.FIGURE_5[name]
        for at in range(first, last + 1)
    }


def _makespans(result: StaticResult) -> list[tuple[int, Fraction]]:
    """(α in hundredths, makespan) where α decides anything."""
    if len(result.intervals) < 2:
        return []
    points = range(int(LAST_ALPHA / STEP) + 1)
    return [(at, found.makespan) for at in points if (found := result.at(at * STEP)) is not None]


def _slots(name: str, found: Schedule) -> list[dict[str, float | str | None]]:
    rows = [
        _row(name, "task", slot.task, on=slot.processor, start=slot.start, end=slot.finish)
        for slot in found.tasks
    ]
    return rows + [
        _row(name, "message", f"{message.sender} {message.receiver}", on=slot.link,
             start=slot.start, end=slot.finish)
        for message in found.messages
        for slot in message.links
    ]  # fmt: skip


def _row(
    algorithm: str, what: str, name: str, *, on: str = "", place: int | None = None,
    start: Fraction | None = None, end: Fraction | None = None,
) -> dict[str, float | str | None]:  # fmt: skip
    return {
        "algorithm": algorithm, "what": what, "name": name, "on": on, "place": place,
        "start": None if start is None else float(start),
        "end": None if end is None else float(end),
    }  # fmt: skip


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(
        claims=(
            *(_queue(rows, name) for name in ("hvlb-cc-a", "hvlb-cc-b")),
            _figure_4(rows),
            *(_figure_5(rows, name) for name in worked_example.FIGURE_5),
            *(_computed_ranks(rows, name) for name in worked_example.FIGURE_5),
            _figure_6(rows),
        ),
        pictures=(
            _gantt(rows, FIGURE_4, "Figure 4: HSV_CC"),
            _by_alpha(rows),
            _gantt(rows, FIGURE_6, "Figure 6: HVLB_CC"),
            _table_of_readings(rows),
        ),
    )


def _queue(rows: Sequence[Row], name: str) -> Claim:
    found = " ".join(text(row, "name") for row in where(rows, algorithm=name, what="queue"))
    return numbers(
        "section 4.3",
        f"the queue of {NAMES[name]}: {worked_example.ORDERS[name]}",
        found,
        came=worked_example.READ_FROM_TABLES,
        equal=found == worked_example.ORDERS[name],
    )


def _makespan(rows: Sequence[Row], name: str) -> float:
    return max(number(row, "end") for row in where(rows, algorithm=name, what="task"))


def _figure_4(rows: Sequence[Row]) -> Claim:
    tasks = Counter(text(row, "on") for row in where(rows, algorithm="hsv-cc", what="task"))
    carried = {
        link: [text(r, "name") for r in where(rows, algorithm="hsv-cc", what="message", on=link)]
        for link in LINKS
    }
    makespan = _makespan(rows, "hsv-cc")
    switched = [" ".join(pair) for pair in worked_example.FIGURE_4_SWITCHED]
    links = ", ".join(f"{link} {len(sent)}" for link, sent in carried.items())
    return numbers(
        "figure 4",
        "HSV_CC: makespan 73, six tasks on p2, four on p3, none on p1; only n3's message to n6 is "
        "on l2 and l4, none on l1, all others on l3",
        f"makespan {makespan:g}; tasks: "
        + ", ".join(f"{processor} {tasks[processor]}" for processor in worked_example.PROCESSORS)
        + f"; messages: {links}; on l2: {', '.join(carried['l2']).replace(' ', ' to ') or 'none'}",
        came=worked_example.READ_FROM_RESULTS,
        equal=makespan == worked_example.FIGURE_4_MAKESPAN
        and {processor: tasks[processor] for processor in worked_example.PROCESSORS}
        == worked_example.FIGURE_4_TASKS
        and carried["l1"] == []
        and carried["l2"] == carried["l4"] == switched
        and len(carried["l3"]) > 0,
    )


def _figure_5(rows: Sequence[Row], name: str) -> Claim:
    found = {
        int(number(row, "place")): number(row, "end")
        for row in where(rows, algorithm=name, what="alpha")
    }
    wanted = _figure_5_points(name)
    same = sum(found.get(at) == makespan for at, makespan in wanted.items())
    told = ", ".join(
        f"{makespan} on [{first / 100:g}, {last / 100:g}]"
        for first, last, makespan in worked_example.FIGURE_5[name]
    )
    return numbers(
        "figure 5",
        f"{NAMES[name]}: {told}",
        f"{same} of {len(wanted)} points of α as printed",
        came=worked_example.READ_FROM_RESULTS,
        equal=found == wanted,
    )


def _computed_ranks(rows: Sequence[Row], name: str) -> Claim:
    """The same with ranks from the graph instead of those of table 2."""
    found = {
        ranks: whole_number(row, "same")
        for ranks in RANKS
        for row in where(
            rows, what="reading", algorithm=name, ranks=ranks, whole=True, candidate=False,
            period=worked_example.PERIODS[name],
        )
    }  # fmt: skip
    points = len(_figure_5_points(name))
    return numbers(
        "figure 5, computed ranks",
        f"{NAMES[name]}: the makespan at {points} points of α",
        f"{found[EXACT]} of {points} as printed with ranks computed from the graph; "
        f"{found[TWO_DIGITS]} if they are rounded to two digits, {found[PRINTED_RANKS]} with those "
        "printed in table 2",
        came=worked_example.COMPUTED_RANKS,
        equal=found[EXACT] == points,
        why=WHY_DIGITS if found[TWO_DIGITS] == points else NO_REASON,
    )


def _table_of_readings(rows: Sequence[Row]) -> Grid:
    return Grid(
        title="Figure 5 by reading: how many of its points come out, and the least makespan",
        headers=("queue", "ranks", "link times", "BP counts the candidate", "period", "points",
                 "least"),
        rows=tuple(
            (
                NAMES[text(row, "algorithm")],
                text(row, "ranks"),
                "whole" if flag(row, "whole") else "exact",
                "yes" if flag(row, "candidate") else "no",
                f"{number(row, 'period'):g}",
                f"{number(row, 'same'):g} of {number(row, 'points'):g}",
                f"{number(row, 'least'):g}",
            )
            for row in where(rows, what="reading")
        ),
    )  # fmt: skip


def _figure_6(rows: Sequence[Row]) -> Claim:
    def schedule(name: str) -> set[tuple[str, str, float, float]]:
        return {
            (text(row, "name"), text(row, "on"), number(row, "start"), number(row, "end"))
            for what in ("task", "message")
            for row in where(rows, algorithm=name, what=what)
        }

    lengths = [_makespan(rows, name) for name in ("hvlb-cc-a", "hvlb-cc-b")]
    alike = schedule("hvlb-cc-a") == schedule("hvlb-cc-b")
    return numbers(
        "figure 6",
        f"the best makespan of (A) and (B) is {worked_example.FIGURE_6_MAKESPAN}, "
        "in the same schedule",
        f"{lengths[0]:g} and {lengths[1]:g}; "
        + ("the same schedule" if alike else "different schedules"),
        came=worked_example.READ_FROM_RESULTS,
        equal=alike and set(lengths) == {worked_example.FIGURE_6_MAKESPAN},
    )


def _by_alpha(rows: Sequence[Row]) -> LineChart:
    ours = [
        Series(
            name=NAMES[name],
            points=tuple(
                Point(x=number(row, "place") / 100, y=number(row, "end"))
                for row in where(rows, algorithm=name, what="alpha")
            ),
        )
        for name in worked_example.FIGURE_5
    ]
    level = Series(
        name=NAMES["hsv-cc"],
        points=tuple(Point(x=x, y=_makespan(rows, "hsv-cc")) for x in (0, LAST_ALPHA)),
    )
    return LineChart(
        title="Figure 5: makespan over α",
        x="α",
        y="makespan",
        series=(*ours, level),
        steps=True,
        from_zero=False,
        note="α in steps of 0.01. HSV_CC is (A) at α = 0.",
    )


def _gantt(rows: Sequence[Row], name: str, title: str) -> Timeline:
    lanes = []
    for lane, what, kind, short in (
        *((processor, "task", 0, "") for processor in worked_example.PROCESSORS),
        *((link, "message", 1, "n") for link in LINKS),
    ):
        spans = tuple(
            Span(
                start=number(row, "start"),
                end=number(row, "end"),
                label=text(row, "name").replace(" n", "→").removeprefix(short),
                kind=kind,
            )
            for row in where(rows, algorithm=name, what=what, on=lane)
        )
        lanes.append((lane, spans))
    return Timeline(
        title=f"{title}, makespan {_makespan(rows, name):g}",
        x="time",
        lanes=tuple(lanes),
        until=max(_makespan(rows, one) for one in (FIGURE_4, FIGURE_6)),
        note="Tasks on processors p1 to p3; on links l1 to l4 messages, 3→6 from n3 to n6.",
    )


STUDY = Study(
    name="hvlb-example",
    paper=Paper.HVLB_CC,
    figures=("figure 4", "figure 5", "figure 6"),
    title="The worked example: one graph, every α",
    seconds=1,
    cells=cells,
    run=run,
    analyse=analyse,
)
