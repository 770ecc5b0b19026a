"""Numbers, times, costs and rates as people declare them, kept exactly."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from random import Random

from headway.errors import InputError

# ------------------------------------------------------------
# Numbers as people write them, taken exactly: 0.1 means one tenth.

Number = int | float | Fraction


def exact(number: Number) -> Fraction:
    """The number as a fraction; a float by its shortest decimal form."""
    if isinstance(number, float):
        if not isfinite(number):
            raise ValueError(f"{number} is not a finite number")
        return Fraction(repr(number))
    return Fraction(number)


# ------------------------------------------------------------
# Time is a whole number of nanoseconds; people write it with a unit.
#
# Whole numbers keep virtual time exact, so that a run is the same on every machine. Columns of
# type ``timestamp`` hold microseconds (Spark's and Parquet's resolution); the engine's clock is
# finer.


NANOSECOND = 1
MICROSECOND = 1_000
MILLISECOND = 1_000_000
SECOND = 1_000_000_000

_UNITS = {
    "ns": NANOSECOND,
    "us": MICROSECOND,
    "µs": MICROSECOND,
    "ms": MILLISECOND,
    "s": SECOND,
    "min": 60 * SECOND,
    "h": 3600 * SECOND,
}
_DURATION = re.compile(r"\s*([0-9]{1,12}(?:\.[0-9]{1,9})?)\s*(ns|us|µs|ms|s|min|h)\s*")

DURATION_FORM = "a number and a unit of ns, us, ms, s, min or h, such as '30 ms'"


def parse_duration(text: str) -> int:
    """Nanoseconds of ``'30 ms'``, ``'2.6 us'``, ``'3 s'``; ValueError when it is not a duration."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a duration: write {DURATION_FORM}")
    nanoseconds = Decimal(match[1]) * _UNITS[match[2]]
    if nanoseconds != int(nanoseconds):
        raise ValueError(f"{text!r} is finer than a nanosecond")
    return int(nanoseconds)


def duration_option(option: str, text: str, least: int = 0) -> int:
    """Of a command's option; InputError for what is no duration, or a shorter one."""
    try:
        found = parse_duration(text)
    except ValueError:
        found = -1
    if found < least:
        raise InputError("not a duration", at=option, got=text, want=f"write {DURATION_FORM}")
    return found


def format_duration(nanoseconds: int) -> str:
    """The shortest exact way to write a duration: ``30 ms``, ``1.5 ms``, ``250 us``."""
    magnitude = abs(nanoseconds)
    for unit in ("s", "ms", "us"):
        if magnitude >= _UNITS[unit]:
            value = Decimal(nanoseconds) / _UNITS[unit]
            text = format(value.normalize(), "f")
            return f"{text} {unit}"
    return f"{nanoseconds} ns" if nanoseconds else "0 ms"


def milliseconds(nanoseconds: int) -> str:
    """For tables: always in ms, with three decimals."""
    return f"{nanoseconds / MILLISECOND:.3f}"


# ------------------------------------------------------------
# Computation time of an operator (the paper's c_o), for a node of execution rate 1.
#
# A node of rate r needs 1/r of it. A cost may grow with the items of one execution, as the fusion
# operator's does with the fusion number (AEDSMS section 6.2).


@dataclass(frozen=True, slots=True)
class Cost:
    """``base + per_item * items``, in nanoseconds at execution rate 1: the worst case, which the
    compiler counts, and so does every run that is not told otherwise.

    ``between_items`` says that the operator may be preempted after the base part and after each
    item. Where execution times vary, ``best`` is the least that the base part takes and ``mean``
    its long-run mean; items always take their time."""

    base: int
    per_item: int = 0
    most_items: int = 1
    between_items: bool = False
    best: int | None = None
    mean: int | None = None
    kinds: tuple[tuple[str, int], ...] = ()
    """the base part by the kind of the processor; under ``""`` that of all others. ``base`` is the
    one that counts where the operator is, and the largest as long as that is open"""

    def on(self, kind: str | None) -> Cost | None:
        """The cost on a processor of that kind; None where it cannot run there."""
        if not self.kinds:
            return self
        given = dict(self.kinds)
        base = given.get(kind or "", given.get(""))
        return None if base is None else replace(self, base=base)

    @property
    def varies(self) -> bool:
        """Whether an execution may be shorter than the worst case by declaration."""
        return self.best is not None and self.best < self.base

    def drawn(self, random: Random) -> Cost:
        """The cost of one execution, the base part drawn between best and worst: evenly, or where
        a mean is declared from the beta distribution with that mean and a + b = 4 (the one that
        project planning calls PERT's)."""
        if self.best is None or self.best >= self.base:
            return self
        width = self.base - self.best
        if self.mean is None:
            share = random.random()
        else:
            middle = (self.mean - self.best) / width
            share = random.betavariate(max(4 * middle, 0.05), max(4 * (1 - middle), 0.05))
        return replace(self, base=self.best + round(share * width))

    def of(self, items: int, rate: Fraction | int = 1) -> int:
        """Nanoseconds for one execution over so many items on a node of that rate.

        Each part is rounded up by itself, so parts that are preempted in between add up to the
        whole."""
        return ceil_div(self.base, rate) + items * ceil_div(self.per_item, rate)

    def worst(self, rate: Fraction | int = 1) -> int:
        """The longest execution (``most_items`` items)."""
        return self.of(self.most_items, rate)

    def per_tuple(self, rate: Fraction | int = 1) -> int:
        """What one input tuple can add at most: an execution of its own."""
        return self.of(1, rate)

    def longest_section(self, rate: Fraction | int = 1) -> int:
        """The longest stretch without a preemption point."""
        if not self.between_items:
            return self.worst(rate)
        return max(ceil_div(self.base, rate), ceil_div(self.per_item, rate))


@dataclass(frozen=True, slots=True)
class OptionalPart:
    """What an operator may do besides its cost if there is time (imprecise computation, HVLB_CC
    section 4.4): ``time`` nanoseconds at execution rate 1, in pieces that are not interrupted."""

    time: int
    piece: int

    @property
    def pieces(self) -> int:
        """How many there are; the last may be shorter, and counts as a whole one."""
        return -(-self.time // self.piece)

    def piece_on(self, rate: Fraction | int = 1) -> int:
        """Nanoseconds of a piece on a node of that rate."""
        return ceil_div(self.piece, rate)


def ceil_div(amount: int, rate: Fraction | int) -> int:
    """``amount / rate`` rounded up, exactly."""
    quotient = Fraction(amount) / rate
    return -(-quotient.numerator // quotient.denominator)


# ------------------------------------------------------------
# How many tuples may enter: arrival curves.
#
# A curve bounds the tuples in *any* closed interval of a given length. It is the least of several
# terms "at most n in any P, displaced by up to J", so that a load shedder's limit and the
# source's own rate can hold together.


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
