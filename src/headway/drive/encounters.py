"""Cars on collision course: when ours first knew of them, and whether that was in time.

A car is *detected* by a tuple of output2 with its id and a time to collision (TTC). How much time
was left then is measured, not taken from the tuple: the moment of the impact, had nobody braked,
less the moment at which the tuple came out. Our car stops in 2.8 s from 60 km/h on a dry road
(AEDSMS section 6.4), so a first detection with less than that left is a crash, and so is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headway.model.quantities import MICROSECOND, SECOND
from headway.world.traffic import Traffic

# ----------------------------------------------------------------
# Who would hit a car if nobody brakes, for any car of a traffic.
#
# For our own car the traffic says so itself. For others: a car whose way crosses (not one in the
# same street) and whose middle comes within two metres of theirs, which is about the width of a
# car.


NEAR = 2.0
"""metres between the middles of two cars"""
STEP = 0.02
"""seconds: two cars at 60 km/h close by 0.5 m in it"""
_CROSSING = 0.5
"""ways cross if the cosine of the angle between them is less"""


def impacts_on(traffic: Traffic, car: int) -> dict[int, int]:
    """Id of the other car -> microseconds from the begin."""
    if car == traffic.own:
        return {one.id: round(one.time * SECOND / MICROSECOND) for one in traffic.collisions}
    times = np.arange(0.0, traffic.duration, STEP)
    motion = traffic.at(times)
    column = int(np.searchsorted(traffic.ids, car))
    x, y, vx, vy = (values[:, column, None] for values in motion)
    distance = np.hypot(motion.x - x, motion.y - y)
    speeds = np.hypot(motion.vx, motion.vy) * np.hypot(vx, vy)
    crossing = np.abs(motion.vx * vx + motion.vy * vy) < _CROSSING * speeds
    distance[~crossing | np.isnan(distance)] = np.inf
    least = distance.argmin(axis=0)
    return {
        int(traffic.ids[other]): round(times[least[other]] * SECOND / MICROSECOND)
        for other in np.flatnonzero(distance.min(axis=0) < NEAR)
        if other != column
    }


STOPPING_TIME = 2.8
"""seconds"""
_US_PER_S = SECOND // MICROSECOND


@dataclass(frozen=True, slots=True, eq=False)
class Risks:
    """The tuples of output2 that hold a time to collision, in order of ``produced`` (µs)."""

    id: NDArray[np.int64]
    produced: NDArray[np.int64]
    ttc: NDArray[np.float64]
    """seconds, as the query computed it"""


@dataclass(frozen=True, slots=True)
class Meeting:
    """A car on collision course; times in microseconds, TTC in seconds. ``detected`` is None where
    it never was before the impact."""

    car: int
    impact: int
    detected: int | None = None
    ttc: float | None = None
    """what was left at the first detection"""
    computed_ttc: float | None = None
    """what the query thought was left"""

    @property
    def crash(self) -> bool:
        return self.ttc is None or self.ttc < STOPPING_TIME


def meetings(risks: Risks, impacts: Mapping[int, int]) -> tuple[Meeting, ...]:
    """One for each car of ``impacts`` (id -> µs of the impact), in order of impact."""
    found = []
    for car, impact in sorted(impacts.items(), key=lambda one: (one[1], one[0])):
        mine = np.flatnonzero((risks.id == car) & (risks.produced < impact))
        if not len(mine):
            found.append(Meeting(car, impact))
            continue
        first = mine[0]
        detected = int(risks.produced[first])
        left = (impact - detected) / _US_PER_S
        found.append(Meeting(car, impact, detected, left, float(risks.ttc[first])))
    return tuple(found)


def crash_rate(found: Sequence[Meeting]) -> float:
    """The share of cars on collision course that ours hit (AEDSMS equation 3)."""
    return sum(meeting.crash for meeting in found) / len(found) if found else 0.0


def worst_ttc(found: Sequence[Meeting]) -> float:
    """The least time left at a first detection; a car that was never detected leaves none."""
    return min((meeting.ttc or 0.0 for meeting in found), default=0.0)
