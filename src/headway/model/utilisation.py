"""How much of a processor jobs ask for: a constant, a range with a distribution, or a recording.

Utilisations are whole millionths (``FULL`` is a processor), so that capacities add up exactly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

import numpy as np

FULL = 1_000_000
"""a utilisation of 1: the whole processor"""
SPREAD = 6
"""a gaussian range is so many standard deviations wide"""


class Distribution(StrEnum):
    GAUSSIAN = "gaussian"
    UNIFORM = "uniform"


@dataclass(frozen=True)
class Constant:
    """Every job asks for the same."""

    value: int

    @property
    def average(self) -> int:
        return self.value

    @property
    def peak(self) -> int:
        return self.value

    def draw(self, count: int, random: np.random.Generator) -> list[int]:
        return [self.value] * count

    def scaled(self, factor: Fraction) -> Constant:
        return Constant(int(self.value * factor))


@dataclass(frozen=True)
class Range:
    """Between two ends: uniform, or gaussian around the mean and cut off at the ends."""

    low: int
    high: int
    mean: int
    distribution: Distribution = Distribution.GAUSSIAN

    @property
    def average(self) -> int:
        return self.mean

    @property
    def peak(self) -> int:
        return self.high

    def draw(self, count: int, random: np.random.Generator) -> list[int]:
        if self.distribution is Distribution.UNIFORM:
            return [int(one) for one in random.integers(self.low, self.high + 1, count)]
        drawn = random.normal(self.mean, (self.high - self.low) / SPREAD, count)
        return [int(one) for one in np.clip(np.rint(drawn), self.low, self.high)]

    def scaled(self, factor: Fraction) -> Range:
        low, high, mean = (int(one * factor) for one in (self.low, self.high, self.mean))
        return replace(self, low=low, high=high, mean=mean)


@dataclass(frozen=True)
class Recorded:
    """Measured values, one a job, over and over."""

    values: tuple[int, ...]

    @property
    def average(self) -> int:
        return sum(self.values) // len(self.values)

    @property
    def peak(self) -> int:
        return max(self.values)

    def draw(self, count: int, random: np.random.Generator) -> list[int]:
        times = -(-count // len(self.values))
        return list(self.values * times)[:count]

    def scaled(self, factor: Fraction) -> Recorded:
        return Recorded(tuple(int(one * factor) for one in self.values))


Utilisation = Constant | Range | Recorded


def percent(share: int) -> str:
    """``110 %``, ``12.5 %``"""
    return f"{share * 100 / FULL:.4f}".rstrip("0").rstrip(".") + " %"
