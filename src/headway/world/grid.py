"""The papers' Manhattan grid: every car goes straight on at one speed, so where it is at any moment
is a closed form, and sensing at any phase is exact."""

from __future__ import annotations

import numpy as np

from headway.world.placing import (
    EAST,
    NORTH,
    SOUTH,
    Car,
    Meeting,
    across,
    crossing_point,
    lane_offset,
    place_cars,
)
from headway.world.scenario import Scenario
from headway.world.traffic import Array, Bounds, Collision, Integers, Motion, Truths

OWN = 1
"""the id of our car"""


class GridTraffic:
    """The :class:`~headway.world.traffic.Traffic` of a scenario; the same for the same seed.

    Ids: 1 is our car, then the cars on collision course, those that see them, and all others.
    Streets lie at whole multiples of ``block``; ours is y = 0, our lane its inner one. Cars pass
    through each other where they meet: nobody brakes, as in the papers.
    """

    def __init__(self, scenario: Scenario) -> None:
        scenario.validate()
        self.scenario = scenario
        random = np.random.default_rng(np.random.SeedSequence(scenario.seed))
        meetings = [
            Meeting(crossing, NORTH if random.random() < 0.5 else SOUTH)
            for crossing in scenario.collision_crossings
        ]
        own = Car(scenario.start, lane_offset(scenario, EAST, 0)[1], EAST)
        meeting = [across(scenario, *meeting, 0, 0.0) for meeting in meetings]
        around = place_cars(scenario, meetings, scenario.cars - len(meeting), random)
        cars = [own, *meeting, *around]
        self._x = np.array([car.x for car in cars])
        self._y = np.array([car.y for car in cars])
        self._vx = np.array([car.direction.east * scenario.speed for car in cars])
        self._vy = np.array([car.direction.north * scenario.speed for car in cars])
        self._collisions = tuple(
            sorted(
                (
                    Collision(OWN + 1 + n, *crossing_point(scenario, *meeting, 0))
                    for n, meeting in enumerate(meetings)
                ),
                key=lambda one: one.time,
            )
        )
        self._radio = np.full(len(cars), scenario.v2v)
        self._radio[1 : 1 + len(meeting)] = False

    @property
    def seed(self) -> int:
        return self.scenario.seed

    @property
    def duration(self) -> float:
        return self.scenario.duration

    @property
    def ids(self) -> Integers:
        return np.arange(OWN, OWN + len(self._x), dtype=np.int64)

    @property
    def own(self) -> int:
        return OWN

    @property
    def radio(self) -> Truths:
        return self._radio

    @property
    def collisions(self) -> tuple[Collision, ...]:
        return self._collisions

    @property
    def buildings(self) -> Array:
        """One fills each block; blocks lie between all streets and along the outermost ones."""
        half, block = self.scenario.street_width / 2, self.scenario.block
        columns, rows = _lines(self.scenario)
        west, south = np.meshgrid(
            np.append(columns - block, columns[-1]), np.append(rows - block, rows[-1])
        )
        corners = np.stack([west.ravel(), south.ravel()], axis=1)
        return np.hstack([corners + half, corners + block - half])

    @property
    def streets(self) -> Array:
        columns, rows = _lines(self.scenario)
        bounds = self.bounds
        along = [(bounds.min_x, y, bounds.max_x, y) for y in rows]
        across = [(x, bounds.min_y, x, bounds.max_y) for x in columns]
        return np.array([*along, *across], dtype=np.float64)

    @property
    def crossings(self) -> Array:
        columns, rows = _lines(self.scenario)
        return np.stack([axis.ravel() for axis in np.meshgrid(columns, rows)], axis=1)

    @property
    def street_width(self) -> float:
        return self.scenario.street_width

    @property
    def bounds(self) -> Bounds:
        columns, rows = _lines(self.scenario)
        block = self.scenario.block
        return Bounds(
            float(columns[0] - block),
            float(rows[0] - block),
            float(columns[-1] + block),
            float(rows[-1] + block),
        )

    def at(self, times: Array) -> Motion:
        return self.of(np.arange(len(self._x)), np.asarray(times, dtype=np.float64)[:, None])

    def of(self, columns: Integers, times: Array) -> Motion:
        vx, vy = self._vx[columns], self._vy[columns]
        x, y = self._x[columns] + vx * times, self._y[columns] + vy * times
        return Motion(x, y, np.broadcast_to(vx, x.shape), np.broadcast_to(vy, y.shape))


def _lines(scenario: Scenario) -> tuple[Array, Array]:
    """x of the streets across ours, y of those along it."""
    middle = scenario.rows // 2
    return (
        np.arange(scenario.columns, dtype=np.float64) * scenario.block,
        np.arange(-middle, middle + 1, dtype=np.float64) * scenario.block,
    )
