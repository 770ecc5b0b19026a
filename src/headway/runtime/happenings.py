"""When things happen: the order at one instant, and what an arrival is."""

from __future__ import annotations

from typing import NamedTuple

from headway.runtime.operators.base import Row

FINISH, ARRIVAL, DELIVERY, TIMER, DECISION = range(5)
"""the order of happenings at one instant"""

NEVER = 1 << 62
"""a time that does not come"""


class Arrival(NamedTuple):
    """A tuple reaches a source at ``time`` (ns)."""

    time: int
    source: str
    row: Row
