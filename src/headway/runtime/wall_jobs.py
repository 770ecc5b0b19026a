"""Jobs in wall-clock time, and which operators get boundaries between them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.runtime.operators.base import Row
from headway.runtime.units import Flight, Unit

WORTH_A_BOUNDARY = 50 * MICROSECOND
"""operators that declare at least this cost are not fused, so that others may go between them"""


class Job(NamedTuple):
    """A ready job; the least (key, number) goes first. ``slots`` is the rest of one that has
    begun, ``slot`` what comes next in it."""

    key: Any
    number: int
    unit: Unit
    port: str
    row: Row
    root: int
    late: bool
    given: Any
    flight: Flight | None
    slots: Iterator[tuple[int, int]] | None = None
    slot: tuple[int, int] | None = None


def apart(plan: Plan) -> frozenset[str]:
    """The operators that are run one by one."""
    return frozenset(
        operator.name
        for operator in plan.query.operators
        if operator.cost is not None and operator.cost.of(1, Fraction(1)) >= WORTH_A_BOUNDARY
    )


def receivers(plan: Plan) -> dict[str, tuple[str, ...]]:
    """Stream -> the nodes that it is sent to."""
    found: dict[str, tuple[str, ...]] = {}
    for crossing in plan.crossings:
        found[crossing.stream] = (*found.get(crossing.stream, ()), crossing.receiver)
    return found
