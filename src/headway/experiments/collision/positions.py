"""How far off positions are.

The papers do not print at which moment they compare (AEDSMS section 6.5). Here an estimate is
compared with the truth at the moment it is *about* (what filter and sensors can do) and at the
moment it *comes out*: as it stands (a car at 60 km/h moves on by 1.7 m in 100 ms, so late is
wrong), and *carried on* with its own velocity to that moment, as a reader of the output would.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Times = NDArray[np.int64]
"""microseconds"""
Metres = NDArray[np.float64]
TruePlaces = Callable[[Ids, Times], tuple[Metres, Metres]]
"""Where cars were at given times; NaN where they were not there."""
_US_PER_S = 1e6


class Moment(StrEnum):
    """When an estimate is compared with the truth."""

    ABOUT = "about"
    OUT = "out"
    CARRIED = "carried"


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Positions that somebody was told: of which car, about when, when they came out."""

    id: Ids
    about: Times
    produced: Times
    x: Metres
    y: Metres
    vx: Metres
    """m/s; NaN where no velocity was told"""
    vy: Metres

    def where(self, chosen: NDArray[np.bool_]) -> Estimates:
        return Estimates(*(getattr(self, field.name)[chosen] for field in fields(self)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSummary:
    """Distances from the truth in metres; ``count`` positions were compared."""

    count: int
    mean: float
    median: float
    quartile: float
    """the upper one"""
    high: float
    """95th percentile"""


def errors(estimates: Estimates, places: TruePlaces, moment: Moment) -> Metres:
    """The distance of each estimate from its car; those of cars that are not there are left out."""
    at = estimates.about if moment is Moment.ABOUT else estimates.produced
    x, y = places(estimates.id, at)
    carried = np.zeros(len(at))
    if moment is Moment.CARRIED:
        carried = (estimates.produced - estimates.about) / _US_PER_S
        dx, dy = estimates.vx * carried, estimates.vy * carried
    else:
        dx = dy = carried
    found: Metres = np.hypot(estimates.x + dx - x, estimates.y + dy - y)
    return found[~np.isnan(found)]


def summarise(found: Metres) -> ErrorSummary:
    if not len(found):
        nan = float("nan")
        return ErrorSummary(count=0, mean=nan, median=nan, quartile=nan, high=nan)
    median, quartile, high = np.percentile(found, [50, 75, 95])
    return ErrorSummary(
        count=len(found),
        mean=float(found.mean()),
        median=float(median),
        quartile=float(quartile),
        high=float(high),
    )
