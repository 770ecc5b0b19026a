"""What a replay of a drive shows: one true drive, and what our car knew of it in one or more runs.

Plain values, filled by whoever ran the drive. Times are whole microseconds from the start of the
drive; positions are metres on the map, x to the right (east) and y up (north); speeds are m/s.
Columns are NumPy arrays with one entry per row. :func:`headway.report.replay_page.replay_page`
draws a replay, after :func:`headway.report.replay_check.check_replay` found that its parts fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Microseconds = NDArray[np.int64]
Numbers = NDArray[np.floating[Any]]

SENSORS = ("own", "radar", "v2v", "fused")
"""Who saw an object; :attr:`Estimates.sensor` holds places in this list."""


@dataclass(frozen=True, slots=True)
class Rectangle:
    """A building, from its lower left to its upper right corner (m)."""

    left: float
    bottom: float
    right: float
    top: float


@dataclass(frozen=True, slots=True)
class Street:
    """A straight street by its centre line and width (m)."""

    x1: float
    y1: float
    x2: float
    y2: float
    width: float


@dataclass(frozen=True, slots=True)
class ReplayMap:
    """What stands still. Without streets, the ground between buildings is drawn as it is."""

    buildings: tuple[Rectangle, ...] = ()
    streets: tuple[Street, ...] = ()


@dataclass(frozen=True, slots=True)
class Car:
    """A car that really is there. ``id`` is the one that estimates and warnings use, too."""

    id: int
    v2v: bool = True
    """it tells others where it is"""
    collision_course: bool = False
    """it will hit ours, unless ours stops in time"""


@dataclass(frozen=True, slots=True, eq=False)
class Traffic:
    """Where every car really was: frame ``i`` is at ``i * frame`` µs.

    ``x`` and ``y`` have the shape (frames, cars), cars in the order of ``cars``; NaN while a car is
    not on the map.
    """

    cars: tuple[Car, ...]
    x: Numbers
    y: Numbers
    frame: int = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """What our car knew: a row for each tuple of an output, in order of ``produced``.

    ``produced`` is when the output came out of the engine, ``sensed`` the moment that the position
    is about; their difference is the engine's latency. Variances and covariance of the position are
    in m².
    """

    produced: Microseconds
    sensed: Microseconds
    id: NDArray[np.int64]
    x: Numbers
    y: Numbers
    vx: Numbers
    vy: Numbers
    var_x: Numbers
    var_y: Numbers
    cov_xy: Numbers
    sensor: NDArray[np.integer[Any]]
    """places in :data:`SENSORS`"""


@dataclass(frozen=True, slots=True)
class CollisionWarning:
    """Our car warns at ``produced`` of car ``id``; ``ttc`` is the time to collision (s)."""

    produced: int
    id: int
    ttc: float


@dataclass(frozen=True, slots=True)
class Encounter:
    """How it went with one car on collision course.

    ``impact`` is when the two would meet; ``detected`` when our car first knew of it, if it ever
    did, with ``ttc`` seconds then left; ``crash`` when that was too late.
    """

    id: int
    impact: int
    crash: bool
    detected: int | None = None
    ttc: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class OutputLatency:
    """The latency of one output over the drive: a row for each of its tuples.

    ``latency`` in µs, from sensing to output; ``deadline`` in µs, None when there is none.
    """

    output: str
    deadline: int | None
    produced: Microseconds
    latency: Microseconds


@dataclass(frozen=True, slots=True)
class Fact:
    """A line of a summary: ``Fact('V2V tuples', '500 /s')``. ``bad`` shows it in red."""

    label: str
    value: str
    bad: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ReplayRun:
    """The drive as one engine with one policy saw it. ``name`` is the choice on the page."""

    name: str
    estimates: Estimates
    warnings: tuple[CollisionWarning, ...] = ()
    encounters: tuple[Encounter, ...] = ()
    latencies: tuple[OutputLatency, ...] = ()
    facts: tuple[Fact, ...] = ()
    """policy, rates, miss ratios, crashes"""


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """A drive and its runs."""

    title: str
    own: int
    """id of our car, one of ``traffic.cars``"""
    map: ReplayMap
    traffic: Traffic
    runs: tuple[ReplayRun, ...]
    facts: tuple[Fact, ...] = ()
    """what holds for all runs: seed, number of cars, V2V rate"""
    stopping_time: float = 2.8
    """s; a warning with less left comes too late"""
    forget: int = 1_000_000
    """µs after which an estimate is no longer shown"""


def no_estimates() -> Estimates:
    """Of a run in which nothing was known."""
    times, numbers = np.zeros(0, np.int64), np.zeros(0, np.float64)
    return Estimates(
        times, times, times, numbers, numbers, numbers, numbers, numbers, numbers, numbers, times
    )
