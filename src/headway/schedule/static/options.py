"""What can be chosen about the timing model and about α."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from headway.model.quantities import Number


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


@dataclass(frozen=True)
class ExactAlpha:
    """Every distinct schedule over α >= 0, each with its exact interval.

    Their number grows about with the square of the number of tasks. Without ``every`` the walk
    gives up what cannot have the least makespan: it returns all schedules that have it, and
    perhaps others."""

    every: bool = True


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
