"""The papers' Manhattan grid: where cars begin, who sees whom, where each is at any moment.

Every car goes straight on at one speed, so where it is at any moment is a closed form, and sensing
at any phase is exact.

The papers show the initial positions in a figure that the text does not hold. Here every metre of
lane that comes within :data:`NEAR` of our car while it passes is as likely as any other to hold a
car, with two exceptions. A share are crowds: within :data:`BLOCK_NEAR` of a crowded crossing when
we are in its middle. And for each car on collision course there is one that sees it and has a
radio, the vehicle E of the papers' figure 1: in the same street, going the other way, it has passed
our way by no more than a block when we come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headway.errors import InputError
from headway.world.drive_scenario import Scenario
from headway.world.traffic import Array, Bounds, Collision, Integers, Motion, Truths

# ---------------------------------------------------------------- who sees whom between buildings


def clear_view(buildings: Array, x0: Array, y0: Array, x1: Array, y1: Array) -> Truths:
    """Whether the straight line from (x0, y0) to (x1, y1) passes through the inside of no building.

    ``buildings`` are rectangles (min x, min y, max x, max y). Touching a wall or a corner does not
    block. The line is clipped against each rectangle (Liang and Barsky, 1984): the parts of it
    between the two x walls and between the two y walls must overlap for it to be inside.
    """
    clear = np.ones(x0.shape, dtype=np.bool_)
    left, right = np.minimum(x0, x1), np.maximum(x0, x1)
    bottom, top = np.minimum(y0, y1), np.maximum(y0, y1)
    for min_x, min_y, max_x, max_y in buildings:
        near = (right > min_x) & (left < max_x) & (top > min_y) & (bottom < max_y) & clear
        places = np.flatnonzero(near)
        if places.size:
            enter_x, leave_x = _between(x0[places], x1[places], min_x, max_x)
            enter_y, leave_y = _between(y0[places], y1[places], min_y, max_y)
            enter = np.maximum(np.maximum(enter_x, enter_y), 0.0)
            leave = np.minimum(np.minimum(leave_x, leave_y), 1.0)
            clear[places[enter < leave]] = False
    return clear


def _between(start: Array, end: Array, low: float, high: float) -> tuple[Array, Array]:
    """The share of the way at which a coordinate comes between two walls and leaves them."""
    way = end - start
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = (low - start) / way, (high - start) / way
    # A line along the walls is between them all the way: the caller has looked that it is.
    along = way == 0
    return (
        np.where(along, -np.inf, np.minimum(first, second)),
        np.where(along, np.inf, np.maximum(first, second)),
    )


# ---------------------------------------------------------------- where the cars begin


NEAR = 200.0
"""metres, the reach of radar and radio (AEDSMS section 6.1)"""
BLOCK_NEAR = 100.0
"""metres, one block"""
SPACING = 10.0
"""metres between places for a car in a lane ..."""
SHIFT = 2.0
"""... from which it stands off by up to this, either way"""
CLEARANCE = 15.0
"""metres that a car not on collision course keeps from ours where their ways cross"""


class Direction(NamedTuple):
    """A way to go, as a unit vector."""

    east: int
    north: int


EAST, NORTH, WEST, SOUTH = Direction(1, 0), Direction(0, 1), Direction(-1, 0), Direction(0, -1)


@dataclass(frozen=True, slots=True)
class GridCar:
    """Where a car is at time 0, and where it goes."""

    x: float
    y: float
    direction: Direction


class GridPlace(NamedTuple):
    """A place in a lane where a car may begin.

    ``crossing`` is the one it is within a block of when we are there; ``passed`` says that it then
    has our way behind it, in the inner lane of a street across ours.
    """

    car: GridCar
    crossing: int | None
    passed: bool = False


class GridMeeting(NamedTuple):
    """A car on collision course: where, and which way it goes."""

    crossing: int
    direction: Direction


def lane_offset(scenario: Scenario, direction: Direction, lane: int) -> tuple[float, float]:
    """From a street's centre line to the middle of a lane (0: the inner one), on the left."""
    off = (lane + 0.5) * scenario.lane_width
    return -direction.north * off, direction.east * off


def crossing_point(
    scenario: Scenario, crossing: int, direction: Direction, lane: int
) -> tuple[float, float, float]:
    """When our car crosses a lane of a street across ours, and where: time, x, y."""
    x = crossing * scenario.block + lane_offset(scenario, direction, lane)[0]
    return (x - scenario.start) / scenario.speed, x, lane_offset(scenario, EAST, 0)[1]


def across(
    scenario: Scenario, crossing: int, direction: Direction, lane: int, ahead: float
) -> GridCar:
    """A car that is ``ahead`` metres past the point where our ways cross when we are there."""
    time, x, y = crossing_point(scenario, crossing, direction, lane)
    return GridCar(x, y + direction.north * (ahead - scenario.speed * time), direction)


def place_cars(
    scenario: Scenario, meetings: Sequence[GridMeeting], count: int, random: np.random.Generator
) -> list[GridCar]:
    """``count`` cars, none on collision course with ours, no two in one place; first those that
    see the cars of ``meetings``."""
    places = _across(scenario, random) + _along(scenario, random)
    chosen: list[int] = []
    for crossing, direction in meetings if scenario.witnesses else ():
        facing = [
            n
            for n, place in enumerate(places)
            if place.crossing == crossing and place.passed and place.car.direction != direction
        ]
        chosen += _choose(facing, 1, random, f"to see who comes at crossing {crossing}")
    crowded = round((count - len(chosen)) * scenario.crowd)
    for number, crossing in enumerate(scenario.crowded_crossings):
        share = _share(crowded, number, len(scenario.crowded_crossings))
        near = [n for n, place in enumerate(places) if place.crossing == crossing]
        chosen += _choose(_without(near, chosen), share, random, f"near crossing {crossing}")
    rest = _without(list(range(len(places))), chosen)
    chosen += _choose(rest, count - len(chosen), random, "on our way")
    return [places[n].car for n in chosen]


def _without(places: list[int], chosen: list[int]) -> list[int]:
    taken = set(chosen)
    return [place for place in places if place not in taken]


def _share(total: int, number: int, parts: int) -> int:
    return total * (number + 1) // parts - total * number // parts


def _choose(places: list[int], count: int, random: np.random.Generator, where: str) -> list[int]:
    if count > len(places):
        raise InputError(
            f"there is no room for so many cars {where}",
            at="scenario.cars",
            got=f"{count} cars for {len(places)} places, one each {SPACING:g} m of lane",
            want="give fewer cars, more lanes, or another crowd",
        )
    return [places[n] for n in random.choice(len(places), size=count, replace=False)]


def _positions(low: float, high: float, random: np.random.Generator) -> list[float]:
    """Places in one lane from ``low`` to ``high``."""
    middles = np.arange(low + SPACING / 2, high, SPACING)
    shifted: list[float] = (middles + random.uniform(-SHIFT, SHIFT, len(middles))).tolist()
    return shifted


def _across(scenario: Scenario, random: np.random.Generator) -> list[GridPlace]:
    """In the streets across ours: near the crossing when we are there."""
    places = []
    for crossing in range(scenario.columns):
        for direction in (NORTH, SOUTH):
            for lane in range(scenario.lanes):
                for ahead in _positions(-NEAR, NEAR, random):
                    if abs(ahead) >= CLEARANCE:
                        close = abs(ahead) <= BLOCK_NEAR
                        car = across(scenario, crossing, direction, lane, ahead)
                        passed = close and ahead > 0 and lane == 0
                        places.append(GridPlace(car, crossing if close else None, passed))
    return places


def _along(scenario: Scenario, random: np.random.Generator) -> list[GridPlace]:
    """In our street: towards us, and with us."""
    way = scenario.speed * scenario.duration
    places = []
    for lane in range(scenario.lanes):
        y = lane_offset(scenario, WEST, lane)[1]
        places += [
            GridPlace(GridCar(x, y, WEST), _met_at(scenario, x))
            for x in _positions(scenario.start - NEAR, scenario.start + 2 * way + NEAR, random)
        ]
        y = lane_offset(scenario, EAST, lane)[1]
        places += [
            GridPlace(GridCar(x, y, EAST), None)
            for x in _positions(scenario.start - NEAR, scenario.start + NEAR, random)
            if abs(x - scenario.start) >= CLEARANCE
        ]
    return places


def _met_at(scenario: Scenario, x: float) -> int | None:
    """The crowded crossing a car coming towards us is near to when we are in its middle."""
    for crossing in scenario.crowded_crossings:
        then = x - scenario.speed * scenario.arrival(crossing)
        if abs(then - crossing * scenario.block) <= BLOCK_NEAR:
            return crossing
    return None


# ---------------------------------------------------------------- the traffic


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
            GridMeeting(crossing, NORTH if random.random() < 0.5 else SOUTH)
            for crossing in scenario.collision_crossings
        ]
        own = GridCar(scenario.start, lane_offset(scenario, EAST, 0)[1], EAST)
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
