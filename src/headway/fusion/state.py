"""What the filter knows at one moment."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

NORMAL_95 = 1.96
"""Half-width, in standard deviations, of the symmetric interval that holds 95 % of a normal law."""


class SpeedScale(NamedTuple):
    """How much a speed sensor exaggerates (0.01: by 1 %), and its covariances with the motion."""

    value: float
    variance: float
    cov_x: float = 0.0
    cov_y: float = 0.0
    cov_vx: float = 0.0
    cov_vy: float = 0.0


class FilterState(NamedTuple):
    """An estimate for one moment: metres, seconds, and the covariances between them."""

    timestamp: int
    """microseconds of sensing time"""
    x: float
    y: float
    vx: float
    vy: float
    var_x: float
    cov_x_y: float
    cov_x_vx: float
    cov_x_vy: float
    var_y: float
    cov_y_vx: float
    cov_y_vy: float
    var_vx: float
    cov_vx_vy: float
    var_vy: float
    heading: float | None = None
    """the direction last measured, radians from the x axis to y; carried along, not filtered"""
    scale: SpeedScale | None = None


class Associated(NamedTuple):
    """What is known of a key after one measurement, with a gate
    (:mod:`headway.fusion.association`)."""

    believed: FilterState
    """the object that the key means"""
    born: int
    """when it was first measured"""
    rival: FilterState | None = None
    """the one that it may mean instead"""
    rival_born: int = 0
    agreed: int = 0
    """at how many moments the rival was measured"""
    outside: bool = False
    """whether the measurement did not go into ``believed``"""

    @property
    def timestamp(self) -> int:
        """Of the newest measurement that the estimate knows."""
        return self.believed.timestamp


TrackState = FilterState | Associated
"""What is known of an object after one measurement, without and with a gate."""


def believed(state: TrackState) -> FilterState:
    """The estimate."""
    return state.believed if isinstance(state, Associated) else state


def start(
    timestamp: int,
    position: tuple[float, float],
    position_variance: tuple[float, float],
    velocity: tuple[float, float],
    velocity_variance: tuple[float, float],
) -> FilterState:
    """The estimate that a first measurement gives; nothing is correlated yet."""
    (var_x, var_y), (var_vx, var_vy) = position_variance, velocity_variance
    return FilterState(
        timestamp, *position, *velocity, var_x, 0.0, 0.0, 0.0, var_y, 0.0, 0.0, var_vx, 0.0, var_vy
    )


def length(x: float, y: float) -> float:
    """Of a vector. Not by ``hypot``, whose last bit is the library's choice: a root of products is
    the same number on every engine and machine."""
    return sqrt(x * x + y * y)


def confidence(state: FilterState) -> float:
    """Half-width (m) of the symmetric 95 % interval of the position along its least certain
    direction.

    1.96 σ with σ² the larger eigenvalue of the position's covariance; in any other direction the
    interval is narrower. It is not the radius of the 95 % ellipse (2.45 σ).
    """
    mean = (state.var_x + state.var_y) / 2.0
    half_difference = (state.var_x - state.var_y) / 2.0
    return NORMAL_95 * sqrt(mean + length(half_difference, state.cov_x_y))
