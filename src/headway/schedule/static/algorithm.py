"""What a static scheduling algorithm is, what can be chosen about it, and what it returns.

A new one is a file here and a line in ``ALGORITHMS``; one of another package is an entry point of
the group ``headway.static_algorithms``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from headway.model.quantities import Number
from headway.model.static_network import Schedule

if TYPE_CHECKING:
    from headway.schedule.static.instance import Instance


@dataclass(frozen=True, kw_only=True)
class Options:
    """Parameters of the model; the defaults are the paper's equations without any rounding.

    The paper's worked example needs ``whole_link_times`` and ``ranks`` as printed."""

    contention: bool = True
    """links carry one message at a time"""
    whole_link_times: bool = False
    """the time of a message on a link is rounded down to a whole unit"""
    rank_digits: int | None = None
    """the communication times inside ranks are rounded to so many decimals"""
    ranks: Mapping[str, Mapping[str, Number]] | None = None
    """rank(n, p) given outright, task by task and processor by processor"""
    balance_counts_candidate: bool = False
    """BP counts the task that is being placed besides those already on the processor"""


def always() -> bool:
    """Goes on without end."""
    return True


@dataclass(frozen=True)
class ExactAlpha:
    """Every distinct schedule over α >= 0, each with its exact interval.

    Their number grows about with the square of the number of tasks. Without ``every`` the walk
    gives up what cannot have the least makespan, or is longer than ``limit``, and only the
    schedules that have it are told (where ``limit`` leaves none, the best of a few α).
    ``going_on`` is asked on the way: where it says no, the best found so far must do."""

    every: bool = True
    limit: Number | None = None
    going_on: Callable[[], bool] = field(default=always, repr=False, compare=False)


@dataclass(frozen=True)
class GridAlpha:
    """α from 0 to ``last`` in steps, as the paper sweeps it."""

    last: Number = 20
    step: Number = Fraction(1, 100)


@dataclass(frozen=True)
class FixedAlpha:
    """One α only."""

    alpha: Number = 0


AlphaChoice = ExactAlpha | GridAlpha | FixedAlpha


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
    complete: bool = True
    """False where a search was ended before it had looked at everything"""

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


class Algorithm(ABC):
    """``name``, ``summary`` (what ``headway schedule`` shows), ``paper`` and :meth:`run` must be
    given. It is made without arguments and keeps nothing between runs.

    A list algorithm decides the tasks' order and processors; start times and messages follow by
    the shared timing core (:mod:`~headway.schedule.static.timing`, or with gaps
    :mod:`~headway.schedule.static.insertion`), and :mod:`~headway.schedule.static.validate` checks
    whatever comes out.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str]
    uses_alpha: ClassVar[bool] = False
    """whether it searches over HVLB_CC's α, the weight of load balance"""
    makes_holes: ClassVar[bool] = False
    """whether it chooses a schedule for the holes in it, so that they are worth showing"""

    @abstractmethod
    def run(self, instance: Instance, alpha: AlphaChoice) -> StaticResult:
        """Schedules a checked instance. ``alpha`` matters only where ``uses_alpha`` says so."""
