"""Large samples as a few quantiles, and the quantiles of several such samples taken together.

A study keeps the quantiles of a trial in its rows, not thousands of values. Between two of them a
sample is taken to be spread evenly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SHARES = (0, 1, 2, *range(5, 100, 5), 98, 99, 100)
"""percent: finer where a sample thins out"""
KEYS = tuple(f"q{share:03d}" for share in SHARES)
"""their names in rows"""


@dataclass(frozen=True)
class Quantiles:
    """Of ``count`` values, one for each of :data:`SHARES`, none less than the one before."""

    count: int
    at: tuple[float, ...]


def quantiles(found: NDArray[np.float64]) -> Quantiles:
    """Of at least one value."""
    return Quantiles(len(found), tuple(np.percentile(found, SHARES).tolist()))


def pooled(samples: Sequence[Quantiles], percent: float) -> float:
    """A quantile of all values together: where the mean of the samples' distributions, each
    weighted with its count, reaches the share."""
    points = np.unique([value for sample in samples for value in sample.at])
    below = sum(
        (sample.count * np.interp(points, sample.at, SHARES) for sample in samples),
        start=np.zeros(len(points)),
    ) / sum(sample.count for sample in samples)
    return float(np.interp(percent, below, points))
