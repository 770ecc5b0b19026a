"""Who sees whom between buildings."""

from __future__ import annotations

import numpy as np

from headway.world.traffic import Array, Truths


def clear_view(buildings: Array, x0: Array, y0: Array, x1: Array, y1: Array) -> Truths:
    """Whether the straight line from (x0, y0) to (x1, y1) passes through the inside of no building.

    ``buildings`` are rectangles (min x, min y, max x, max y). Touching a wall or a corner does not
    block. The line is clipped against each rectangle (Liang and Barsky, 1984): the parts of it
    between the two x walls and between the two y walls must overlap for it to be inside.
    """
    clear = np.ones(x0.shape, dtype=np.bool_)
    left, right = np.minimum(x0, x1), np.maximum(x0, x1)
    bottom, top = np.minimum(y0, y1), np.maximum(y0, y1)
    for min_x, min_y, max_x, max_y in buildings:
        near = (right > min_x) & (left < max_x) & (top > min_y) & (bottom < max_y) & clear
        places = np.flatnonzero(near)
        if places.size:
            enter_x, leave_x = _between(x0[places], x1[places], min_x, max_x)
            enter_y, leave_y = _between(y0[places], y1[places], min_y, max_y)
            enter = np.maximum(np.maximum(enter_x, enter_y), 0.0)
            leave = np.minimum(np.minimum(leave_x, leave_y), 1.0)
            clear[places[enter < leave]] = False
    return clear


def _between(start: Array, end: Array, low: float, high: float) -> tuple[Array, Array]:
    """The share of the way at which a coordinate comes between two walls and leaves them."""
    way = end - start
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = (low - start) / way, (high - start) / way
    # A line along the walls is between them all the way: the caller has looked that it is.
    along = way == 0
    return (
        np.where(along, -np.inf, np.minimum(first, second)),
        np.where(along, np.inf, np.maximum(first, second)),
    )
