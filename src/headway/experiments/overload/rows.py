"""Rows of task-set trials as a study keeps them, and back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from headway.experiments.overload.trials import Row as TrialRow
from headway.experiments.rows import flag, number, text, whole
from headway.experiments.study import Row

POLICY_NAMES = {
    "op-edf": "OP-EDF",
    "er-edf": "ER-EDF",
    "rop-edf-1": "ROP-EDF, policy 1",
    "rop-edf-2": "ROP-EDF, policy 2",
    "cbs": "CBS",
    "rate-monotonic": "RM",
}


def kept(rows: Iterable[TrialRow]) -> list[Row]:
    return [asdict(row) for row in rows]


def trials(rows: Iterable[Row]) -> list[TrialRow]:
    """The rows of a study as :mod:`headway.experiments.overload.trials` has them."""
    return [
        TrialRow(
            load=whole(row, "load"),
            trial=whole(row, "trial"),
            policy=text(row, "policy"),
            task=text(row, "task"),
            hard=flag(row, "hard"),
            jobs=whole(row, "jobs"),
            rejected=whole(row, "rejected"),
            late=whole(row, "late"),
            miss_ratio=number(row, "miss_ratio"),
        )
        for row in rows
    ]
