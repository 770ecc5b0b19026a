"""The filter against numbers worked by hand and against the textbook's matrices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from headway.fusion import kalman
from headway.fusion.state import FilterState, SpeedScale, confidence, start

SECOND = 1_000_000


def one_axis() -> FilterState:
    """x = 0 ± 2, vx = 1 ± 1; y is somewhere else."""
    return start(0, (0.0, 7.0), (4.0, 9.0), (1.0, 0.0), (1.0, 1.0))


def test_predict_by_hand() -> None:
    # P = [[4, 0], [0, 1]] → F P Fᵀ = [[5, 1], [1, 1]]; Q = 3 · [[1/3, 1/2], [1/2, 1]]
    state = kalman.predict(one_axis(), SECOND, 3.0)
    assert (state.timestamp, state.x, state.vx) == (SECOND, 1.0, 1.0)
    assert (state.var_x, state.cov_x_vx, state.var_vx) == pytest.approx((6.0, 2.5, 4.0))
    assert (state.y, state.vy) == (7.0, 0.0)
    assert (state.cov_x_y, state.cov_x_vy, state.cov_y_vx, state.cov_vx_vy) == (0, 0, 0, 0)


def test_update_by_hand() -> None:
    # Without noise P = [[5, 1], [1, 1]]; R = 5 → S = 10, K = (1/2, 1/10), residual 3 − 1 = 2
    predicted = kalman.predict(one_axis(), SECOND, 0.0)
    state = kalman.observe_position(predicted, 3.0, 7.0, 5.0, 1.0)
    assert (state.x, state.vx) == pytest.approx((2.0, 1.2))
    assert (state.var_x, state.cov_x_vx, state.var_vx) == pytest.approx((2.5, 0.5, 0.9))


def test_a_speed_says_nothing_about_the_velocity_across() -> None:
    state = start(0, (0.0, 0.0), (4.0, 4.0), (3.0, 4.0), (1.0, 1.0))
    along, across = np.array([0.6, 0.8]), np.array([-0.8, 0.6])
    after = kalman.observe_along(state, 0.6, 0.8, 6.0, 1.0)
    velocity = np.array([after.vx, after.vy])
    covariance = np.array([[after.var_vx, after.cov_vx_vy], [after.cov_vx_vy, after.var_vy]])
    assert velocity @ along == pytest.approx(5.5)  # half-way between 5 and 6
    assert velocity @ across == pytest.approx(0.0)
    assert along @ covariance @ along == pytest.approx(0.5)
    assert across @ covariance @ across == pytest.approx(1.0)


def test_the_scale_of_a_speed_sensor_is_found() -> None:
    state = start(0, (0.0, 0.0), (1.0, 1.0), (20.0, 0.0), (1.0, 1.0))
    state = state._replace(scale=SpeedScale(0.0, 0.0004))
    for step in range(1, 601):
        state = kalman.predict(state, step * SECOND // 10, 0.01)
        state = kalman.observe_position(state, 2.0 * step, 0.0, 1.0, 1.0)
        state = kalman.observe_scaled(state, 1.0, 0.0, 20.2, 0.04)
    assert state.scale is not None
    assert state.scale.value == pytest.approx(0.01, abs=0.001)
    assert state.vx == pytest.approx(20.0, abs=0.02)


def test_without_a_scale_a_scaled_speed_is_a_speed() -> None:
    state = one_axis()
    expected = kalman.observe_along(state, 1.0, 0.0, 3.0, 1.0)
    assert kalman.observe_scaled(state, 1.0, 0.0, 3.0, 1.0) == expected


def test_confidence_is_the_widest_interval() -> None:
    assert confidence(start(0, (0, 0), (4.0, 9.0), (0, 0), (1, 1))) == pytest.approx(1.96 * 3)
    # Covariance [[5, 4], [4, 5]] has eigenvalues 9 and 1.
    turned = start(0, (0, 0), (5.0, 5.0), (0, 0), (1, 1))._replace(cov_x_y=4.0)
    assert confidence(turned) == pytest.approx(1.96 * 3)


# ---------------------------------------------------------------- the matrix form

Matrix = NDArray[np.float64]


@dataclass
class Textbook:
    """The filter in matrices, states (x, y, vx, vy, scale)."""

    mean: Matrix
    covariance: Matrix

    def predict(self, dt: float, noise: float, drift: float) -> None:
        transition = np.eye(5)
        transition[0, 2] = transition[1, 3] = dt
        axis = noise * np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
        process = np.zeros((5, 5))
        process[:4, :4] = np.kron(axis, np.eye(2))
        process[4, 4] = drift * dt
        self.mean = transition @ self.mean
        self.covariance = transition @ self.covariance @ transition.T + process

    def observe(self, row: list[float], residual: float, variance: float) -> None:
        """Joseph form."""
        measurement_matrix = np.array([row])
        spread = (measurement_matrix @ self.covariance @ measurement_matrix.T)[0, 0] + variance
        gain = self.covariance @ measurement_matrix.T / spread
        rest = np.eye(5) - gain @ measurement_matrix
        self.mean = self.mean + gain[:, 0] * residual
        self.covariance = rest @ self.covariance @ rest.T + variance * gain @ gain.T


def matrices(state: FilterState) -> Textbook:
    _, x, y, vx, vy, xx, xy, xu, xw, yy, yu, yw, uu, uw, ww, _, scale = state
    s, ss, sx, sy, su, sw = scale or SpeedScale(0.0, 0.0)
    rows = [
        [xx, xy, xu, xw, sx],
        [xy, yy, yu, yw, sy],
        [xu, yu, uu, uw, su],
        [xw, yw, uw, ww, sw],
        [sx, sy, su, sw, ss],
    ]
    return Textbook(np.array([x, y, vx, vy, s]), np.array(rows))


coordinate = st.floats(-200, 200)
spread = st.floats(0.01, 100)
angle = st.floats(-3.2, 3.2)
steps = st.lists(
    st.tuples(
        st.integers(0, 2 * SECOND),
        st.sampled_from(["position", "velocity", "along", "scaled"]),
        coordinate,
        coordinate,
        spread,
        spread,
        angle,
    ),
    min_size=1,
    max_size=12,
)


@given(steps, st.booleans())
def test_as_the_textbook_says(
    sequence: list[tuple[int, str, float, float, float, float, float]], scaled: bool
) -> None:
    state = start(0, (1.0, 2.0), (9.0, 4.0), (10.0, -5.0), (100.0, 25.0))
    if scaled:
        state = state._replace(scale=SpeedScale(0.0, 0.0004))
    book = matrices(state)
    for wait, kind, first, second, spread1, spread2, direction in sequence:
        state = kalman.predict(state, state.timestamp + wait, 2.0, 1e-6 if scaled else 0.0)
        book.predict(wait * 1e-6, 2.0, 1e-6 if scaled else 0.0)
        cos, sin = float(np.cos(direction)), float(np.sin(direction))
        match kind:
            case "position":
                state = kalman.observe_position(state, first, second, spread1, spread2)
                book.observe([1, 0, 0, 0, 0], first - book.mean[0], spread1)
                book.observe([0, 1, 0, 0, 0], second - book.mean[1], spread2)
            case "velocity":
                state = kalman.observe_velocity(state, first, second, spread1, spread2)
                book.observe([0, 0, 1, 0, 0], first - book.mean[2], spread1)
                book.observe([0, 0, 0, 1, 0], second - book.mean[3], spread2)
            case "along":
                state = kalman.observe_along(state, cos, sin, first, spread1)
                seen = cos * book.mean[2] + sin * book.mean[3]
                book.observe([0, 0, cos, sin, 0], first - seen, spread1)
            case _:
                state = kalman.observe_scaled(state, cos, sin, first, spread1)
                seen = cos * book.mean[2] + sin * book.mean[3]
                factor = 1 + book.mean[4]
                row = [0, 0, factor * cos, factor * sin, seen]
                book.observe(row, first - factor * seen, spread1)
        ours = matrices(state)
        np.testing.assert_allclose(ours.mean, book.mean, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(ours.covariance, book.covariance, rtol=1e-6, atol=1e-8)


@given(st.integers(0, 3 * SECOND), st.integers(0, 3 * SECOND), st.floats(0.01, 10))
def test_two_predictions_make_one(first: int, second: int, noise: float) -> None:
    state = start(0, (1.0, 2.0), (9.0, 4.0), (10.0, -5.0), (100.0, 25.0))
    state = kalman.observe_along(state, 0.6, 0.8, 3.0, 1.0)
    twice = kalman.predict(kalman.predict(state, first, noise), first + second, noise)
    once = kalman.predict(state, first + second, noise)
    np.testing.assert_allclose(twice[:15], once[:15], rtol=1e-9, atol=1e-9)


@given(
    st.lists(
        st.tuples(st.integers(1, SECOND), st.floats(-6, 6), st.floats(-6, 6), angle), max_size=40
    )
)
def test_variances_stay_positive(sequence: list[tuple[int, float, float, float]]) -> None:
    """For every trust from a millimetre to a kilometre: see the bounds in columns.py."""
    state = start(0, (0.0, 0.0), (1e6, 1e-6), (0.0, 0.0), (1e6, 1e6))
    for wait, power1, power2, direction in sequence:
        state = kalman.predict(state, state.timestamp + wait, 4.0)
        state = kalman.observe_position(state, 1.0, 2.0, 10**power1, 10**power2)
        cos, sin = float(np.cos(direction)), float(np.sin(direction))
        state = kalman.observe_along(state, cos, sin, 3.0, 10**power2)
        covariance = matrices(state).covariance[:4, :4]
        assert np.diag(covariance).min() > 0
        sizes = np.sqrt(np.diag(covariance))
        assert np.linalg.eigvalsh(covariance / np.outer(sizes, sizes)).min() > -1e-3
