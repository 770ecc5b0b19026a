"""One tracked car as tidy rows: the whole trial, its seconds, and places for a map."""

from __future__ import annotations

import numpy as np

from headway.experiments.collision.tracked import Tracked
from headway.experiments.collision.trial import US_PER_S
from headway.experiments.study import Row

STRETCH = 700_000
"""microseconds: 12 m at 60 km/h, so that errors of some 0.1 m are seen on a map of it"""


def summary_row(known: Row, label: str, one: Tracked) -> Row:
    """Means over all positions told; ``known`` is what all rows of the trial say."""
    return {
        **known,
        "part": "trial",
        "setting": label,
        "count": len(one.about),
        "error": float(one.error.mean()),
        "radius": float(one.radius.mean()),
        "inside": float(one.inside.mean()),
        "inside_axes": float(one.inside_axes.mean()),
    }


def second_rows(known: Row, label: str, one: Tracked) -> list[Row]:
    """Means over each second of the drive."""
    second = one.about // US_PER_S
    return [
        {
            **known,
            "part": "second",
            "setting": label,
            "second": int(which),
            "error": float(one.error[second == which].mean()),
            "radius": float(one.radius[second == which].mean()),
        }
        for which in np.unique(second)
    ]


def place_rows(known: Row, label: str, one: Tracked, stretch: str, start: int) -> list[Row]:
    """Every position about a moment of the stretch that starts there (µs from the begin)."""
    mine = one.where((one.about >= start) & (one.about < start + STRETCH))
    columns = {
        name: getattr(mine, name).tolist()
        for name in ("about", "x", "y", "radius", "true_x", "true_y")
    }
    return [
        {**known, "part": "place", "setting": label, "stretch": stretch}
        | dict(zip(columns, told, strict=True))
        for told in zip(*columns.values(), strict=True)
    ]
