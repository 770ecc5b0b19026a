"""What a static scheduling algorithm returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from headway.model.static_network import Schedule


@dataclass(frozen=True, kw_only=True)
class QueueFailure:
    """A task reached the head of the queue before a predecessor was scheduled (section 3.2)."""

    task: str
    predecessor: str

    def __str__(self) -> str:
        return (
            f"{self.task} came to the head of the queue before its predecessor {self.predecessor}"
        )


@dataclass(frozen=True, kw_only=True)
class AlphaInterval:
    """The α that give one and the same schedule. ``high`` is None where it has no end.

    An end belongs to the interval when it is closed. Where two processors have the same value at
    an end, the lower-numbered one takes that end, so neighbours share no point and leave none
    out."""

    low: Fraction
    high: Fraction | None
    low_closed: bool
    high_closed: bool
    makespan: Fraction
    build: Callable[[], Schedule] = field(repr=False, compare=False)

    def __contains__(self, alpha: object) -> bool:
        if not isinstance(alpha, int | float | Fraction):
            return False
        above = alpha > self.low or (self.low_closed and alpha == self.low)
        if self.high is None:
            return above
        return above and (alpha < self.high or (self.high_closed and alpha == self.high))

    @cached_property
    def schedule(self) -> Schedule:
        """The schedule, worked out when first asked for."""
        return self.build()

    def __str__(self) -> str:
        left, right = "[" if self.low_closed else "(", "]" if self.high_closed else ")"
        return f"{left}{self.low}, {'inf' if self.high is None else self.high}{right}"


@dataclass(frozen=True, kw_only=True)
class StaticResult:
    """``order`` is the queue; ``intervals`` are all schedules over α (one, without bounds, where
    the algorithm has no α), by rising α. ``best`` has the least makespan, and the lowest α among
    those. On a failure there is no schedule."""

    algorithm: str
    order: tuple[str, ...]
    intervals: tuple[AlphaInterval, ...] = ()
    best: AlphaInterval | None = None
    failure: QueueFailure | None = None

    @property
    def schedule(self) -> Schedule | None:
        return self.best.schedule if self.best else None

    @property
    def makespan(self) -> Fraction | None:
        return self.best.makespan if self.best else None

    def at(self, alpha: Fraction | int | float) -> AlphaInterval | None:
        """The interval that holds an α; None outside what was looked at, or after a failure."""
        return next((found for found in self.intervals if alpha in found), None)


def only(
    algorithm: str, order: tuple[str, ...], makespan: Fraction, build: Callable[[], Schedule]
) -> StaticResult:
    """The result of an algorithm without α: one schedule whatever α is."""
    whole = AlphaInterval(
        low=Fraction(0),
        high=None,
        low_closed=True,
        high_closed=False,
        makespan=makespan,
        build=build,
    )
    return StaticResult(algorithm=algorithm, order=order, intervals=(whole,), best=whole)
