"""How many cars make how many V2V tuples a second."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from headway.errors import InputError, Problem
from headway.world.drive_recording import DriveRecording, record
from headway.world.drive_scenario import Scenario

MOST_CARS = 1_000
SECOND = 1_000_000


def offered_rate(recording: DriveRecording) -> list[int]:
    """V2V tuples that arrive in each second of the drive (the papers' figure 12)."""
    arrived = recording.streams["v2v"].column("arrived_at").cast(pa.int64()).to_numpy()
    seconds = int(np.ceil(recording.traffic.duration))
    places = np.minimum((arrived - recording.begin) // SECOND, seconds - 1)
    counts: list[int] = np.bincount(places, minlength=seconds).tolist()
    return counts


def scenario_for_rate(rate: int, base: Scenario | None = None) -> Scenario:
    """``base`` with so many cars that the busiest second offers about ``rate`` V2V tuples.

    By bisection, without loss; cars come whole and each moves the others' places, so the rate is
    met within some per cent. InputError when ``rate`` is not to be had.
    """
    base = replace(base or Scenario(), v2v=True)
    needed = len(base.collision_crossings) * (2 if base.witnesses else 1)
    low, high = needed, needed
    while _peak(base, high) < rate:
        low, high = high, high * 2
        if high > MOST_CARS:
            raise InputError(
                Problem(
                    "no number of cars offers so many V2V tuples a second",
                    at="rate",
                    got=f"{rate}, and {low} cars offer {_peak(base, low)}",
                )
            )
    best = high
    while high - low > 1:
        middle = (low + high) // 2
        peak = _peak(base, middle)
        if abs(peak - rate) < abs(_peak(base, best) - rate):
            best = middle
        low, high = (low, middle) if peak >= rate else (middle, high)
    return replace(base, cars=best)


def _peak(base: Scenario, cars: int) -> int:
    return max(offered_rate(record(replace(base, cars=cars))))
