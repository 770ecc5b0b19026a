"""Recordings as values, and what the vehicle engine makes of them without costs: the meaning."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.result_tables import SideRows
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.model.user_operator import Row

Answer = Counter[tuple[str, str, Row]]
"""(vehicle, output, row) -> how often"""


Side = Counter[tuple[Any, ...]]
"""(vehicle, kind, the columns of the side outputs) -> how often"""


class Tuple(NamedTuple):
    """A tuple of a recording; times in microseconds."""

    vehicle: str
    source: str
    arrived_at: int
    row: Row


@dataclass(frozen=True)
class Recording:
    """Of each vehicle and source in order of arrival."""

    tuples: tuple[Tuple, ...]

    @property
    def vehicles(self) -> list[str]:
        return sorted({one.vehicle for one in self.tuples})

    def of_source(self, source: str) -> list[Tuple]:
        """As in that source's file: all vehicles', in order of arrival."""
        found = [one for one in self.tuples if one.source == source]
        return sorted(found, key=lambda one: one.arrived_at)

    def arrivals(self, plan: Plan, vehicle: str) -> list[Arrival]:
        """One vehicle's, by (arrival, the sources' order in the query, place)."""
        order = {source.name: place for place, source in enumerate(plan.query.sources)}
        mine = [one for one in self.tuples if one.vehicle == vehicle and one.source in order]
        mine.sort(key=lambda one: (one.arrived_at, order[one.source]))
        return [Arrival(one.arrived_at * MICROSECOND, one.source, one.row) for one in mine]


def meaning(plan: Plan, recording: Recording) -> Answer:
    """The vehicle engine on an infinitely fast machine, vehicle by vehicle."""
    answer: Answer = Counter()
    for vehicle in recording.vehicles:
        engine = Engine(plan=plan, charged=False, keep_trace=False)
        outputs = engine.run(recording.arrivals(plan, vehicle)).outputs
        for name, record in outputs.items():
            answer.update((vehicle, name, comparable(row)) for row in record.rows)
    return answer


def meant_side(plan: Plan, recording: Recording) -> Side:
    """What leaves its way in the same run."""
    side, rows = Counter[tuple[Any, ...]](), SideRows(plan)
    for vehicle in recording.vehicles:
        engine = Engine(plan=plan, charged=False, keep_trace=False)
        dropped = engine.run(recording.arrivals(plan, vehicle)).side.dropped
        side.update((vehicle, one.kind.value, *rows.row(at, one)) for at, one in dropped)
    return side


def comparable(row: Iterable[Any]) -> Row:
    """A row that equals another where SQL says so: one NaN, no negative zero."""
    return tuple(_plain(value) for value in row)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def differences(expected: Answer, got: Answer, *, digits: int = 9) -> list[str]:
    """What is missing and what is too much. Sums of doubles depend on the order of their rows in
    the last places: numbers that agree to ``digits`` count as equal."""
    missing, extra = expected - got, got - expected
    if missing and extra:
        missing, extra = _rounded(missing, digits), _rounded(extra, digits)
        missing, extra = missing - extra, extra - missing
    return [f"missing {n} x {key}" for key, n in sorted(missing.items(), key=repr)] + [
        f"too many {n} x {key}" for key, n in sorted(extra.items(), key=repr)
    ]


def _rounded(answer: Mapping[tuple[str, str, Row], int], digits: int) -> Answer:
    rounded: Answer = Counter()
    for (vehicle, output, row), count in answer.items():
        near = tuple(
            float(f"{value:.{digits}g}") if isinstance(value, float) else value for value in row
        )
        rounded[vehicle, output, near] += count
    return rounded
