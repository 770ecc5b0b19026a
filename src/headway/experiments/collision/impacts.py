"""Who would hit a car if nobody brakes, for any car of a traffic.

For our own car the traffic says so itself. For others: a car whose way crosses (not one in the same
street) and whose middle comes within two metres of theirs, which is about the width of a car.
"""

from __future__ import annotations

import numpy as np

from headway.model.quantities import MICROSECOND, SECOND
from headway.world.traffic import Traffic

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
