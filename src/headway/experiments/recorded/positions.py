"""Position error on a recorded drive, without and with type 1 fusion, in order and not.

GNSS and CAN speed against the reference trajectory. The operator has its default parameters;
nothing is fitted to the drive. Unless a line says otherwise an error is that of what is known at
the moment of a reference point, by tuples that have arrived. Disorder delays every tuple's arrival
by 0 to 100 ms, evenly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headway.errors import DataError, Problem
from headway.experiments.recorded.fusion import arrivals, fused, operator
from headway.fusion.state import FilterState
from headway.model.quantities import MILLISECOND
from headway.sources.comma2k19 import Segment, Times
from headway.sources.geodesy import Array

WARM_UP = 2_000_000
"""Microseconds at the start that no line of the table counts."""
DISORDER = 100_000
PATIENCE = 200_000
"""How much later the corrected estimates are asked for (microseconds)."""
OWN_TIMES, HELD, CARRIED, FUSED = (
    "GNSS, at its own times",
    "GNSS, last fix held",
    "GNSS, last two fixes carried on",
    "fusion, in order",
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
            Problem(
                f"{name}: {len(states[points]) - len(kept)} points of the reference trajectory "
                "have no estimate",
                want="take a drive whose GNSS has no gaps of a second",
            )
        )
    position = np.array([(state.x, state.y) for state in kept])
    return errors_of(segment, name, segment.reference.times[points], position)


def error_lines(segment: Segment, seed: int) -> list[Errors]:
    """Every line of the table; ``seed`` is that of the disorder."""
    in_order, late = arrivals(segment, 0, seed), arrivals(segment, DISORDER, seed)
    exact = operator(scale_variance=1e-12)
    small = operator(front=1 * MILLISECOND)
    runs = (
        (FUSED, in_order, operator(), 0),
        ("fusion, in order, speed scale taken as exact", in_order, exact, 0),
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
