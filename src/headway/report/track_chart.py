"""Tracks on a map as SVG: where something was told to be, how surely, and where it was."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from headway.experiments.findings import Place, Track, TrackMap
from headway.report.chart_axes import LEFT, TOP, WIDTH, Scale, plain_number, x_axis, y_axis
from headway.report.chart_frame import chart, colour, legend
from headway.report.charts import marker
from headway.report.svg import element, group, number

LEAST_HEIGHT, MOST_HEIGHT = 120.0, 420.0
MARGIN = 0.04
"""of the longer side, left free around what is drawn"""
TRUTH = "axis"
"""the class of the line where it really was"""


def track_map(drawn: TrackMap) -> str:
    x, y, height = scales([place for track in drawn.tracks for place in track.places])
    told = list(enumerate(track for track in drawn.tracks if not track.true))
    # The first track is on top, as it is first in the legend; no circle hides a mark.
    rings = [_rings(track, place, x, y) for place, track in reversed(told)]
    lines = [_line(track, x, y) for track in drawn.tracks if track.true]
    marks = [_marks(track, place, x, y) for place, track in reversed(told)]
    below, rows = legend(
        [(track.name, f"f{colour(place)}", False) for place, track in told]
        + [(track.name, TRUTH, True) for track in drawn.tracks if track.true]
    )
    return chart(
        drawn.title, y_axis(y, drawn.y), x_axis(x, drawn.x, height), *rings, *lines, *marks,
        height=height, below=below, rows=rows,
    )  # fmt: skip


def scales(places: Sequence[Place]) -> tuple[Scale, Scale, float]:
    """x, y and the height of the map; a metre is as long on both. As large as width and height
    allow; what is left over is divided between both sides."""
    west, east = _ends(_span(place, 0) for place in places)
    south, north = _ends(_span(place, 1) for place in places)
    margin = MARGIN * max(east - west, north - south) or 1.0
    wide, high = east - west + 2 * margin, north - south + 2 * margin
    metre = min(WIDTH / wide, MOST_HEIGHT / high)
    height = min(MOST_HEIGHT, max(LEAST_HEIGHT, metre * high))
    middle_x, half_x = (west + east) / 2, WIDTH / metre / 2
    middle_y, half_y = (south + north) / 2, height / metre / 2
    return (
        Scale(middle_x - half_x, middle_x + half_x, LEFT, LEFT + WIDTH),
        Scale(middle_y - half_y, middle_y + half_y, TOP + height, TOP),
        height,
    )


def _span(place: Place, axis: int) -> tuple[float, float]:
    """From where to where a place, its circle and its truth are seen on an axis."""
    at, radius = (place.x, place.y)[axis], place.radius or 0.0
    meant = at if place.truth is None else place.truth[axis]
    return min(at - radius, meant), max(at + radius, meant)


def _ends(pairs: Iterable[tuple[float, float]]) -> tuple[float, float]:
    known = list(pairs) or [(0.0, 1.0)]
    return min(low for low, _ in known), max(high for _, high in known)


def _line(track: Track, x: Scale, y: Scale) -> str:
    if not track.places:
        return ""
    first, *_ = track.places
    path = f"M{_at(x, y, first.x, first.y)}" + "".join(
        f"L{_at(x, y, place.x, place.y)}" for _, place in pairwise(track.places)
    )
    return group(
        "truth", element("path", class_=f"line {TRUTH}", d=path, stroke_width=2), title=track.name
    )


def _rings(track: Track, number_: int, x: Scale, y: Scale) -> str:
    kind = colour(number_)
    return "".join(
        element(
            "circle",
            class_=f"ring s{kind} t{kind}",
            cx=x.at(place.x),
            cy=y.at(place.y),
            r=x.at(place.x + place.radius) - x.at(place.x),
        )
        for place in track.places
        if place.radius is not None
    )


def _marks(track: Track, number_: int, x: Scale, y: Scale) -> str:
    """The places, each joined to the one it means."""
    missed = "".join(
        f"M{_at(x, y, place.x, place.y)}L{_at(x, y, *place.truth)}"
        for place in track.places
        if place.truth is not None
    )
    joined = (
        element("path", class_=f"line s{colour(number_)}", d=missed, stroke_width=1.5)
        if missed
        else ""
    )
    marks = [
        group("place", marker(number_, x.at(place.x), y.at(place.y)), title=_words(track, place))
        for place in track.places
    ]
    return group("track", joined, *marks)


def _words(track: Track, place: Place) -> str:
    radius = "" if place.radius is None else f" ± {plain_number(place.radius)}"
    return f"{track.name}: {plain_number(place.x)}, {plain_number(place.y)}{radius}"


def _at(x: Scale, y: Scale, east: float, north: float) -> str:
    return f"{number(x.at(east))} {number(y.at(north))}"
