"""How many tuples may enter: arrival curves.

A curve bounds the tuples in *any* closed interval of a given length. It is the least of several
terms "at most n in any P, displaced by up to J", so that a load shedder's limit and the source's
own rate can hold together."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Rate:
    """At most ``count`` tuples in any half-open interval of ``period`` nanoseconds.

    ``jitter`` widens it: instants of such a stream, each delayed by up to ``jitter``.
    """

    count: int
    period: int
    jitter: int = 0

    def in_interval(self, length: int) -> int:
        """Most tuples in a closed interval of that length."""
        if length < 0:
            return 0
        return self.count * (1 + (length + self.jitter) // self.period)

    @property
    def per_second(self) -> float:
        return self.count * 1e9 / self.period

    @property
    def per_nanosecond(self) -> Fraction:
        return Fraction(self.count, self.period)


@dataclass(frozen=True, slots=True)
class ArrivalCurve:
    """The least of its rates, at every length."""

    rates: tuple[Rate, ...]

    def in_interval(self, length: int) -> int:
        return min(rate.in_interval(length) for rate in self.rates)

    @property
    def sustained(self) -> Rate:
        """The term that binds in the long run."""
        return min(self.rates, key=lambda rate: (rate.per_nanosecond, rate.jitter))
