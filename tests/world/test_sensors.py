"""Radar sees what is ahead, near and not behind a house; noise is as declared."""

from __future__ import annotations

from dataclasses import replace
from math import cos, radians

import numpy as np
import pytest
from tests.world.support import blocked_by_walking

from headway.errors import InputError
from headway.world.car_sensors import SensorModel, look, phases, read_own
from headway.world.drive_scenario import Scenario
from headway.world.grid_traffic import GridTraffic
from headway.world.own_estimate import _cycle, _fix, _measured, _operator, estimate_own

TRAFFIC = GridTraffic(Scenario(cars=120))
EXACT = SensorModel(gps=0, heading=0, speed=0, radar_position=0, radar_velocity=0)
TIMES = np.arange(0, 48, 0.4)


def test_radar_sees_exactly_the_nearest_in_view() -> None:
    """Against looking from car to car, one by one, by walking along every line."""
    looks = np.tile([0, 10, 40], 40)
    seen = look(EXACT, TRAFFIC, looks, TIMES, np.random.default_rng(0))
    for number, (column, time) in enumerate(zip(looks, TIMES, strict=True)):
        x, y, vx, vy = (axis[0] for axis in TRAFFIC.at(np.array([time])))
        dx, dy = x - x[column], y - y[column]
        distance = np.hypot(dx, dy)
        ahead = (dx * vx[column] + dy * vy[column]) / np.hypot(vx[column], vy[column])
        view = (distance <= 200) & (ahead >= cos(radians(55)) * distance)
        view[column] = False
        lines = np.stack([np.full(x.shape, x[column]), np.full(y.shape, y[column]), x, y])
        view &= ~blocked_by_walking(TRAFFIC.buildings, lines, 0.0)
        expected = [n for n in np.argsort(distance, kind="stable") if view[n]][:8]
        assert seen.column[seen.look == number].tolist() == expected
    own = TRAFFIC.of(looks[seen.look], TIMES[seen.look])
    other = TRAFFIC.of(seen.column, TIMES[seen.look])
    np.testing.assert_allclose(own.x + seen.dx, other.x)
    np.testing.assert_allclose(own.vy + seen.dvy, other.vy, atol=1e-12)


def test_noise_has_the_declared_deviations() -> None:
    model = SensorModel()
    motion = TRAFFIC.at(TIMES)
    read = read_own(model, motion, 1, 0)
    assert np.std(read.x - motion.x) == pytest.approx(model.gps, rel=0.03)
    assert np.std(read.y - motion.y) == pytest.approx(2.5 / 1.1774, rel=0.03)
    direction = np.arctan2(motion.vy, motion.vx)
    assert np.std(read.heading - direction) == pytest.approx(radians(0.5), rel=0.03)
    assert np.std(read.speed - np.hypot(motion.vx, motion.vy)) == pytest.approx(0.2, rel=0.03)
    looks = np.zeros(len(TIMES), np.int64)
    exact = look(EXACT, TRAFFIC, looks, TIMES, np.random.default_rng(0))
    noisy = look(model, TRAFFIC, looks, TIMES, np.random.default_rng(0))
    assert np.std(noisy.dx - exact.dx) == pytest.approx(0.5, rel=0.2)
    assert np.std(noisy.dvx - exact.dvx) == pytest.approx(0.2, rel=0.2)


def test_each_car_has_its_own_phase_of_whole_milliseconds() -> None:
    drawn = phases(1, 0, 1000)
    assert drawn.min() >= 0
    assert drawn.max() < 100
    assert len(set(drawn.tolist())) > 90
    assert (drawn != phases(1, 1, 1000)).any()


def test_senders_know_themselves_as_the_fusion_operator_would() -> None:
    """The linear recursion against the operator itself, run tuple by tuple: once settled they
    differ by little beside the error they both have."""
    motion = TRAFFIC.at(np.arange(0, 60, 0.1))
    read = read_own(SensorModel(), motion, 1, 0)
    random = np.random.default_rng(0)
    estimates = estimate_own(motion, read, SensorModel(), 60 / 3.6, random)
    operator = _operator()
    for car in (0, 3, 50):
        measured = np.stack([read.x, read.y, read.heading, read.speed])[:, :, car]
        x, y, heading, _ = measured[:, 0]
        state = operator.first("", _measured(0, _fix(x, y, heading, operator)))
        assert state is not None
        apart, off = [], []
        for cycle in range(1, 600):
            state = _cycle(operator, state, measured[:, cycle])
            if cycle > 300:
                east, north = estimates.x[cycle, car], estimates.y[cycle, car]
                apart.append(np.hypot(state.x - east, state.y - north))
                off.append(np.hypot(state.x - motion.x[cycle, car], state.y - motion.y[cycle, car]))
        assert np.mean(apart) < 0.15 * np.mean(off)
    error = np.hypot(estimates.x - motion.x, estimates.y - motion.y)
    assert error[0].mean() == pytest.approx(error[-100:].mean(), rel=0.25)  # settled from the start


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match=r"sensors\.gps: must be a number from 0; got -1"):
        replace(EXACT, gps=-1).validate()
