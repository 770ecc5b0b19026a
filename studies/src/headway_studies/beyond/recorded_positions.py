"""Position error on a recorded drive, without and with type 1 fusion, in order and not.

GNSS and CAN speed against the reference trajectory. The operator has its default parameters;
nothing is fitted to the drive. Unless a line says otherwise an error is that of what is known at
the moment of a reference point, by tuples that have arrived. Disorder delays every tuple's arrival
by 0 to 100 ms, evenly.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from headway.errors import DataError
from headway.fusion.operator import SINGLE_OBJECT
from headway.fusion.own_vehicle import OwnVehicleFusion
from headway.fusion.state import NORMAL_95, FilterState
from headway.model.operators import Parameter
from headway.model.quantities import MILLISECOND, SECOND
from headway.model.schema import schema
from headway.model.user_operator import OperatorContext, Row
from headway_studies.beyond.comma2k19 import Gnss, Segment, Times
from headway_studies.beyond.geodesy import Array

TIMEOUT = 10_000
"""of the operator (microseconds)"""
INPUTS = {
    "gps": schema(x="double [m]", y="double [m]", bearing="double [deg]"),
    "speed": schema(v="double [m/s]"),
}
OUTPUT = schema(at="timestamp", x="double [m]", y="double [m]", conf="double [m]")

Arrival = tuple[int, str, Row]


def thinned(segment: Segment, every: int) -> Segment:
    """The same drive with only every n-th fix."""
    gnss = segment.gnss
    return replace(
        segment,
        gnss=Gnss(
            times=gnss.times[::every],
            position=gnss.position[::every],
            speed=gnss.speed[::every],
            bearing=gnss.bearing[::every],
        ),
    )


def operator(front: int = SECOND, rear: int = SECOND, **parameters: Parameter) -> OwnVehicleFusion:
    fusion = OwnVehicleFusion()
    windows = {"front": front, "rear": rear, "object_key": None, "sensor_key": None}
    fusion.open(
        OperatorContext(
            name="own", inputs=INPUTS, output=OUTPUT, windows=windows, parameters=parameters
        )
    )
    return fusion


def arrivals(segment: Segment, disorder: int, seed: int) -> list[Arrival]:
    """All tuples by arrival: its time, the port, the row."""
    gnss, speed = segment.gnss, segment.speed
    rows: list[tuple[str, Row]] = [
        ("gps", (time, x, y, bearing))
        for time, (x, y), bearing in zip(
            gnss.times.tolist(), gnss.position.tolist(), gnss.bearing.tolist(), strict=True
        )
    ]
    rows += [
        ("speed", (time, v))
        for time, v in zip(speed.times.tolist(), speed.speed.tolist(), strict=True)
    ]
    delays = random.Random(seed)
    return sorted((row[0] + delays.randint(0, disorder), port, row) for port, row in rows)


def executions(tuples: list[Arrival]) -> Iterator[tuple[int, dict[str, list[Row]]]]:
    """Runs when both inputs have a tuple, at the latest 10 ms after the first."""
    waiting: dict[str, list[Row]] = {}
    ends = 0
    for arrived_at, port, row in tuples:
        if waiting and arrived_at > ends:
            yield ends, waiting
            waiting = {}
        if not waiting:
            ends = arrived_at + TIMEOUT
        waiting.setdefault(port, []).append(row)
        if len(waiting) == len(INPUTS):
            yield arrived_at, waiting
            waiting = {}
    if waiting:
        yield ends, waiting


def fused(
    segment: Segment, tuples: list[Arrival], fusion: OwnVehicleFusion, patience: int = 0
) -> list[FilterState | None]:
    """The estimate for every reference point, asked ``patience`` after its moment."""
    runs = [*executions(tuples), (2**62, {})]
    found: list[FilterState | None] = []
    place = 0
    for moment in segment.reference.times.tolist():
        while runs[place][0] <= moment + patience:
            fusion.process(runs[place][1], runs[place][0] * 1000)
            place += 1
        found.append(fusion.estimate(SINGLE_OBJECT, moment))
    return found


SCATTER_VARIANCE = 0.0625
"""m²: the fixes of this drive scatter by 0.24 m; seen on it, so lines with it are fitted"""
SHARED_VARIANCE = 4.5
"""m²: 2.5 m CEP, quoted for the receiver, as a variance of each axis. All fixes share it."""


def inside(segment: Segment, states: list[FilterState | None], shared: float) -> float:
    """The share of 95 % intervals, two at each reference point, that hold the reference; ``shared``
    is what the operator adds to the variances that go out."""
    points = counted(segment)
    held = [
        abs(place - true) <= NORMAL_95 * sqrt(variance + shared)
        for state, truth in zip(states[points], segment.reference.position[points], strict=True)
        if state is not None
        for place, true, variance in zip(
            (state.x, state.y), truth.tolist(), (state.var_x, state.var_y), strict=False
        )
    ]
    return float(np.mean(held))


WARM_UP = 2_000_000
"""Microseconds at the start that no line of the table counts."""
DISORDER = 100_000
PATIENCE = 200_000
"""How much later the corrected estimates are asked for (microseconds)."""
OWN_TIMES, HELD, CARRIED, FUSED, TRUSTED = (
    "GNSS, at its own times",
    "GNSS, last fix held",
    "GNSS, last two fixes carried on",
    "fusion, in order",
    "fusion, in order, fixes trusted to 0.25 m",
)


@dataclass(frozen=True)
class Errors:
    """Errors of position (m), along and left of the true motion."""

    name: str
    along: Array
    left: Array

    @property
    def distances(self) -> Array:
        return np.hypot(self.along, self.left)

    @property
    def mean(self) -> float:
        return float(self.distances.mean())

    @property
    def rms(self) -> float:
        return float(np.sqrt((self.distances**2).mean()))

    @property
    def percentile95(self) -> float:
        return float(np.percentile(self.distances, 95))

    def less(self, offset: Errors) -> Errors:
        """These errors without the mean of others."""
        along, left = offset.along.mean(), offset.left.mean()
        return Errors(self.name, self.along - along, self.left - left)


def errors_of(segment: Segment, name: str, times: Times, position: Array) -> Errors:
    """What the positions lie off the reference."""
    reference = segment.reference
    off = position - reference.position_at(times)
    course = np.stack([np.interp(times, reference.times, v) for v in reference.velocity.T])
    east, north = course / np.hypot(*course)
    return Errors(name, off[:, 0] * east + off[:, 1] * north, off[:, 1] * east - off[:, 0] * north)


def counted(segment: Segment) -> slice:
    """The reference points after the warm-up and while there are fixes."""
    times = segment.reference.times
    start = max(times[0], segment.gnss.times[0]) + WARM_UP
    return slice(
        int(np.searchsorted(times, start)), int(np.searchsorted(times, segment.gnss.times[-1]))
    )


def without_fusion(segment: Segment) -> list[Errors]:
    gnss = segment.gnss
    own = gnss.times >= gnss.times[0] + WARM_UP
    times = segment.reference.times[counted(segment)]
    last = np.searchsorted(gnss.times, times, side="right") - 1
    held = gnss.position[last]
    share = (times - gnss.times[last]) / (gnss.times[last] - gnss.times[last - 1])
    carried = held + share[:, None] * (held - gnss.position[last - 1])
    return [
        errors_of(segment, OWN_TIMES, gnss.times[own], gnss.position[own]),
        errors_of(segment, HELD, times, held),
        errors_of(segment, CARRIED, times, carried),
    ]


def with_fusion(segment: Segment, name: str, states: list[FilterState | None]) -> Errors:
    points = counted(segment)
    kept = [state for state in states[points] if state is not None]
    if len(kept) != len(states[points]):
        raise DataError(
            f"{name}: {len(states[points]) - len(kept)} points of the reference trajectory "
            "have no estimate",
            want="take a drive whose GNSS has no gaps of a second",
        )
    position = np.array([(state.x, state.y) for state in kept])
    return errors_of(segment, name, segment.reference.times[points], position)


def error_lines(segment: Segment, seed: int) -> list[Errors]:
    """Every line of the table; ``seed`` is that of the disorder."""
    in_order, late = arrivals(segment, 0, seed), arrivals(segment, DISORDER, seed)
    exact = operator(scale_variance=1e-12)
    small = operator(front=1 * MILLISECOND)
    trusted = operator(position_variance=SCATTER_VARIANCE)
    runs = (
        (FUSED, in_order, operator(), 0),
        ("fusion, in order, speed scale taken as exact", in_order, exact, 0),
        (TRUSTED, in_order, trusted, 0),
        ("fusion, disorder", late, operator(), 0),
        ("fusion, disorder, late ones refused", late, small, 0),
        ("fusion, in order, asked 200 ms later", in_order, operator(), PATIENCE),
        ("fusion, disorder, asked 200 ms later", late, operator(), PATIENCE),
    )
    return [
        *without_fusion(segment),
        *(
            with_fusion(segment, name, fused(segment, tuples, fusion, patience))
            for name, tuples, fusion, patience in runs
        ),
    ]
