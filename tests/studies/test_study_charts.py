"""Charts of studies: maps to scale, axes that are shared, what is published drawn last."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from headway.report.chart_pages import chart_svg
from headway.report.charts import Chart
from headway_studies.study_chart_drawing import CORNERS, MAP_LEAST, MAP_MOST
from headway_studies.study_charts import (
    BarChart,
    HeatMap,
    MapPlace,
    Span,
    Timeline,
    Track,
    TrackMap,
)

ALONG = tuple(MapPlace(x=2.0 * n, y=0.1 * n, radius=0.5) for n in range(8))
UP = tuple(MapPlace(x=-3.0, y=5.0 * n, radius=1.0, truth=(-3.5, 5.0 * n)) for n in range(8))
ONE = (MapPlace(x=4.0, y=-1.0),)


def map_of(*places: tuple[MapPlace, ...]) -> TrackMap:
    tracks = tuple(Track(name=f"t{n}", places=one) for n, one in enumerate(places))
    return TrackMap(title="map", x="east", y="north", tracks=tracks)


def domains(chart: Chart) -> tuple[list[float], list[float]]:
    first = chart.spec()["layer"][0]["encoding"]
    return first["x"]["scale"]["domain"], first["y"]["scale"]["domain"]


def rows_of(chart: Chart) -> list[dict[str, Any]]:
    """The values of all marks."""
    return [row for rows in chart.spec()["datasets"].values() for row in rows]


@pytest.mark.parametrize("places", [ALONG, UP, ONE, ()])
def test_a_metre_is_as_long_on_both_axes(places: tuple[MapPlace, ...]) -> None:
    drawn = map_of(places)
    (west, east), (south, north) = domains(drawn)
    share = drawn.spec()["usermeta"]["height"]
    assert (north - south) / (east - west) == pytest.approx(share)
    assert MAP_LEAST <= share <= MAP_MOST


@pytest.mark.parametrize("places", [ALONG, UP])
def test_circles_and_truths_are_inside_the_map(places: tuple[MapPlace, ...]) -> None:
    drawn = map_of(places)
    (west, east), (south, north) = domains(drawn)
    for row in rows_of(drawn):
        assert west <= row["x"] <= east
        assert south <= row["y"] <= north
        assert west <= row.get("truth_x", west) <= east


def test_circles_are_as_large_as_they_are_told() -> None:
    corners = [row for row in rows_of(map_of(ALONG, ONE)) if "ring" in row]
    assert len(corners) == CORNERS * len(ALONG)
    for row in corners:
        place = ALONG[int(row["ring"].split()[-1])]
        assert math.dist((row["x"], row["y"]), (place.x, place.y)) == pytest.approx(0.5, abs=1e-5)


def test_timelines_that_are_compared_share_their_axis() -> None:
    lanes = (("p1", (Span(start=0, end=62, label="n1"),)),)
    assert domains(Timeline(title="t", x="time", lanes=lanes))[0] == [0, 62]
    assert domains(Timeline(title="t", x="time", lanes=lanes, until=73))[0] == [0, 73]


def test_published_values_are_the_last_that_is_drawn() -> None:
    bars = BarChart(title="b", y="%", groups=("a", "b"), bars=("ours",), values=((1.0,), (2.0,)),
                    published=(1.5, None))  # fmt: skip
    spec = bars.spec()
    assert spec["layer"][-1]["mark"]["shape"] == "diamond"
    assert [row["value"] for row in rows_of(bars) if row["series"] == "published"] == [1.5]


def test_a_heat_map_says_in_signs_what_it_says_in_colours() -> None:
    """A tie is no success; what is further off is stronger; the framed column is there."""
    heat = HeatMap(
        title="h", x="cost", columns=("1", "2"), rows=("a", "b"), values=((4.0, 0.0), (-1.0, 1.0)),
        unit="points", marked=("2",),
    )  # fmt: skip
    rows = rows_of(heat)
    signs = {(row["row"], row["column"]): row["sign"] for row in rows}
    assert signs == {("a", "1"): "✓", ("a", "2"): "✗", ("b", "1"): "✗", ("b", "2"): "✓"}
    strength = {(row["row"], row["column"]): row["strength"] for row in rows}
    assert strength["a", "1"] == 1 > strength["b", "1"] == strength["b", "2"] > strength["a", "2"]
    frame = heat.spec()["layer"][-1]
    assert frame["transform"] == [{"filter": {"field": "column", "oneOf": ["2"]}}]


def test_a_picture_frames_the_marked_column_alone() -> None:
    """What answers the pointer is left out of a picture, and no other filter."""
    heat = HeatMap(
        title="by how much each of the statements holds, over the cost of a decision, in " * 2,
        x="cost", columns=("1", "2", "3"), rows=("a", "b"), values=((4.0, 1.0, 2.0),) * 2,
        unit="points", marked=("2",),
    )  # fmt: skip
    svg = chart_svg([heat], heat.title)
    assert svg.count('stroke-width="1.8"') == 2
    assert max(len(line) for line in re.findall(r"<text[^>]*>([^<]*)", svg)) <= 66
