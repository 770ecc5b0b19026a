"""Who ran when in a finished run: a run of a whole train cut into its operators."""

from __future__ import annotations

from typing import NamedTuple

from headway.engine.results import RunResult
from headway.engine.trace import EventKind


class OperatorSlot(NamedTuple):
    """One operator of a job, from ``start`` to ``end`` (ns)."""

    start: int
    end: int
    core: str
    unit: str
    """the train"""
    operator: str


def operator_slots(result: RunResult) -> list[OperatorSlot]:
    """In the order they happened; the run must have kept its trace."""
    units = {unit.name: unit for unit in result.kernel.program.units}
    found = []
    for kind, start, end, _node, core, what, _job, first, ran in result.trace.events:
        if kind != EventKind.RUN:
            continue
        unit, at = units[what], start
        for place in range(first, first + ran):
            after = end if place == first + ran - 1 else at + unit.costs[place]
            found.append(OperatorSlot(at, after, core, what, unit.operators[place]))
            at = after
    return found
