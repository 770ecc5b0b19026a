"""The map of tracks: a metre is as long on both axes, and everything is inside the frame."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from headway.report.chart_axes import LEFT, TOP, WIDTH
from headway.report.charts import MapPlace, Track, TrackMap
from headway.report.track_chart import LEAST_HEIGHT, MOST_HEIGHT, scales, track_map

ALONG = tuple(MapPlace(x=2.0 * n, y=0.1 * n, radius=0.5) for n in range(8))
UP = tuple(MapPlace(x=-3.0, y=5.0 * n, radius=1.0, truth=(-3.5, 5.0 * n)) for n in range(8))
ONE = (MapPlace(x=4.0, y=-1.0),)


@pytest.mark.parametrize("places", [ALONG, UP, ONE, ()])
def test_a_metre_is_as_long_on_both_axes(places: tuple[MapPlace, ...]) -> None:
    x, y, height = scales(places)
    assert x.at(x.low + 1) - x.at(x.low) == pytest.approx(y.at(y.low) - y.at(y.low + 1))
    assert (x.start, x.end) == (LEFT, LEFT + WIDTH)
    assert (y.start, y.end) == (TOP + height, TOP)
    assert LEAST_HEIGHT <= height <= MOST_HEIGHT


@pytest.mark.parametrize("places", [ALONG, UP])
def test_circles_and_truths_are_inside_the_frame(places: tuple[MapPlace, ...]) -> None:
    x, y, _ = scales(places)
    for place in places:
        reach = place.radius or 0.0
        assert x.low <= place.x - reach < place.x + reach <= x.high
        assert y.low <= place.y - reach < place.y + reach <= y.high
        if place.truth:
            assert x.low <= place.truth[0] <= x.high


def test_circles_are_as_large_as_they_are_told() -> None:
    drawn = TrackMap(
        title="t", x="east", y="north",
        tracks=(
            Track(name="told", places=ALONG),
            Track(name="no circles", places=ONE),
            Track(name="truth", places=(MapPlace(x=0, y=0), MapPlace(x=14, y=0.7)), true=True),
        ),
    )  # fmt: skip
    svg = track_map(drawn)
    x, _, _ = scales([place for track in drawn.tracks for place in track.places])
    root = ElementTree.fromstring(svg)
    rings = [
        one for one in root.iter() if one.tag.endswith("circle") and "ring" in one.get("class", "")
    ]
    assert len(rings) == len(ALONG)
    metre = WIDTH / (x.high - x.low)
    for ring in rings:
        assert float(ring.get("r", 0)) == pytest.approx(0.5 * metre, abs=0.06)
    assert len(re.findall(r'class="place"', svg)) == len(ALONG) + len(ONE)
    assert svg.count('class="truth"') == 1
