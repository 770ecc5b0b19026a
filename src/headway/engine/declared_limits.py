"""Whether a run keeps to what its query declares: rates, partners of joins, most outputs.

Promises hold for input within what is declared. What goes beyond it is neither refused nor dropped
here, but counted, so that a run can say that no promise covers it, and who broke which word.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from headway.engine.jobs import NEVER
from headway.model.operators import Operator
from headway.model.quantities import Rate, format_duration


@dataclass(frozen=True, slots=True)
class Beyond:
    """What went beyond a declaration: of a source its tuples, of an operator its results."""

    where: str
    declared: str
    """such as ``rate: 1 per 10 ms``"""
    count: int


class RateWatch:
    """Counts the arrivals of a source that come earlier than its rate allows.

    "At most n in any P, displaced by up to J" holds just when each tuple comes no earlier than J
    before a due time that moves on by P; every n-th tuple has the same due time (the generic cell
    rate algorithm, once for each of n places). One that comes too early takes no place."""

    def __init__(self, rate: Rate) -> None:
        self.rate = rate
        self.beyond = 0
        # What stands first was there before any tuple.
        self.earliest = deque([-NEVER], maxlen=min(rate.count, sys.maxsize))
        """the earliest times for the next n tuples"""
        self.arrived = self._counting()
        """call it with the time of each arrival"""

    def _counting(self) -> Callable[[int], None]:
        """A function with all it needs at hand: it is called for every tuple of every source."""
        period, jitter = self.rate.period, self.rate.jitter
        earliest = self.earliest
        append = earliest.append

        def arrived(now: int) -> None:
            if now < earliest[0]:
                self.beyond += 1
            else:
                append(now + period)

        def arrived_displaced(now: int) -> None:
            first = earliest[0]
            if now < first:
                self.beyond += 1
            else:
                append(max(now, first + jitter) + period - jitter)

        return arrived_displaced if jitter else arrived


def rate_text(rate: Rate) -> str:
    return f"{rate.count} per {format_duration(rate.period)}"


def declared_results(operator: Operator) -> str:
    """What an operator declares of the number of its results."""
    if operator.partner_limit is not None:
        port, most = operator.partner_limit
        return f"partners: {{{port}: {most}}}"
    return f"most_outputs: {operator.most_outputs}"


def added_up(found: Iterable[Beyond]) -> tuple[Beyond, ...]:
    """Of several runs; each declaration once."""
    counts: dict[tuple[str, str], int] = {}
    for one in found:
        counts[one.where, one.declared] = counts.get((one.where, one.declared), 0) + one.count
    return tuple(Beyond(where, declared, count) for (where, declared), count in counts.items())
