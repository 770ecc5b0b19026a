"""The straight line of least squares through points, and how far they lie from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, linear_regression


@dataclass(frozen=True, kw_only=True)
class StraightLine:
    slope: float
    intercept: float
    mean_error: float
    """mean distance of the points from the line, along y"""

    def at(self, x: float) -> float:
        return self.intercept + self.slope * x


def fitted(xs: Sequence[float], ys: Sequence[float]) -> StraightLine:
    """Needs two different x."""
    slope, intercept = linear_regression(xs, ys)
    error = fmean(abs(y - intercept - slope * x) for x, y in zip(xs, ys, strict=True))
    return StraightLine(slope=slope, intercept=intercept, mean_error=error)
