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
from headway.model.query import Source


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

    def state(self) -> list[int]:
        """What decides on the next arrivals, for a checkpoint."""
        return list(self.earliest)

    def restore(self, state: list[int]) -> None:
        self.earliest.clear()
        self.earliest.extend(state)

    def all_arrived(self, times: Iterable[int]) -> None:
        """The same for many at once, in order."""
        if self.rate.jitter:
            for now in times:
                self.arrived(now)
            return
        earliest, append, period = self.earliest, self.earliest.append, self.rate.period
        for now in times:
            if now < earliest[0]:
                self.beyond += 1
            else:
                append(now + period)


class PhaseWatch:
    """Counts the arrivals of a source with an offset that do not come at one of its instants, at
    most the jitter later, or are more than its count there."""

    def __init__(self, rate: Rate, offset: int) -> None:
        self.rate, self.offset = rate, offset
        self.beyond = 0
        self._newest, self._taken = -NEVER, 0
        """the newest instant at which something came, and how much"""

    def arrived(self, now: int) -> None:
        """Call it with the time of each arrival."""
        instant = now - (now - self.offset) % self.rate.period
        taken = self._taken if instant == self._newest else 0
        if now - instant > self.rate.jitter or taken == self.rate.count:
            self.beyond += 1
        else:
            self._newest, self._taken = instant, taken + 1

    def state(self) -> list[int]:
        return [self._newest, self._taken]

    def restore(self, state: list[int]) -> None:
        self._newest, self._taken = state

    def all_arrived(self, times: Iterable[int]) -> None:
        """The same for many at once, in order."""
        for now in times:
            self.arrived(now)


def watch_of(source: Source) -> RateWatch | PhaseWatch | None:
    """What counts the arrivals of a source; None where it declares no rate."""
    if source.rate is None:
        return None
    if source.offset is not None:
        return PhaseWatch(source.rate, source.offset)
    return RateWatch(source.rate)


def declared_arrivals(source: Source) -> str:
    """What a source declares of its arrivals."""
    assert source.rate is not None
    text = f"rate: {rate_text(source.rate)}"
    if source.offset is None:
        return text
    return f"{text}, offset: {format_duration(source.offset)}"


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
