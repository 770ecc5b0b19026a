"""Blocks of schedule-length trials as cells and tidy rows, and what studies ask of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace

from headway.experiments.hvlb.lengths import Row as LengthRow
from headway.experiments.hvlb.lengths import Trial, run_trial
from headway.experiments.rows import blocks, flag, number, text, whole
from headway.experiments.study import Cell, Row, Scalar

NAMES = {
    "hsv-cc": "HSV_CC",
    "hvlb-cc-a": "HVLB_CC (A)",
    "hvlb-cc-b": "HVLB_CC (B)",
    "hvlb-cc-c": "(B) that cannot fail",
    "heft": "HEFT",
    "cpop": "CPOP",
}
COMPARED = ("hsv-cc", "hvlb-cc-a", "hvlb-cc-b")
"""the paper's"""


def rates_named(rates: Sequence[float]) -> str:
    """Execution rates as one word: ``0.67 0.83 1``."""
    return " ".join(f"{rate:g}" for rate in rates)


def block_cells(trials: Iterable[Trial], size: int) -> list[Cell]:
    """Trials that differ only in their number become blocks of at most ``size``."""
    groups: dict[Trial, int] = {}
    for trial in trials:
        alike = replace(trial, number=0)
        groups[alike] = groups.get(alike, 0) + 1
    return [
        {
            "tasks": alike.tasks,
            "ccr": alike.ccr,
            "rates": rates_named(alike.rates),
            "seed": alike.seed,
            "most_depth": alike.most_depth,
            "first": first,
            "graphs": count,
        }
        for alike, total in groups.items()
        for first, count in blocks(total, size)
    ]


def run_block(cell: Cell) -> list[Row]:
    """Every compared algorithm on each graph of a block."""
    one, two, three = (float(rate) for rate in text(cell, "rates").split())
    first = whole(cell, "first")
    trials = [
        Trial(
            tasks=whole(cell, "tasks"),
            ccr=number(cell, "ccr"),
            rates=(one, two, three),
            number=place,
            seed=whole(cell, "seed"),
            most_depth=None if cell["most_depth"] is None else whole(cell, "most_depth"),
            algorithms=COMPARED,
        )
        for place in range(first, first + whole(cell, "graphs"))
    ]
    return [_kept(row, cell["most_depth"]) for trial in trials for row in run_trial(trial)]


def _kept(row: LengthRow, most_depth: Scalar) -> Row:
    values = asdict(row) | {"rates": rates_named(row.rates), "most_depth": most_depth}
    measures = ("makespan", "slr", "speedup", "load_balance")
    return values | dict.fromkeys(measures) if row.failed else values


def measured(rows: Iterable[Row], metric: str) -> list[float]:
    """A metric of the schedules that were found."""
    return [number(row, metric) for row in rows if not flag(row, "failed")]
