"""Tracking one car as pictures: stretches of its way as a map (figure 20), and the whole trial."""

from __future__ import annotations

from collections.abc import Sequence

from headway.experiments.collision.track_rows import STRETCH
from headway.experiments.collision.trial import US_PER_S
from headway.experiments.findings import LineChart, Place, Point, Series, Track, TrackMap
from headway.experiments.rows import distinct, number, sample, values, where, whole
from headway.experiments.study import Row

STRETCHES = {"first": "from the first it is heard of", "passing": "where it passes us"}
MEANT = "where it was"


def stretch_map(rows: Sequence[Row], stretch: str, labels: Sequence[str]) -> TrackMap:
    """A line leads from each place told to the one at that moment."""
    mine = where(rows, part="place", stretch=stretch)
    tracks = [
        Track(name=label, places=tuple(_place(row) for row in where(mine, setting=label)))
        for label in labels
    ]
    passed = sorted(mine, key=lambda row: number(row, "about"))
    truth = Track(
        name=MEANT,
        places=tuple(Place(x=number(row, "true_x"), y=number(row, "true_y")) for row in passed),
        true=True,
    )
    return TrackMap(
        title=f"Figure 20: tracking one car in a trial, {STRETCHES[stretch]}",
        x="metres east",
        y="metres north",
        tracks=(*tracks, truth),
        note=f"Car {_car(mine)}, of which most V2V tuples tell, in {STRETCH / US_PER_S:g} s of "
        f"trial {whole(mine[0], 'trial')}; the paper does not print which car it followed. "
        "Circles: the symmetric 95 % interval (1.96 σ) that output3 tells; short lines lead to "
        "where the car was at that moment.",
    )


def _place(row: Row) -> Place:
    return Place(
        x=number(row, "x"),
        y=number(row, "y"),
        radius=number(row, "radius"),
        truth=(number(row, "true_x"), number(row, "true_y")),
    )


def over_time(rows: Sequence[Row], labels: Sequence[str]) -> LineChart:
    """Every second of the drive in which output3 told of the car under each setting."""
    seconds = where(rows, part="second")
    return LineChart(
        title="The same car over the whole drive",
        x="seconds of the drive",
        y="metres",
        series=tuple(
            Series(name=f"{words}, {label}", points=_points(where(seconds, setting=label), key))
            for key, words in (("error", "error"), ("radius", "radius of the circle"))
            for label in labels
        ),
        note=f"Car {_car(seconds)}; mean over the positions of a second, then over "
        f"{len(distinct(seconds, 'trial'))} trials.",
    )


def _points(rows: Sequence[Row], key: str) -> tuple[Point, ...]:
    return tuple(
        Point(x=second, y=sample(values(where(rows, second=second), key)).mean)
        for second in sorted({whole(row, "second") for row in rows})
    )


def _car(rows: Sequence[Row]) -> str:
    return " or ".join(str(car) for car in distinct(rows, "car"))
