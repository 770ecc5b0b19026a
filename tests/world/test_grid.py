"""The grid: collisions happen where and when it says, nothing else does, nobody drives through
houses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from headway.world.drive_scenario import Scenario
from headway.world.grid_traffic import CLEARANCE, GridTraffic

TIMES = np.arange(0, 48, 0.05)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_collision_course_cars_hit_ours_when_and_where_stated(seed: int) -> None:
    traffic = GridTraffic(Scenario(seed=seed))
    assert len(traffic.collisions) == 6
    for collision in traffic.collisions:
        columns = np.array([traffic.own - 1, collision.id - 1])
        motion = traffic.of(columns, np.full(2, collision.time))
        np.testing.assert_allclose(motion.x, collision.x, atol=1e-9)
        np.testing.assert_allclose(motion.y, collision.y, atol=1e-9)
        assert not traffic.radio[collision.id - 1]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_other_car_comes_into_our_way(seed: int) -> None:
    """Where two ways cross at a right angle, a car that is c past the point is never nearer than
    c / √2; beside us is a lane away."""
    traffic = GridTraffic(Scenario(seed=seed, cars=200))
    motion = traffic.at(TIMES)
    distance = np.hypot(motion.x - motion.x[:, :1], motion.y - motion.y[:, :1])
    across = (motion.vy[0] != 0) & ~np.isin(traffic.ids, [c.id for c in traffic.collisions])
    assert distance[:, across].min() >= CLEARANCE / np.sqrt(2) - 0.01
    assert distance[:, 1:][:, ~across[1:] & traffic.radio[1:]].min() >= 3.5


def test_no_two_cars_of_a_lane_overlap() -> None:
    traffic = GridTraffic(Scenario(cars=300))
    begin = traffic.at(np.zeros(1))
    lanes = np.stack([begin.vx[0], begin.vy[0], np.where(begin.vx[0] != 0, begin.y, begin.x)[0]])
    along = np.where(begin.vx[0] != 0, begin.x[0], begin.y[0])
    for lane in np.unique(lanes, axis=1).T:
        here = np.sort(along[(lanes == lane[:, None]).all(axis=0)])
        assert here.size < 2 or np.diff(here).min() >= 5.0


def test_every_car_is_in_a_street_of_the_grid() -> None:
    traffic = GridTraffic(Scenario(cars=200))
    motion = traffic.at(TIMES[::20])
    for min_x, min_y, max_x, max_y in traffic.buildings:
        inside = (motion.x > min_x) & (motion.x < max_x) & (motion.y > min_y) & (motion.y < max_y)
        assert not inside.any()
    assert len(traffic.buildings) == 9 * 10
    assert len(traffic.crossings) == 8 * 9
    assert len(traffic.streets) == 8 + 9


def test_each_meeting_has_a_witness_that_faces_it() -> None:
    traffic = GridTraffic(Scenario())
    motion = traffic.at(np.zeros(1))
    for collision in traffic.collisions:
        witness = collision.id - 1 + 6
        assert traffic.radio[witness]
        assert motion.vy[0, witness] == -motion.vy[0, collision.id - 1]
        then = traffic.of(np.array([witness]), np.array([collision.time]))
        passed = (then.y[0] - collision.y) * np.sign(then.vy[0])
        assert CLEARANCE <= passed <= 100
        assert abs(then.x[0] - collision.x) == pytest.approx(3.5)


def test_the_same_seed_gives_the_same_traffic_and_another_another() -> None:
    def begin(seed: int) -> np.ndarray:
        return np.stack(GridTraffic(Scenario(seed=seed)).at(np.zeros(1)))

    np.testing.assert_array_equal(begin(5), begin(5))
    assert (begin(5) != begin(6)).any()


def test_without_v2v_nobody_has_a_radio() -> None:
    assert not GridTraffic(replace(Scenario(), v2v=False)).radio.any()


def test_one_car_at_a_time_is_the_same_as_all_at_once() -> None:
    traffic = GridTraffic(Scenario())
    times = np.array([0.0, 0.123, 47.9])
    everyone = traffic.at(times)
    columns = np.array([3, 17, 40])
    one = traffic.of(columns, times)
    for name in ("x", "y", "vx", "vy"):
        expected = getattr(everyone, name)[np.arange(3), columns]
        np.testing.assert_array_equal(getattr(one, name), expected)
