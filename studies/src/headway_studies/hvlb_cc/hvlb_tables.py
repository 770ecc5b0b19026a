"""HVLB_CC tables 1 to 3: computation times, ranks and priorities, speeds of routes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from headway.schedule.static import Options
from headway.schedule.static.ranks import (
    Ranks,
    priorities_a,
    priorities_b,
    processor_speeds,
    route_speeds,
)
from headway_studies.hvlb_cc import worked_example
from headway_studies.provenance import assumed
from headway_studies.row_reading import number, text, where
from headway_studies.study import NO_REASON, Cell, Claim, Findings, Paper, Row, Study, numbers
from headway_studies.study_charts import Grid

RANK_NEAR = 0.011
"""Printed ranks have two digits, and rounding adds up along the graph."""
HPRV_NEAR = 0.065
"""Printed priorities have one digit, and so has the hrank they were made from."""
SHOWN = 1e-9
WHY_HALF = (
    "For n6, n7 and n8, which have one successor, the table prints hrank / depth², twice what "
    "equation 9 gives with outd / max outd = 1/2. The queue is the same either way."
)
WORKS = assumed(
    "the works are not printed: they are taken from the column of p2, whose rate is 1; rates "
    "before rounding for print are 2/3, 1 and 5/6"
)
COLUMNS = ("hrank", "outd", "depth", "hprv_a", "hprv_b")


def cells(quick: bool) -> list[Cell]:
    return [{"table": table} for table in (1, 2, 3)]


def run(cell: Cell) -> list[Row]:
    return {1: _times, 2: _ranks, 3: _speeds}[int(str(cell["table"]))]()


def _row(what: str, name: str, place: str, value: float) -> Row:
    return {"what": what, "name": name, "place": place, "value": value}


def _times() -> list[Row]:
    made = worked_example.works()
    return [
        _row("comp", task, processor, float(made.time(made.comp[t][p])))
        for t, task in enumerate(made.tasks)
        for p, processor in enumerate(made.processors)
    ]


def _ranks() -> list[Row]:
    made = worked_example.instance()
    exact = Ranks(made)
    rounded = Ranks(worked_example.instance(options=Options(rank_digits=2)))
    rows = [
        _row(what, task, processor, float(ranks.of(t, p)))
        for what, ranks in (("rank", exact), ("rank of two digits", rounded))
        for t, task in enumerate(made.tasks)
        for p, processor in enumerate(made.processors)
    ]
    columns: tuple[Sequence[Fraction | int], ...] = (
        exact.hrank, exact.out_degree, exact.depth, priorities_a(exact), priorities_b(exact),
    )  # fmt: skip
    return rows + [
        _row(what, task, "", float(value))
        for what, values in zip(COLUMNS, columns, strict=True)
        for task, value in zip(made.tasks, values, strict=True)
    ]


def _speeds() -> list[Row]:
    made = worked_example.instance()
    rows = [
        _row("route", one, other, float(speed))
        for one, row in zip(made.processors, route_speeds(made), strict=True)
        for other, speed in zip(made.processors, row, strict=True)
        if speed is not None
    ]
    own = zip(made.processors, processor_speeds(made), strict=True)
    return rows + [_row("processor", name, "", float(speed)) for name, speed in own]


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(
        claims=(
            _computation(rows),
            _printed_ranks(rows),
            _degrees(rows),
            _priorities_a(rows),
            _priorities_b(rows),
            _route_speeds(rows),
        ),
        pictures=(_table(rows),),
    )


def _found(rows: Sequence[Row], what: str) -> dict[tuple[str, str], float]:
    chosen = where(rows, what=what)
    return {(text(row, "name"), text(row, "place")): number(row, "value") for row in chosen}


def _by_processor(table: Mapping[str, Sequence[float]]) -> dict[tuple[str, str], float]:
    return {
        (task, processor): value
        for task, row in table.items()
        for processor, value in zip(worked_example.PROCESSORS, row, strict=True)
    }


def _computation(rows: Sequence[Row]) -> Claim:
    found, wanted = _found(rows, "comp"), _by_processor(worked_example.TABLE_1)
    same = sum(int(found[key] + 0.5) == value for key, value in wanted.items())
    return numbers(
        "table 1",
        "30 computation times, comp = w / rate",
        f"{same} of {len(wanted)} from the works and the rates 2/3, 1 and 5/6 (printed 0.67, 1.0 "
        "and 0.83), rounded to whole units",
        came=WORKS,
        equal=same == len(wanted),
    )


def _printed_ranks(rows: Sequence[Row]) -> Claim:
    wanted = _by_processor(worked_example.TABLE_2_RANK)
    exact, rounded = _found(rows, "rank"), _found(rows, "rank of two digits")
    same = sum(abs(rounded[key] - value) < SHOWN for key, value in wanted.items())
    apart = max(abs(exact[key] - value) for key, value in wanted.items())
    return numbers(
        "table 2, rank",
        "30 ranks with two digits",
        f"{same} of {len(wanted)} to the last digit with communication times of two digits; "
        f"without any rounding at most {apart:.3f} away",
        came=worked_example.READ_FROM_TABLES,
        equal=apart < RANK_NEAR and same >= len(wanted) - 1,
    )


def _column(rows: Sequence[Row], what: str) -> dict[str, float]:
    return {task: value for (task, _), value in _found(rows, what).items()}


def _degrees(rows: Sequence[Row]) -> Claim:
    found = {what: _column(rows, what) for what in ("hrank", "outd", "depth")}
    same = sum(
        (round(found["hrank"][task], 1), found["outd"][task], found["depth"][task]) == line[:3]
        for task, line in worked_example.TABLE_2.items()
    )
    return numbers(
        "table 2, hrank, outd, depth",
        "ten tasks",
        f"{same} of {len(worked_example.TABLE_2)} tasks with all three as printed",
        came=worked_example.READ_FROM_TABLES,
        equal=same == len(worked_example.TABLE_2),
    )


def _priorities_a(rows: Sequence[Row]) -> Claim:
    """Printed values are the printed hrank, of one digit, times outd."""
    found, outd = _column(rows, "hprv_a"), _column(rows, "outd")
    wanted = {task: line[3] for task, line in worked_example.TABLE_2.items()}
    apart = {task: abs(found[task] - value) for task, value in wanted.items()}
    near = sum(apart[task] <= 0.05 * outd[task] + SHOWN for task in wanted)
    return numbers(
        "table 2, HPRV of (A)",
        ", ".join(f"{value:g}" for value in wanted.values()),
        f"{near} of {len(wanted)} within the rounding of hrank times outd; at most "
        f"{max(apart.values()):.2f} away",
        came=worked_example.READ_FROM_TABLES,
        equal=near == len(wanted),
    )


def _priorities_b(rows: Sequence[Row]) -> Claim:
    found = _column(rows, "hprv_b")
    wanted = {task: line[4] for task, line in worked_example.TABLE_2.items()}
    differ = [task for task, value in wanted.items() if abs(found[task] - value) > HPRV_NEAR]
    doubled = all(abs(2 * found[task] - wanted[task]) <= HPRV_NEAR for task in differ)
    return numbers(
        "table 2, HPRV of (B)",
        ", ".join(f"{value:g}" for value in wanted.values()),
        ", ".join(f"{value:.1f}" for value in found.values()),
        came=worked_example.READ_FROM_TABLES,
        equal=not differ,
        why=WHY_HALF if differ == ["n6", "n7", "n8"] and doubled else NO_REASON,
    )


def _route_speeds(rows: Sequence[Row]) -> Claim:
    routes, own = _found(rows, "route"), _column(rows, "processor")
    return numbers(
        "table 3",
        "route speeds "
        + ", ".join(f"{one}–{other} {v}" for (one, other), v in worked_example.TABLE_3.items())
        + "; of the processors 1.0, 1.5, 1.5",
        ", ".join(f"{one}–{other} {speed:g}" for (one, other), speed in routes.items())
        + "; "
        + ", ".join(f"{speed:g}" for speed in own.values()),
        came=worked_example.READ_FROM_TABLES,
        equal=routes == worked_example.TABLE_3 and own == worked_example.PROCESSOR_SPEEDS,
    )


def _table(rows: Sequence[Row]) -> Grid:
    ranks, columns = _found(rows, "rank"), {what: _column(rows, what) for what in COLUMNS}
    return Grid(
        title="Table 2, by the equations, without rounding; printed values in brackets",
        headers=("task", *(f"rank on {p}" for p in worked_example.PROCESSORS), "hrank", "outd",
                 "depth", "HPRV (A)", "HPRV (B)"),
        rows=tuple(
            (
                task,
                *(
                    f"{ranks[task, p]:.2f} ({worked_example.TABLE_2_RANK[task][place]:.2f})"
                    for place, p in enumerate(worked_example.PROCESSORS)
                ),
                *(
                    f"{columns[what][task]:.4g} ({worked_example.TABLE_2[task][place]:g})"
                    for place, what in enumerate(COLUMNS)
                ),
            )
            for task in worked_example.TABLE_2
        ),
    )  # fmt: skip


STUDY = Study(
    name="hvlb-tables",
    paper=Paper.HVLB_CC,
    figures=("table 1", "table 2", "table 3"),
    title="The worked example: times, ranks and speeds",
    seconds=1,
    cells=cells,
    run=run,
    analyse=analyse,
)
