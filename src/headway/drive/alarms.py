"""Warnings of cars that would never have come near: how often our car warns for nothing.

A car is *warned of* when output2 has a tuple with its id and a time to collision. The warning was
*false* if from then on, had nobody braked, the middles of the two cars never come within
:data:`~headway.drive.encounters.NEAR` of each other, about the width of a car. The papers count
the warnings that came too late, and no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headway.drive.encounters import NEAR, STEP, Risks
from headway.model.quantities import MICROSECOND, SECOND
from headway.world.traffic import Traffic

_US_PER_S = SECOND // MICROSECOND


@dataclass(frozen=True, slots=True)
class Alarm:
    """The first warning of one car."""

    car: int
    warned: int
    """microseconds from the begin"""
    computed_ttc: float
    """seconds, as the query had it"""
    nearest: float
    """metres between the middles of the two at the nearest from then on, had nobody braked"""

    @property
    def false(self) -> bool:
        return not self.nearest < NEAR


def alarms(risks: Risks, traffic: Traffic, car: int) -> tuple[Alarm, ...]:
    """One for each car that ``car`` was warned of, in order of the warnings."""
    ids, first = np.unique(risks.id, return_index=True)
    if not len(ids):
        return ()
    times = np.arange(0.0, traffic.duration + STEP, STEP)
    motion = traffic.at(times)
    own = int(np.searchsorted(traffic.ids, car))
    found = []
    for place in np.argsort(first, kind="stable"):
        other = int(np.searchsorted(traffic.ids, ids[place]))
        warned = int(risks.produced[first[place]])
        later = times >= warned / _US_PER_S
        apart = np.hypot(
            motion.x[later, other] - motion.x[later, own],
            motion.y[later, other] - motion.y[later, own],
        )
        there = apart[np.isfinite(apart)]
        ttc = float(risks.ttc[first[place]])
        nearest = float(there.min()) if len(there) else float("inf")
        found.append(Alarm(int(ids[place]), warned, ttc, nearest))
    return tuple(found)


def false_share(found: Sequence[Alarm]) -> float:
    """Of the cars warned of, those that would never have come near."""
    return sum(alarm.false for alarm in found) / len(found) if found else 0.0
