"""Reading tidy rows, and samples in words: mean, spread, shares.

How the papers and our pictures spell the policies that code names in lower case.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from types import MappingProxyType

import numpy as np

from headway_studies.study import Cell, Row, Scalar

POLICY_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "s-edf": "S-EDF",
        "s-edf-primitive": "S-EDF primitive",
        "fifo+": "FIFO+",
        "mc+": "MC+",
        "pcs": "PCS",
        "chain": "Chain",
        "rtstream": "RTSTREAM",
    }
)


def number(row: Row, key: str) -> float:
    """A number of a row; TypeError for anything else, so that a wrong column is not taken."""
    value = row[key]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{key}: {value!r} is no number")
    return float(value)


def number_or_none(row: Row, key: str) -> float | None:
    """A number, or None where there is none (a schedule that failed)."""
    return None if row[key] is None else number(row, key)


def whole(cell: Cell, key: str) -> int:
    """A whole number of a cell or row."""
    value = cell[key]
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{key}: {value!r} is no whole number")
    return value


def text(row: Row, key: str) -> str:
    """A word of a row or cell."""
    value = row[key]
    if not isinstance(value, str):
        raise TypeError(f"{key}: {value!r} is no text")
    return value


def flag(row: Row, key: str) -> bool:
    """A yes or no of a row or cell."""
    value = row[key]
    if not isinstance(value, bool):
        raise TypeError(f"{key}: {value!r} is neither true nor false")
    return value


def where(rows: Iterable[Row], **wanted: Scalar) -> list[Row]:
    """The rows that have these values, in their order."""
    return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]


def grouped(rows: Iterable[Row], *keys: str) -> dict[tuple[Scalar, ...], list[Row]]:
    """The rows by what they have in these columns."""
    found: dict[tuple[Scalar, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in keys), []).append(row)
    return found


def values(rows: Iterable[Row], key: str) -> list[float]:
    """The numbers of a column; None is left out."""
    return [number(row, key) for row in rows if row[key] is not None]


def distinct(rows: Iterable[Row], key: str) -> list[Scalar]:
    """The values of a column, each once, in order of appearance."""
    return list(dict.fromkeys(row[key] for row in rows))


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Mean, standard deviation and range of some numbers."""

    count: int
    mean: float
    deviation: float
    least: float
    most: float

    def percent(self) -> str:
        """As percentages: mean ± standard deviation; a single number has no spread."""
        spread = f" ± {100 * self.deviation:.1f}" if self.count > 1 else ""
        return f"{100 * self.mean:.1f}{spread} %"


def sample(found: Sequence[float]) -> Sample:
    """Of at least one number."""
    return Sample(
        count=len(found),
        mean=fmean(found),
        deviation=stdev(found) if len(found) > 1 else 0.0,
        least=min(found),
        most=max(found),
    )


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A mean and its 95 % interval."""

    mean: float
    low: float
    high: float


DRAWS = 2_000


def interval(found: Sequence[float], seed: int = 0) -> Interval:
    """Of the mean of at least one number, by the bootstrap: the percentiles of the means of samples
    drawn anew, with repetition. It stays within the range of what was found, also for shares."""
    given = np.asarray(found, dtype=np.float64)
    drawn = np.random.default_rng(seed).integers(0, len(given), (DRAWS, len(given)))
    low, high = np.percentile(given[drawn].mean(axis=1), [2.5, 97.5])
    return Interval(mean=float(given.mean()), low=float(low), high=float(high))


def span(found: Iterable[float], digits: int = 2) -> str:
    """``least–most``, or one number where they look the same."""
    ordered = sorted(found)
    low, high = f"{ordered[0]:.{digits}f}", f"{ordered[-1]:.{digits}f}"
    return low if low == high else f"{low}–{high}"


def same_scale(ours: float, published: float) -> bool:
    """Within a factor of two."""
    return published / 2 <= ours <= published * 2


def blocks(total: int, size: int) -> list[tuple[int, int]]:
    """(first, count) of consecutive blocks: a cell is a block of trials, not one trial."""
    return [(first, min(size, total - first)) for first in range(0, total, size)]
