"""What a replay of a drive shows: one true drive, and what our car knew of it in one or more runs.

Plain values, filled by whoever ran the drive. Times are whole microseconds from the start of the
drive; positions are metres on the map, x to the right (east) and y up (north); speeds are m/s.
Columns are NumPy arrays with one entry per row. :func:`check_replay` says whether the parts fit
together, before :func:`headway.report.replay.replay_page.replay_page` draws them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.errors import DataError, Problem

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
class ReplayCar:
    """A car that really is there. ``id`` is the one that estimates and warnings use, too."""

    id: int
    v2v: bool = True
    """it tells others where it is"""
    collision_course: bool = False
    """it will hit ours, unless ours stops in time"""


@dataclass(frozen=True, slots=True, eq=False)
class ReplayTraffic:
    """Where every car really was: frame ``i`` is at ``i * frame`` µs.

    ``x`` and ``y`` have the shape (frames, cars), cars in the order of ``cars``; NaN while a car is
    not on the map.
    """

    cars: tuple[ReplayCar, ...]
    x: Numbers
    y: Numbers
    frame: int = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class ReplayEstimates:
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
class BrakedWay:
    """Where our car would be had it braked: its way from ``begin`` (µs) on, straight ahead."""

    begin: int
    speed: float
    """m/s at the begin"""
    reaction: float
    """s until it slows down"""
    deceleration: float
    """m/s²"""


@dataclass(frozen=True, slots=True)
class Encounter:
    """How it went with one car on collision course.

    ``impact`` is when the two would meet; ``detected`` when our car first knew of it, if it ever
    did, with ``ttc`` seconds then left; ``crash`` when that was too late. Where our car acts,
    ``crash`` says whether they touch: then at ``impact``, with ``hit`` m/s left of our speed, and
    ``braked`` is its way, if it was warned.
    """

    id: int
    impact: int
    crash: bool
    detected: int | None = None
    ttc: float | None = None
    braked: BrakedWay | None = None
    hit: float | None = None


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
    estimates: ReplayEstimates
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
    traffic: ReplayTraffic
    runs: tuple[ReplayRun, ...]
    facts: tuple[Fact, ...] = ()
    """what holds for all runs: seed, number of cars, V2V rate"""
    stopping_time: float = 2.8
    """s; a warning with less left comes too late"""
    brakes: bool = False
    """our car acts: crashes are what geometry decides"""
    forget: int = 1_000_000
    """µs after which an estimate is no longer shown"""


# ---------------------------------------------------------------- whether the parts fit together


def check_replay(replay: Replay) -> None:
    """DataError with everything that is wrong."""
    problems = [*_of_traffic(replay), *_of_runs(replay)]
    if problems:
        raise DataError(problems)


def _of_traffic(replay: Replay) -> Iterator[Problem]:
    traffic = replay.traffic
    ids = [car.id for car in traffic.cars]
    yield from _twice("traffic.cars", ids)
    if replay.own not in ids:
        yield Problem("our car is not among the cars", at="own", got=str(replay.own))
    if traffic.frame <= 0:
        yield Problem("frames need time between them", at="traffic.frame", got=str(traffic.frame))
    for name, values in (("x", traffic.x), ("y", traffic.y)):
        if values.ndim != 2 or values.shape[1] != len(ids) or not len(values):
            want = f"give (frames, {len(ids)}), at least one frame"
            got = f"shape {values.shape}"
            yield Problem("not one column for each car", at=f"traffic.{name}", got=got, want=want)
            return
    if traffic.x.shape != traffic.y.shape:
        got = f"{traffic.x.shape} and {traffic.y.shape}"
        yield Problem("x and y are not of one length", at="traffic", got=got)
    elif np.isinf(traffic.x).any() or np.isinf(traffic.y).any():
        yield Problem("a car is infinitely far away", at="traffic", want="use NaN for 'not there'")
    elif not (np.isfinite(traffic.x) & np.isfinite(traffic.y)).any():
        yield Problem("no car is ever on the map", at="traffic")


def _of_runs(replay: Replay) -> Iterator[Problem]:
    if not replay.runs:
        yield Problem("there is no run", at="runs", want="give at least one")
    yield from _twice("runs", [run.name for run in replay.runs])
    for run in replay.runs:
        for problem in _of_run(run):
            yield problem.within(f"runs.{run.name}")


def _of_run(run: ReplayRun) -> Iterator[Problem]:
    yield from _of_estimates(run.estimates)
    yield from _twice("latencies", [latency.output for latency in run.latencies])
    for latency in run.latencies:
        yield from _of_latency(latency)
    times = [warning.produced for warning in run.warnings]
    if times != sorted(times):
        yield Problem("are not in order of time", at="warnings", want="sort them by 'produced'")


def _of_estimates(estimates: ReplayEstimates) -> Iterator[Problem]:
    lengths = {field.name: len(getattr(estimates, field.name)) for field in fields(ReplayEstimates)}
    if len(set(lengths.values())) > 1:
        got = ", ".join(f"{name} {length}" for name, length in lengths.items())
        yield Problem("columns are not of one length", at="estimates", got=got)
        return
    if (np.diff(estimates.produced) < 0).any():
        want = "sort them by 'produced', stably"
        yield Problem("are not in order of time", at="estimates", want=want)
    if (estimates.sensed > estimates.produced).any():
        first = int(np.flatnonzero(estimates.sensed > estimates.produced)[0])
        got = f"row {first}: {estimates.sensed[first]} after {estimates.produced[first]} µs"
        yield Problem("an output came before it was sensed", at="estimates", got=got)
    for name in ("x", "y", "vx", "vy", "var_x", "var_y", "cov_xy"):
        if not np.isfinite(getattr(estimates, name)).all():
            yield Problem("a value is not a finite number", at=f"estimates.{name}")
    if (estimates.var_x < 0).any() or (estimates.var_y < 0).any():
        yield Problem("a variance is negative", at="estimates")
    if lengths["sensor"] and not 0 <= estimates.sensor.min() <= estimates.sensor.max() < len(
        SENSORS
    ):
        want = f"give places in {', '.join(SENSORS)}"
        yield Problem("a sensor is unknown", at="estimates.sensor", want=want)


def _of_latency(latency: OutputLatency) -> Iterator[Problem]:
    at = f"latencies.{latency.output}"
    if len(latency.produced) != len(latency.latency):
        got = f"{len(latency.produced)} times and {len(latency.latency)} latencies"
        yield Problem("columns are not of one length", at=at, got=got)
    elif (latency.latency < 0).any():
        yield Problem("a latency is negative", at=at, got=f"{latency.latency.min()} µs")


def _twice(at: str, names: Iterable[object]) -> Iterator[Problem]:
    for name, count in Counter(names).items():
        if count > 1:
            yield Problem("stands there more than once", at=at, got=f"{name} {count} times")
