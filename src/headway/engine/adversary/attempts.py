"""One attempt of the adversary: when tuples come, how old they are, how long operators take.

An attempt holds only what differs from the plainest hostile run, in which every source sends its
densest burst at its phase and periodically from there on, every tuple is as old as it may be and
every operator takes its worst case. Whatever an attempt holds, its arrivals are within what the
sources declare: bursts a period apart or more, each displaced by at most the jitter, no silence
longer than a declared gap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from headway.engine.adversary.stand_ins import DROPPED, PASSES
from headway.engine.jobs import Arrival
from headway.model.quantities import MICROSECOND, MILLISECOND, Cost, Rate
from headway.model.query import Query, Source


class Change(Enum):
    """What may differ for one burst of a source."""

    SILENCE = auto()
    """nanoseconds that it comes later than a period after the one before"""
    DISPLACED = auto()
    """nanoseconds of its jitter that are used"""
    AGE = auto()
    """nanoseconds from sensing to arrival"""
    SIZE = auto()
    """tuples in it"""
    DROPPED = auto()
    """filters let none of it pass"""
    ALONE = auto()
    """joins find no partners for it"""


EVERY = -1
"""in place of the number of an execution: all that have no number of their own"""


@dataclass(frozen=True)
class Attempt:
    """``phases`` by source (ns), ``changes`` by source, burst and kind, ``shares`` of the worst
    case by operator and execution (or ``EVERY``); ``group`` tuples of a source, one after the
    other, fall in one group of a window; ``spreads`` by source (ns) from one tuple of a burst to
    the next."""

    phases: Mapping[str, int] = field(default_factory=dict)
    changes: Mapping[tuple[str, int, Change], int] = field(default_factory=dict)
    shares: Mapping[tuple[str, int], float] = field(default_factory=dict)
    group: int = 1
    spreads: Mapping[str, int] = field(default_factory=dict)


# ---------------------------------------------------------------- arrivals


def declared_rate(source: Source) -> Rate:
    """At most what may come; where nothing but a load shedder limits it, three times what that lets
    pass."""
    if source.rate is not None:
        return source.rate
    assert source.shedder is not None, "a plan with a verdict knows its rates"
    return Rate(3 * source.shedder.at_most, source.shedder.per)


def latest_phase(source: Source) -> int:
    """How late a source may begin."""
    rate = declared_rate(source)
    return max(source.gap - rate.jitter, 0) if source.gap is not None else 4 * rate.period


def longest_silence(source: Source) -> int:
    """How much longer than its period a source may be silent."""
    rate = declared_rate(source)
    if source.gap is None:
        return 2 * rate.period
    return max(source.gap - rate.jitter - rate.period, 0)


MOST_ARRIVALS = 1_200
PERIODS = 6


def horizon_of(query: Query) -> int:
    """For how long tuples arrive: some periods of every source, if that is not too many tuples."""
    rates = [declared_rate(source) for source in query.sources]
    long = max(
        (rate.period * PERIODS + rate.jitter + latest_phase(source))
        for rate, source in zip(rates, query.sources, strict=True)
    )
    held = [operator.timeout or 0 for operator in query.operators]
    held += [operator.looks_back for operator in query.operators]
    long = max(long, 4 * sum(held), 20 * MILLISECOND)
    per_nanosecond = sum(rate.count / rate.period for rate in rates)
    return min(long, max(int(MOST_ARRIVALS / per_nanosecond), max(rate.period for rate in rates)))


def widest_spread(source: Source) -> int:
    """How far apart the tuples of a burst may be; at an offset they come together."""
    rate = declared_rate(source)
    if source.offset is not None:
        return 0
    return rate.period // rate.count


def bursts_of(attempt: Attempt, source: Source, until: int) -> list[tuple[int, int]]:
    """(number, instant) of the bursts of a source, at whole microseconds as timestamps are."""
    rate = declared_rate(source)
    if source.offset is None:
        ideal = start = _later(min(attempt.phases.get(source.name, 0), latest_phase(source)))
    else:
        ideal = start = source.offset
    longest = longest_silence(source)
    found: list[tuple[int, int]] = []
    while ideal <= until:
        number = len(found)
        full = max(0, rate.jitter - (ideal - start))
        displaced = attempt.changes.get((source.name, number, Change.DISPLACED), full)
        displaced = min(max(displaced, 0), rate.jitter) // MICROSECOND * MICROSECOND
        found.append((number, ideal + displaced))
        silence = attempt.changes.get((source.name, number + 1, Change.SILENCE), 0)
        silence = min(max(silence, 0), longest)
        if source.offset is None:
            ideal = _later(ideal + rate.period + silence // MICROSECOND * MICROSECOND)
        else:  # whole periods, so that it stays at its instants
            ideal += rate.period + silence // rate.period * rate.period
    return found


def _later(instant: int) -> int:
    """The next whole microsecond: a source may be later than its period."""
    return -(-instant // MICROSECOND) * MICROSECOND


def arrivals_of(attempt: Attempt, query: Query, until: int) -> Sequence[Arrival]:
    """All tuples up to a time, in order."""
    found: list[Arrival] = []
    changes, serial = attempt.changes, 0
    for source in query.sources:
        count, name = declared_rate(source).count, source.name
        own = 0
        spread = min(max(attempt.spreads.get(name, 0), 0), widest_spread(source))
        spread = spread // MICROSECOND * MICROSECOND
        for number, burst in bursts_of(attempt, source, until):
            age = min(max(changes.get((name, number, Change.AGE), source.delay), 0), source.delay)
            value = DROPPED if changes.get((name, number, Change.DROPPED)) else PASSES
            size = changes.get((name, number, Change.SIZE), count)
            if source.gap is not None:
                size = max(size, 1)
            alone = changes.get((name, number, Change.ALONE))
            for place in range(min(size, count)):
                instant = burst + place * spread
                # Timestamps have whole microseconds, and none lies before the beginning.
                sensed = max(-(-(instant - age) // MICROSECOND), 0)
                key = serial + 1 if alone else 0
                row = (sensed, own // attempt.group, key, serial, value)
                found.append(Arrival(instant, name, row))
                own, serial = own + 1, serial + 1
    found.sort(key=lambda arrival: arrival.time)
    return found


# ---------------------------------------------------------------- execution times


@dataclass(slots=True)
class ShortenedTimes:
    """Executions that take the shares of an attempt, and no less than the declared best."""

    shares: Mapping[tuple[str, int], float]
    _shortened: frozenset[str] = frozenset()
    _executed: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._shortened = frozenset(operator for operator, _ in self.shares)

    def varies(self, operator: str, cost: Cost) -> bool:
        return operator in self._shortened

    def next(self, operator: str, cost: Cost) -> Cost:
        if operator not in self._shortened:
            return cost
        number = self._executed[operator] = self._executed.get(operator, -1) + 1
        share = self.shares.get((operator, number), self.shares.get((operator, EVERY), 1.0))
        if share >= 1.0:
            return cost
        least = min(cost.best or 0, cost.base)
        base = least + round(share * (cost.base - least))
        return Cost(
            base,
            round(share * cost.per_item),
            cost.most_items,
            cost.between_items,
        )
