"""A Kalman filter for motion in the plane at nearly constant velocity.

State vector (x, y, vx, vy), covariance matrix P, acceleration as continuous white noise:

    predict    x ← F x,  P ← F P Fᵀ + Q     F: position += dt · velocity, each axis
               Q per axis = σ² · [[dt³/3, dt²/2], [dt²/2, dt]]
    correct    S = H P Hᵀ + R,  K = P Hᵀ / S,  x ← x + K · residual,  P ← P − K (P Hᵀ)ᵀ

This Q makes one prediction over dt equal to two over parts of it, so an estimate does not depend on
how often one predicts. Measurements are taken one number after another (their noises are
independent), so S is a number and no matrix is inverted; P ← P − K(PHᵀ)ᵀ is written for the ten
entries on and above the diagonal and cannot lose its symmetry.

Why plain Python numbers: a 4×4 product costs numpy more in call overhead than the whole step costs
here. Why not two separate axes, which would be faster still: a speed is measured along the heading,
which ties x to y; forgetting that would claim to know the velocity across the heading too.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

MICROSECONDS = 1e-6
NORMAL_95 = 1.96
"""Half-width, in standard deviations, of the symmetric interval that holds 95 % of a normal law."""


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
    """the direction last measured, radians from the x axis towards y; carried along, not
    filtered"""


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


def predict(state: FilterState, to: int, acceleration_variance: float) -> FilterState:
    """The estimate for a later moment.

    ``acceleration_variance`` (σ², m²/s⁴) is that of the acceleration averaged over one second:
    after one second the velocity has gained that much variance, in each axis.
    """
    (since, x, y, u, w, xx, xy, xu, xw, yy, yu, yw, uu, uw, ww, heading) = state
    if to == since:
        return state
    dt = (to - since) * MICROSECONDS
    noise = acceleration_variance * dt
    both = noise * dt / 2.0
    position = both * dt / 1.5
    return FilterState._make((
        to,
        x + dt * u,
        y + dt * w,
        u,
        w,
        xx + dt * (2.0 * xu + dt * uu) + position,
        xy + dt * (xw + yu + dt * uw),
        xu + dt * uu + both,
        xw + dt * uw,
        yy + dt * (2.0 * yw + dt * ww) + position,
        yu + dt * uw,
        yw + dt * ww + both,
        uu + noise,
        uw,
        ww + noise,
        heading,
    ))  # fmt: skip


def observe_position(
    state: FilterState, x: float, y: float, var_x: float, var_y: float
) -> FilterState:
    """The estimate, knowing a measured position too."""
    state = _correct(state, x - state[1], state[5] + var_x, *state[5:9])
    return _correct(state, y - state[2], state[9] + var_y, state[6], *state[9:12])


def observe_velocity(
    state: FilterState, vx: float, vy: float, var_vx: float, var_vy: float
) -> FilterState:
    """The estimate, knowing a measured velocity too."""
    state = observe_along(state, 1.0, 0.0, vx, var_vx)
    return observe_along(state, 0.0, 1.0, vy, var_vy)


def observe_along(
    state: FilterState, along_x: float, along_y: float, speed: float, variance: float
) -> FilterState:
    """The estimate, knowing the velocity's component along a unit vector too (H = 0, 0, along)."""
    (_, _, _, u, w, _, _, xu, xw, _, yu, yw, uu, uw, ww, _) = state
    cov_vx = along_x * uu + along_y * uw
    cov_vy = along_x * uw + along_y * ww
    return _correct(
        state,
        speed - (along_x * u + along_y * w),
        along_x * cov_vx + along_y * cov_vy + variance,
        along_x * xu + along_y * xw,
        along_x * yu + along_y * yw,
        cov_vx,
        cov_vy,
    )


def _correct(
    state: FilterState,
    residual: float,
    residual_variance: float,
    cov_x: float,
    cov_y: float,
    cov_vx: float,
    cov_vy: float,
) -> FilterState:
    """One measured number: its ``residual_variance`` is S, its covariances with the state P Hᵀ."""
    (timestamp, x, y, u, w, xx, xy, xu, xw, yy, yu, yw, uu, uw, ww, heading) = state
    gain_x = cov_x / residual_variance
    gain_y = cov_y / residual_variance
    gain_vx = cov_vx / residual_variance
    gain_vy = cov_vy / residual_variance
    return FilterState._make((
        timestamp,
        x + gain_x * residual,
        y + gain_y * residual,
        u + gain_vx * residual,
        w + gain_vy * residual,
        xx - gain_x * cov_x,
        xy - gain_x * cov_y,
        xu - gain_x * cov_vx,
        xw - gain_x * cov_vy,
        yy - gain_y * cov_y,
        yu - gain_y * cov_vx,
        yw - gain_y * cov_vy,
        uu - gain_vx * cov_vx,
        uw - gain_vx * cov_vy,
        ww - gain_vy * cov_vy,
        heading,
    ))  # fmt: skip


def confidence(state: FilterState) -> float:
    """Half-width (m) of the symmetric 95 % interval of the position along its least certain
    direction.

    1.96 σ with σ² the larger eigenvalue of the position's covariance; in any other direction the
    interval is narrower. It is not the radius of the 95 % ellipse (2.45 σ).
    """
    mean = (state.var_x + state.var_y) / 2.0
    half_difference = (state.var_x - state.var_y) / 2.0
    return NORMAL_95 * sqrt(mean + sqrt(half_difference**2 + state.cov_x_y**2))
