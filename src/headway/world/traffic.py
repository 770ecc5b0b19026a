"""Where every car is at every moment: the interface of all traffic, simulated here or by SUMO."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Truths = NDArray[np.bool_]


def seconds(microseconds: Integers) -> Array:
    """Whole microseconds as seconds."""
    return microseconds.astype(np.float64) * 1e-6


class Motion(NamedTuple):
    """Positions (m, x east and y north) and velocities (m/s); NaN where a car is not there."""

    x: Array
    y: Array
    vx: Array
    vy: Array


class Collision(NamedTuple):
    """A car that hits ours if neither brakes: who, when (seconds) and where."""

    id: int
    time: float
    x: float
    y: float


class Bounds(NamedTuple):
    """A rectangle that holds the streets."""

    min_x: float
    min_y: float
    max_x: float
    max_y: float


class Traffic(Protocol):
    """All cars of a drive and what stands around them. Times are seconds from its begin.

    Cars are numbered by their ``ids``, from 1, increasing; column n of every array is the car
    ``ids[n]``. No car has the id 0: in a recording that is the car that records.
    """

    @property
    def seed(self) -> int:
        """Of the traffic; what is drawn for sensors and radio is drawn from it too."""

    @property
    def duration(self) -> float: ...

    @property
    def ids(self) -> Integers:
        """Shape (n,)."""

    @property
    def own(self) -> int:
        """The id of our car."""

    @property
    def radio(self) -> Truths:
        """Which cars have V2V, shape (n,)."""

    @property
    def collisions(self) -> tuple[Collision, ...]:
        """The cars on collision course with ours, by time."""

    @property
    def buildings(self) -> Array:
        """Rectangles: min x, min y, max x, max y, shape (b, 4)."""

    @property
    def streets(self) -> Array:
        """Centre lines: x and y of one end and of the other, shape (s, 4)."""

    @property
    def crossings(self) -> Array:
        """Middles of the crossings, x and y, shape (c, 2): where radio bends around a corner."""

    @property
    def street_width(self) -> float:
        """Metres from building to building."""

    @property
    def bounds(self) -> Bounds: ...

    def at(self, times: Array) -> Motion:
        """Every car at each time: arrays of shape (len(times), n)."""

    def of(self, columns: Integers, times: Array) -> Motion:
        """The car of each column at the time that stands beside it, broadcast against each other;
        arrays of the common shape."""
