"""The car ahead, moment by moment: as the query gives it, as the radar says by itself in the data
set's own decoding, and how far the two lie apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headway.engine.results import RunResult
from headway.errors import DataError, Problem
from headway.sources.comma2k19 import load_radar

LANE = 1.8
"""m to each side of our way; the query says the same"""
CLOSING = 0.5
"""m/s: slower than that there is no time to collision worth telling"""
RADAR_TO_CAMERA = 2.7
"""m, which the data set adds to the distance"""

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class CarAhead:
    """The nearest object in our lane, moment by moment: seconds, m, m/s (negative: closing)."""

    time: Numbers
    distance: Numbers
    opening: Numbers

    @property
    def ttc(self) -> Numbers:
        """Seconds; NaN where the distance hardly shrinks."""
        closing = np.where(self.opening < -CLOSING, -self.opening, np.nan)
        return self.distance / closing

    def at(self, times: Numbers, reach: float = 0.1) -> CarAhead:
        """The nearest moment to each of ``times``; NaN where there is none within ``reach`` s."""
        place = np.clip(np.searchsorted(self.time, times), 1, len(self.time) - 1)
        place -= times - self.time[place - 1] < self.time[place] - times
        far = np.abs(self.time[place] - times) > reach
        distance, opening = self.distance[place].copy(), self.opening[place].copy()
        distance[far] = opening[far] = np.nan
        return CarAhead(times, distance, opening)


def car_ahead(result: RunResult) -> CarAhead:
    """Of all in our lane, at each moment of the fusion, the nearest."""
    nearest: dict[int, tuple[float, float]] = {}
    for _, _, at, ahead, _, opening in result.outputs["ahead"].rows:
        if at not in nearest or ahead < nearest[at][0]:
            nearest[at] = (ahead, opening)
    return _car_ahead([(at / 1e6, *nearest[at]) for at in sorted(nearest)])


def radar_alone(segment_folder: Path) -> CarAhead:
    """In the data set's decoding: the nearest track straight in front of the car, each cycle."""
    radar = load_radar(segment_folder)
    times = radar.seconds
    cycle = np.cumsum(np.diff(times, prepend=times[0]) > 0.02)
    found = []
    for number in range(int(cycle[-1]) + 1):
        mine = (cycle == number) & (np.abs(radar.left) < LANE)
        if mine.any():
            nearest = np.flatnonzero(mine)[np.argmin(radar.forward[mine])]
            distance = radar.forward[nearest] - RADAR_TO_CAMERA
            found.append((times[nearest], distance, radar.opening[nearest]))
    return _car_ahead(found)


def _car_ahead(found: Sequence[tuple[float, float, float]]) -> CarAhead:
    if len(found) < 2:
        raise DataError(
            Problem(
                "there is no car ahead in this recording",
                got=f"{len(found)} moments with one",
                want="take a segment with traffic, of a car whose radar the DBC describes",
            )
        )
    time, distance, opening = np.array(found).T
    return CarAhead(time, distance, opening)


@dataclass(frozen=True)
class Agreement:
    """Of two views of the car ahead, at the moments of the first: how far they lie apart."""

    moments: int
    both: int
    distance_median: float
    distance_95: float
    another_car: float
    """share of the moments at which they differ by more than 5 m"""
    speed_median: float
    speed_95: float


def agreement(one: CarAhead, other: CarAhead) -> Agreement:
    there = other.at(one.time)
    distance = np.abs(one.distance - there.distance)
    both = np.isfinite(distance)
    if not both.any():
        raise DataError(Problem("the fusion and the radar never see a car ahead at the same time"))
    distance, speed = distance[both], np.abs(one.opening - there.opening)[both]
    return Agreement(
        moments=len(one.time),
        both=int(both.sum()),
        distance_median=float(np.median(distance)),
        distance_95=float(np.percentile(distance, 95)),
        another_car=float(np.mean(distance > 5)),
        speed_median=float(np.median(speed)),
        speed_95=float(np.percentile(speed, 95)),
    )
