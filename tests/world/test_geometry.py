"""Line of sight against walking along the line and looking."""

from __future__ import annotations

import numpy as np
from tests.world.support import blocked_by_walking

from headway.world.grid_traffic import clear_view


def test_as_walking_along_the_line_and_looking() -> None:
    random = np.random.default_rng(1)
    corners = random.uniform(0, 80, (12, 2))
    buildings = np.hstack([corners, corners + random.uniform(3, 25, (12, 2))])
    line = random.uniform(-10, 110, (4, 500))
    line[0, :50] = line[2, :50]  # straight up
    line[1, 50:100] = line[3, 50:100]  # straight across
    blocked = ~clear_view(buildings, *line)
    # Steps are at most 0.05 m long: what is inside a wall by that much is surely met.
    assert not (blocked_by_walking(buildings, line, 0.05) & ~blocked).any()
    assert not (blocked & ~blocked_by_walking(buildings, line, -0.05)).any()
    assert 100 < blocked.sum() < 400


def test_along_a_wall_and_past_a_corner_one_sees() -> None:
    house = np.array([[0.0, 0.0, 10.0, 10.0]])
    line = np.array(
        [
            (0.0, -5.0, 0.0, 15.0),  # along a wall
            (-5.0, 5.0, 5.0, 15.0),  # touching a corner
            (-5.0, 4.9, 5.0, 14.9),  # just inside it
            (5.0, 5.0, 5.0, 20.0),  # out of the house
            (20.0, 20.0, 20.0, 20.0),  # nowhere to look
        ]
    ).T
    assert clear_view(house, *line).tolist() == [True, True, False, False, True]
