"""On-board sensors: GPS, speed sensor and radar, once each 100 ms, with noise.

The papers added noise "based on sensor specifications" and name the documents, not the numbers: a
u-blox 6 receiver and an ibeo LUX 2010 scanner. Those documents were not at hand: the figures below
are the ones commonly quoted for these products.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, isfinite, log, radians, sqrt

import numpy as np

from headway.errors import InputError, Problem
from headway.world.drive_scenario import Purpose, generator
from headway.world.grid_traffic import clear_view
from headway.world.traffic import Array, Integers, Motion, Traffic

CYCLE = 0.1
"""seconds (AEDSMS section 6.1)"""
CYCLE_MS = 100
CEP_TO_DEVIATION = 1 / sqrt(2 * log(2))
"""The circle that holds half of a two-dimensional normal law has radius √(2 ln 2) σ."""


@dataclass(frozen=True, slots=True)
class SensorModel:
    """Normal noise, independent from cycle to cycle and axis to axis. Standard deviations."""

    gps: float = 2.5 * CEP_TO_DEVIATION
    """metres, each axis: 2.5 m CEP is quoted for u-blox 6 without corrections"""
    heading: float = radians(0.5)
    """radians: 0.5 degrees is quoted for u-blox 6"""
    speed: float = 0.2
    """m/s; no document is named for the speed sensor: ours, and the fusion operator's default"""
    radar_range: float = 200.0
    """metres (AEDSMS section 6.1)"""
    radar_angle: float = radians(55)
    """radians to each side of straight ahead: 110 degrees is quoted for the scanner"""
    radar_objects: int = 8
    """the nearest so many are reported: what the example's query declares"""
    radar_position: float = 0.5
    """metres, each axis: the scanner is finer (0.1 m), but not always on the same point of a car;
    what the example's query adds for the radar"""
    radar_velocity: float = 0.2
    """m/s, each axis; likewise"""
    gps_delay: float = 0.0015
    speed_delay: float = 0.0005
    radar_delay: float = 0.0018
    """seconds from sensing to arrival, within what the example's query declares"""

    def validate(self) -> None:
        """InputError naming every field that cannot be."""
        problems = [
            Problem("must be a number from 0", at=f"sensors.{name}", got=repr(value))
            for name in SensorModel.__slots__
            if not (isfinite(value := getattr(self, name)) and value >= 0)
        ]
        if problems:
            raise InputError(problems)


@dataclass(frozen=True, slots=True)
class Readings:
    """GPS and speed of all cars in all cycles: arrays of shape (cycles, cars)."""

    x: Array
    y: Array
    heading: Array
    """radians from east towards north"""
    speed: Array


@dataclass(frozen=True, slots=True)
class Sightings:
    """What radars saw: one entry per object, by look and distance."""

    look: Integers
    """which look (car and moment) saw it: index into the looks asked for"""
    column: Integers
    """the car seen: column of the traffic"""
    dx: Array
    dy: Array
    dvx: Array
    dvy: Array


def phases(seed: int, trial: int, cars: int) -> Integers:
    """When in the cycle each car senses: whole milliseconds, as a CAM tells them."""
    return generator(seed, trial, Purpose.PHASE).integers(0, CYCLE_MS, cars)


def read_own(model: SensorModel, motion: Motion, seed: int, trial: int) -> Readings:
    """GPS fix, heading and speed of every car in every cycle; ``motion`` is what is true."""
    shape = motion.x.shape
    gps = generator(seed, trial, Purpose.GPS).standard_normal((2, *shape)) * model.gps
    heading = generator(seed, trial, Purpose.HEADING).standard_normal(shape) * model.heading
    speed = generator(seed, trial, Purpose.SPEED).standard_normal(shape) * model.speed
    return Readings(
        motion.x + gps[0],
        motion.y + gps[1],
        np.arctan2(motion.vy, motion.vx) + heading,
        np.hypot(motion.vx, motion.vy) + speed,
    )


def look(
    model: SensorModel,
    traffic: Traffic,
    columns: Integers,
    times: Array,
    random: np.random.Generator,
) -> Sightings:
    """The radar of each car of ``columns`` looks at the time beside it: ahead, within range, not
    through buildings. Other cars hide nothing."""
    found = [
        _seen(model, traffic, columns[piece], times[piece], piece.start)
        for piece in _pieces(len(columns), len(traffic.ids))
    ]
    looks, seen, relative = (
        (np.concatenate(parts, axis=-1) for parts in zip(*found, strict=True))
        if found
        else (np.empty(0, np.int64), np.empty(0, np.int64), np.empty((4, 0)))
    )
    noise = random.standard_normal(relative.shape)
    noise[:2] *= model.radar_position
    noise[2:] *= model.radar_velocity
    return Sightings(looks, seen, *(relative + noise))


def _pieces(looks: int, cars: int) -> list[slice]:
    """So many looks at once that the tables in between stay small."""
    step = max(1, 1_000_000 // max(cars, 1))
    return [slice(start, min(start + step, looks)) for start in range(0, looks, step)]


def _seen(
    model: SensorModel, traffic: Traffic, columns: Integers, times: Array, first: int
) -> tuple[Integers, Integers, Array]:
    """(look, column, relative motion without noise) of the nearest objects in view."""
    own = traffic.of(columns, times)
    everyone = np.arange(len(traffic.ids))
    others = traffic.of(everyone[None, :], times[:, None])
    dx, dy = others.x - own.x[:, None], others.y - own.y[:, None]
    distance = np.hypot(dx, dy)
    own_speed = np.hypot(own.vx, own.vy)
    with np.errstate(invalid="ignore"):
        ahead = dx * own.vx[:, None] + dy * own.vy[:, None]
        in_view = (distance <= model.radar_range) & (
            ahead >= cos(model.radar_angle) * own_speed[:, None] * distance
        )
    in_view &= everyone[None, :] != columns[:, None]
    looks, seen = np.nonzero(in_view)
    clear = clear_view(
        traffic.buildings, own.x[looks], own.y[looks], others.x[looks, seen], others.y[looks, seen]
    )
    looks, seen = looks[clear], seen[clear]
    order = np.lexsort((seen, distance[looks, seen], looks))
    looks, seen = looks[order], seen[order]
    rank = np.arange(len(looks)) - np.searchsorted(looks, looks)
    nearest = rank < model.radar_objects
    looks, seen = looks[nearest], seen[nearest]
    relative = np.stack(
        [
            dx[looks, seen],
            dy[looks, seen],
            others.vx[looks, seen] - own.vx[looks],
            others.vy[looks, seen] - own.vy[looks],
        ]
    )
    return looks + first, seen, relative
