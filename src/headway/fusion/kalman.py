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

A speed sensor counts turns of a wheel whose size it does not know: its error is mostly a factor
that stays. Taken for white noise, many readings would seem to average it away and would drag the
position along. So the factor may be estimated too, as a fifth state (:class:`SpeedScale`).
"""

from __future__ import annotations

from headway.fusion.state import FilterState, SpeedScale

MICROSECONDS = 1e-6

LEAST_DETERMINANT = 1e-9
"""of a correlation matrix; one below that is rounding, not knowledge"""
LEAST_SHARE = 1e-6
"""ω of what is known already: never so little that what no report tells would be lost"""

_new = tuple.__new__
"""Makes a state without the cost of its constructor."""


def predict(
    state: FilterState, to: int, acceleration_variance: float, scale_drift: float = 0.0
) -> FilterState:
    """The estimate for a later moment.

    ``acceleration_variance`` (σ², m²/s⁴) is that of the acceleration averaged over one second:
    after one second the velocity has gained that much variance, in each axis. ``scale_drift`` is
    the variance that the speed sensor's scale gains per second.
    """
    (since, x, y, u, w, xx, xy, xu, xw, yy, yu, yw, uu, uw, ww, heading, scale) = state
    if to == since:
        return state
    dt = (to - since) * MICROSECONDS
    noise = acceleration_variance * dt
    both = noise * dt / 2.0
    position = both * dt / 1.5
    if scale is not None:
        value, variance, cov_x, cov_y, cov_vx, cov_vy = scale
        cov_x, cov_y = cov_x + dt * cov_vx, cov_y + dt * cov_vy
        scale = SpeedScale(value, variance + scale_drift * dt, cov_x, cov_y, cov_vx, cov_vy)
    return _new(FilterState, (
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
        scale,
    ))  # fmt: skip


def observe_position(
    state: FilterState, x: float, y: float, var_x: float, var_y: float
) -> FilterState:
    """The estimate, knowing a measured position too."""
    _, at_x, _, _, _, xx, xy, xu, xw, _, _, _, _, _, _, _, scale = state
    state = _correct(state, x - at_x, xx + var_x, xx, xy, xu, xw, scale.cov_x if scale else 0.0)
    _, _, at_y, _, _, _, xy, _, _, yy, yu, yw, _, _, _, _, scale = state
    return _correct(state, y - at_y, yy + var_y, xy, yy, yu, yw, scale.cov_y if scale else 0.0)


def observe_velocity(
    state: FilterState, vx: float, vy: float, var_vx: float, var_vy: float
) -> FilterState:
    """The estimate, knowing a measured velocity too."""
    _, _, _, u, _, _, _, xu, _, _, yu, _, uu, uw, _, _, scale = state
    state = _correct(state, vx - u, uu + var_vx, xu, yu, uu, uw, scale.cov_vx if scale else 0.0)
    _, _, _, _, w, _, _, _, xw, _, _, yw, _, uw, ww, _, scale = state
    return _correct(state, vy - w, ww + var_vy, xw, yw, uw, ww, scale.cov_vy if scale else 0.0)


def observe_along(
    state: FilterState, along_x: float, along_y: float, speed: float, variance: float
) -> FilterState:
    """The estimate, knowing the velocity's component along a unit vector too (H = 0, 0, along)."""
    _, _, _, u, w, _, _, xu, xw, _, yu, yw, uu, uw, ww, _, scale = state
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
        along_x * scale.cov_vx + along_y * scale.cov_vy if scale else 0.0,
    )


def observe_scaled(
    state: FilterState, along_x: float, along_y: float, speed: float, variance: float
) -> FilterState:
    """As :func:`observe_along`, measured by the sensor whose scale is estimated.

    It shows (1 + scale) · component; linearised, H = (0, 0, (1 + scale) · along, component).
    """
    scale = state.scale
    if scale is None:
        return observe_along(state, along_x, along_y, speed, variance)
    _, _, _, u, w, _, _, xu, xw, _, yu, yw, uu, uw, ww, _, _ = state
    component = along_x * u + along_y * w
    along_x, along_y = along_x * (1.0 + scale.value), along_y * (1.0 + scale.value)
    cov_vx = along_x * uu + along_y * uw + component * scale.cov_vx
    cov_vy = along_x * uw + along_y * ww + component * scale.cov_vy
    cov_scale = along_x * scale.cov_vx + along_y * scale.cov_vy + component * scale.variance
    return _correct(
        state,
        speed - component * (1.0 + scale.value),
        along_x * cov_vx + along_y * cov_vy + component * cov_scale + variance,
        along_x * xu + along_y * xw + component * scale.cov_x,
        along_x * yu + along_y * yw + component * scale.cov_y,
        cov_vx,
        cov_vy,
        cov_scale,
    )


def intersect_axis(
    position: float,
    cov: float,
    velocity: float,
    var_position: float,
    residual: float,
    var_velocity: float | None,
    residual_velocity: float,
) -> tuple[float, float, float, float, float]:
    """Covariance intersection of what is known of one axis with a report whose error may depend on
    it in any way (Julier and Uhlmann 1997):

        P⁻¹ ← ω P⁻¹ + (1 − ω) R⁻¹

    true of every ω from 0 to 1; here the one that makes the determinant of the result least. Where
    two are equally sure of the same thing nothing is gained by having both, as it should be when
    one may have copied from the other. Gives what is added to position and velocity, then P.
    """
    determinant = position * velocity - cov * cov
    least = LEAST_DETERMINANT * position * velocity
    if not determinant > least:
        determinant = least
    known_p, known_c, known_v = velocity / determinant, -cov / determinant, position / determinant
    told_p = 1.0 / var_position
    told_v = 0.0 if var_velocity is None else 1.0 / var_velocity
    # det(ω A + (1 − ω) B) = ω² |A| + ω (1 − ω) mixed + (1 − ω)² |B|
    ours, theirs = 1.0 / determinant, told_p * told_v
    mixed = known_p * told_v + known_v * told_p
    bend = mixed - ours - theirs
    share = (mixed - 2.0 * theirs) / (2.0 * bend) if bend > 0.0 else float(ours >= theirs)
    if not share > LEAST_SHARE:
        share = LEAST_SHARE
    if share > 1.0:
        share = 1.0
    rest = 1.0 - share
    info_p = share * known_p + rest * told_p
    info_c = share * known_c
    info_v = share * known_v + rest * told_v
    determinant = info_p * info_v - info_c * info_c
    position, cov, velocity = info_v / determinant, -info_c / determinant, info_p / determinant
    pull = rest * told_p * residual
    pull_velocity = rest * told_v * residual_velocity
    return (
        position * pull + cov * pull_velocity,
        cov * pull + velocity * pull_velocity,
        position,
        cov,
        velocity,
    )


def observe_dependent(
    state: FilterState,
    x: float,
    y: float,
    var_x: float,
    var_y: float,
    measured: tuple[float, float, float, float] | None,
) -> FilterState:
    """The estimate, knowing too a position (and velocity) that others have filtered: axis by axis,
    since no report ties one axis to the other."""
    vx, vy, var_vx, var_vy = measured or (state.vx, state.vy, None, None)
    add_x, add_vx, p_x, c_x, v_x = intersect_axis(
        state.var_x, state.cov_x_vx, state.var_vx, var_x, x - state.x, var_vx, vx - state.vx
    )
    add_y, add_vy, p_y, c_y, v_y = intersect_axis(
        state.var_y, state.cov_y_vy, state.var_vy, var_y, y - state.y, var_vy, vy - state.vy
    )
    return state._replace(
        x=state.x + add_x,
        y=state.y + add_y,
        vx=state.vx + add_vx,
        vy=state.vy + add_vy,
        var_x=p_x,
        cov_x_vx=c_x,
        var_y=p_y,
        cov_y_vy=c_y,
        var_vx=v_x,
        var_vy=v_y,
    )


def position_distance(state: FilterState, x: float, y: float, var_x: float, var_y: float) -> float:
    """Squared Mahalanobis distance of a measured position from the estimate."""
    return squared_distance(
        x - state.x,
        y - state.y,
        state.var_x + var_x,
        state.cov_x_y,
        state.var_y + var_y,
    )


def velocity_distance(
    state: FilterState, vx: float, vy: float, var_vx: float, var_vy: float
) -> float:
    """Squared Mahalanobis distance of a measured velocity from the estimate."""
    return squared_distance(
        vx - state.vx,
        vy - state.vy,
        state.var_vx + var_vx,
        state.cov_vx_vy,
        state.var_vy + var_vy,
    )


def squared_distance(
    residual_x: float, residual_y: float, var_x: float, cov: float, var_y: float
) -> float:
    """Of two numbers with these (co)variances from zero."""
    part = cov / var_x
    rest = residual_y - part * residual_x
    return residual_x * residual_x / var_x + rest * rest / (var_y - part * cov)


def _correct(
    state: FilterState,
    residual: float,
    residual_variance: float,
    cov_x: float,
    cov_y: float,
    cov_vx: float,
    cov_vy: float,
    cov_scale: float,
) -> FilterState:
    """One measured number: its ``residual_variance`` is S, its covariances with the state P Hᵀ."""
    (timestamp, x, y, u, w, xx, xy, xu, xw, yy, yu, yw, uu, uw, ww, heading, scale) = state
    gain_x = cov_x / residual_variance
    gain_y = cov_y / residual_variance
    gain_vx = cov_vx / residual_variance
    gain_vy = cov_vy / residual_variance
    if scale is not None:
        value, variance, scale_x, scale_y, scale_vx, scale_vy = scale
        scale = SpeedScale(
            value + cov_scale / residual_variance * residual,
            variance - cov_scale / residual_variance * cov_scale,
            scale_x - gain_x * cov_scale,
            scale_y - gain_y * cov_scale,
            scale_vx - gain_vx * cov_scale,
            scale_vy - gain_vy * cov_scale,
        )
    return _new(
        FilterState,
        (
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
            scale,
        ),
    )
