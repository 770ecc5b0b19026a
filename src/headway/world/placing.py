"""Where the cars of a grid begin.

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

from headway.errors import InputError, Problem
from headway.world.scenario import Scenario

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
class Car:
    """Where a car is at time 0, and where it goes."""

    x: float
    y: float
    direction: Direction


class Place(NamedTuple):
    """A place in a lane where a car may begin.

    ``crossing`` is the one it is within a block of when we are there; ``passed`` says that it then
    has our way behind it, in the inner lane of a street across ours.
    """

    car: Car
    crossing: int | None
    passed: bool = False


class Meeting(NamedTuple):
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


def across(scenario: Scenario, crossing: int, direction: Direction, lane: int, ahead: float) -> Car:
    """A car that is ``ahead`` metres past the point where our ways cross when we are there."""
    time, x, y = crossing_point(scenario, crossing, direction, lane)
    return Car(x, y + direction.north * (ahead - scenario.speed * time), direction)


def place_cars(
    scenario: Scenario, meetings: Sequence[Meeting], count: int, random: np.random.Generator
) -> list[Car]:
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
            Problem(
                f"there is no room for so many cars {where}",
                at="scenario.cars",
                got=f"{count} cars for {len(places)} places, one each {SPACING:g} m of lane",
                want="give fewer cars, more lanes, or another crowd",
            )
        )
    return [places[n] for n in random.choice(len(places), size=count, replace=False)]


def _positions(low: float, high: float, random: np.random.Generator) -> list[float]:
    """Places in one lane from ``low`` to ``high``."""
    middles = np.arange(low + SPACING / 2, high, SPACING)
    shifted: list[float] = (middles + random.uniform(-SHIFT, SHIFT, len(middles))).tolist()
    return shifted


def _across(scenario: Scenario, random: np.random.Generator) -> list[Place]:
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
                        places.append(Place(car, crossing if close else None, passed))
    return places


def _along(scenario: Scenario, random: np.random.Generator) -> list[Place]:
    """In our street: towards us, and with us."""
    way = scenario.speed * scenario.duration
    places = []
    for lane in range(scenario.lanes):
        y = lane_offset(scenario, WEST, lane)[1]
        places += [
            Place(Car(x, y, WEST), _met_at(scenario, x))
            for x in _positions(scenario.start - NEAR, scenario.start + 2 * way + NEAR, random)
        ]
        y = lane_offset(scenario, EAST, lane)[1]
        places += [
            Place(Car(x, y, EAST), None)
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
