"""Charts: what is drawn where, that nothing ends its script, and what is said without Altair."""

from __future__ import annotations

import json
import math
import re
from typing import Any
from xml.etree import ElementTree

import pytest

from headway.cli.charts_written import charts_or_note
from headway.errors import EnvironmentMissing
from headway.report import chart_pages
from headway.report.chart_drawing import CORNERS, MAP_LEAST, MAP_MOST, chart_spec
from headway.report.chart_pages import chart_figure, chart_files, chart_png
from headway.report.charts import (
    BarChart,
    Chart,
    LineChart,
    MapPlace,
    Point,
    Series,
    Span,
    Timeline,
    Track,
    TrackMap,
)

ALONG = tuple(MapPlace(x=2.0 * n, y=0.1 * n, radius=0.5) for n in range(8))
UP = tuple(MapPlace(x=-3.0, y=5.0 * n, radius=1.0, truth=(-3.5, 5.0 * n)) for n in range(8))
ONE = (MapPlace(x=4.0, y=-1.0),)
LINES = LineChart(
    title="a </script> in the title",
    x="load",
    y="misses </SCRIPT><!--",
    series=(
        Series(name="ours", points=tuple(Point(x=x, y=60 + x) for x in range(5))),
        Series(name="theirs", points=(Point(x=1, y=64),), published=True),
    ),
)


def map_of(*places: tuple[MapPlace, ...]) -> TrackMap:
    tracks = tuple(Track(name=f"t{n}", places=one) for n, one in enumerate(places))
    return TrackMap(title="map", x="east", y="north", tracks=tracks)


def domains(chart: Chart) -> tuple[list[float], list[float]]:
    first = chart_spec(chart)["layer"][0]["encoding"]
    return first["x"]["scale"]["domain"], first["y"]["scale"]["domain"]


def rows_of(chart: Chart) -> list[dict[str, Any]]:
    """The values of all marks."""
    return [row for rows in chart_spec(chart)["datasets"].values() for row in rows]


@pytest.mark.parametrize("places", [ALONG, UP, ONE, ()])
def test_a_metre_is_as_long_on_both_axes(places: tuple[MapPlace, ...]) -> None:
    drawn = map_of(places)
    (west, east), (south, north) = domains(drawn)
    share = chart_spec(drawn)["usermeta"]["height"]
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


def test_lengths_start_at_zero_unless_the_difference_is_to_be_seen() -> None:
    _, (low, _) = domains(LINES)
    assert low == 0
    _, (low, _) = domains(LineChart(title="t", x="x", y="y", series=LINES.series, from_zero=False))
    assert 55 < low < 60


def test_timelines_that_are_compared_share_their_axis() -> None:
    lanes = (("p1", (Span(start=0, end=62, label="n1"),)),)
    assert domains(Timeline(title="t", x="time", lanes=lanes))[0] == [0, 62]
    assert domains(Timeline(title="t", x="time", lanes=lanes, until=73))[0] == [0, 73]


def test_published_values_are_the_last_that_is_drawn() -> None:
    assert chart_spec(LINES)["layer"][-1]["transform"][-1] == {"filter": "datum.published"}
    bars = BarChart(title="b", y="%", groups=("a", "b"), bars=("ours",), values=((1.0,), (2.0,)),
                    published=(1.5, None))  # fmt: skip
    spec = chart_spec(bars)
    assert spec["layer"][-1]["mark"]["shape"] == "diamond"
    assert [row["value"] for row in rows_of(bars) if row["series"] == "published"] == [1.5]


def test_nothing_in_a_chart_ends_its_script() -> None:
    figure = chart_figure(LINES)
    assert figure.lower().count("</script") == 1
    assert "<!--" not in figure
    (text,) = re.findall(r'<script type="application/json">(.*?)</script>', figure, re.DOTALL)
    layers = json.loads(text)["layer"]
    assert layers[0]["encoding"]["y"]["title"] == "misses </SCRIPT><!--"


def test_charts_as_a_page_and_as_one_picture() -> None:
    files = chart_files("lines", [LINES, map_of(ALONG)], "both & more")
    assert list(files) == ["lines.html", "lines.svg"]
    assert files["lines.html"].count('<figure class="chart">') == 2
    assert len(re.findall(r"<script>", files["lines.html"])) == 2
    root = ElementTree.fromstring(files["lines.svg"])
    assert root.tag.endswith("svg")
    assert "both & more" in [text.text for text in root.iter() if text.tag.endswith("text")]
    assert chart_files("lines", [LINES, map_of(ALONG)], "both & more") == files
    assert chart_png(LINES).startswith(b"\x89PNG")


def test_without_altair_it_is_said_and_nothing_is_drawn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(chart_pages, "find_spec", lambda _: None)
    with pytest.raises(EnvironmentMissing, match=r"Charts need Altair.*headway\[plot\]"):
        chart_files("fleet", [LINES], "t")
    assert charts_or_note("fleet", [LINES], "t") == {}
    assert "fleet.html and fleet.svg are not written" in capsys.readouterr().err
