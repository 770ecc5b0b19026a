"""A car that acts: the first warning of a car on collision course brakes, and geometry decides.

The papers call a first detection with less than 2.8 s left a crash, "assuming that the car begins
to stop after detecting" (AEDSMS section 6.4). Here it does so. It drives on for the driver's
reaction time, then slows down evenly to a standstill; the other car drives on as it would have. It
is a crash if the outlines of the two cars ever overlap, with whatever speed is left.

The papers print that stopping takes 2.8 s from 60 km/h on a dry road, and not how it is divided.
Assumed: 0.75 s of reaction, so a deceleration of 8.1 m/s², about what dry asphalt gives; cars of
4.5 m by 1.8 m.

Each car on collision course is tried by itself: our car has driven undisturbed until the warning of
that one, as in the papers, whose six cars come to their crossings when a car does that never braked
before. What our car senses while it brakes does not matter, for it brakes until it stands. So the
outcome follows exactly from the drive that was run, and no second run is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import hypot, inf, isfinite

import numpy as np

from headway.drive.encounters import STOPPING_TIME, Meeting
from headway.errors import InputError
from headway.model.quantities import MICROSECOND, SECOND
from headway.world.drive_scenario import KMH
from headway.world.traffic import Array, Motion, Traffic, Truths

FROM_SPEED = 60 * KMH
"""m/s, from which a car stops in 2.8 s"""
REACTION = 0.75
"""seconds"""
LENGTH, WIDTH = 4.5, 1.8
"""metres, of every car"""
BEFORE, WATCHED = 1.0, 10.0
"""seconds before the impact (the outlines touch before the middles meet) and after it"""
STEP = 0.005
"""seconds; at 60 km/h 8 cm"""
_US_PER_S = SECOND // MICROSECOND


@dataclass(frozen=True, slots=True)
class Braking:
    """Checked when made. Seconds and m/s²."""

    reaction: float
    deceleration: float

    def __post_init__(self) -> None:
        if not (isfinite(self.reaction) and self.reaction >= 0):
            raise InputError("a reaction takes a number of seconds from 0", got=repr(self.reaction))
        if not (isfinite(self.deceleration) and self.deceleration > 0):
            raise InputError(
                "a car that brakes slows down",
                got=f"{self.deceleration!r} m/s²",
                want=f"a reaction shorter than the {STOPPING_TIME} s in which it stops",
            )

    @classmethod
    def within(cls, reaction: float = REACTION, stopping: float = STOPPING_TIME) -> Braking:
        """Stands ``stopping`` seconds after a warning at 60 km/h: the papers' 2.8 s as a time."""
        left = stopping - reaction
        return cls(reaction, FROM_SPEED / left if left > 0 else -inf)

    @classmethod
    def over(cls, reaction: float = REACTION, stopping: float = STOPPING_TIME) -> Braking:
        """Stands after the way that a car at 60 km/h drives in ``stopping`` seconds: the papers'
        2.8 s as a way, 47 m."""
        left = FROM_SPEED * (stopping - reaction)
        return cls(reaction, FROM_SPEED**2 / (2 * left) if left > 0 else -inf)

    def speed(self, start: float, after: Array) -> Array:
        """m/s, so many seconds after a warning at ``start`` m/s."""
        found: Array = np.maximum(
            start - self.deceleration * np.maximum(after - self.reaction, 0), 0
        )
        return found

    def driven(self, start: float, after: Array) -> Array:
        """Metres since the warning."""
        braked = np.clip(after - self.reaction, 0, start / self.deceleration)
        found: Array = (
            start * (np.minimum(after, self.reaction) + braked) - self.deceleration / 2 * braked**2
        )
        return found

    def stands(self, start: float) -> float:
        """Seconds from a warning to standing still."""
        return self.reaction + start / self.deceleration


@dataclass(frozen=True, slots=True)
class Stop:
    """How it went with one car on collision course when our car acts; times in microseconds."""

    meeting: Meeting
    hit: int | None
    """when the outlines first touch; None if they never do"""
    speed: float
    """m/s of our car then; 0 where they never touch"""
    nearest: float
    """metres between the middles of the two cars at the nearest"""

    @property
    def crash(self) -> bool:
        return self.hit is not None


def stops(traffic: Traffic, car: int, met: Sequence[Meeting], braking: Braking) -> Iterator[Stop]:
    """One for each meeting: ``car`` brakes when it is warned, or never where it is not."""
    own, others = (
        np.searchsorted(traffic.ids, np.array(ids))
        for ids in ([car], [meeting.car for meeting in met])
    )
    for meeting, other in zip(met, others, strict=True):
        impact = meeting.impact / _US_PER_S
        warned = None if meeting.detected is None else meeting.detected / _US_PER_S
        times = np.arange(impact - BEFORE if warned is None else warned, impact + WATCHED, STEP)
        ours, theirs = traffic.of(own, times), traffic.of(np.array([other]), times)
        speed = np.hypot(ours.vx, ours.vy)
        if warned is not None:
            ours, speed = _braked(ours, times - warned, braking)
        touching = np.flatnonzero(overlap(ours, theirs))
        apart = np.hypot(theirs.x - ours.x, theirs.y - ours.y)
        yield Stop(
            meeting,
            hit=round(float(times[touching[0]]) * _US_PER_S) if len(touching) else None,
            speed=float(speed[touching[0]]) if len(touching) else 0.0,
            nearest=float(apart.min()),
        )


def _braked(undisturbed: Motion, after: Array, braking: Braking) -> tuple[Motion, Array]:
    """Our car's way so many seconds after a warning, straight on; it looks where it looked. And
    its speed."""
    vx, vy = (float(axis[0]) for axis in (undisturbed.vx, undisturbed.vy))
    start = hypot(vx, vy)
    way = braking.driven(start, after)
    return (
        Motion(
            undisturbed.x[0] + vx / start * way,
            undisturbed.y[0] + vy / start * way,
            np.full(way.shape, vx),
            np.full(way.shape, vy),
        ),
        braking.speed(start, after),
    )


def overlap(one: Motion, other: Motion) -> Truths:
    """Whether the outlines of two cars overlap, moment by moment; they look where they go.

    Two rectangles are apart if and only if their shadows on the axis of one of their sides are
    (separating axes): the distance of the middles along it is more than half of both shadows.
    """
    dx, dy = other.x - one.x, other.y - one.y
    apart = np.zeros(dx.shape, dtype=np.bool_)
    directions = [np.arctan2(car.vy, car.vx) for car in (one, other)]
    for direction in directions:
        for axis in (direction, direction + np.pi / 2):
            between = np.abs(dx * np.cos(axis) + dy * np.sin(axis))
            shadows = sum(
                LENGTH / 2 * np.abs(np.cos(axis - heading))
                + WIDTH / 2 * np.abs(np.sin(axis - heading))
                for heading in directions
            )
            apart |= between > shadows
    touching: Truths = ~apart
    return touching
