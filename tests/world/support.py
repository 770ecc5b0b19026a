"""What the tests of the world share."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

needs_pycrate = pytest.mark.skipif(
    find_spec("pycrate_core") is None, reason="needs pycrate (the extra 'cam')"
)
STEPS = np.linspace(0, 1, 4001)[:, None]


def blocked_by_walking(buildings: np.ndarray, line: np.ndarray, shrink: float) -> np.ndarray:
    """Whether any of many points of each line lies in a building made smaller by ``shrink``."""
    x = line[0] + STEPS * (line[2] - line[0])
    y = line[1] + STEPS * (line[3] - line[1])
    blocked = np.zeros(line.shape[1], dtype=bool)
    for min_x, min_y, max_x, max_y in buildings:
        inside = (x > min_x + shrink) & (x < max_x - shrink)
        inside &= (y > min_y + shrink) & (y < max_y - shrink)
        blocked |= inside.any(axis=0)
    return blocked
