"""Charts: what is drawn where, that nothing ends its script, and what is said without Altair."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import pytest

from headway.cli.charts_written import charts_or_note
from headway.errors import EnvironmentMissing
from headway.report import chart_pages
from headway.report.chart_pages import chart_figure, chart_files, chart_png
from headway.report.charts import Chart, LineChart, Point, Series

LINES = LineChart(
    title="a </script> in the title",
    x="load",
    y="misses </SCRIPT><!--",
    series=(
        Series(name="ours", points=tuple(Point(x=x, y=60 + x) for x in range(5))),
        Series(name="theirs", points=(Point(x=1, y=64),), published=True),
    ),
)
STEPS = LineChart(title="steps", x="x", y="y", series=LINES.series, steps=True)


def domains(chart: Chart) -> tuple[list[float], list[float]]:
    first = chart.spec()["layer"][0]["encoding"]
    return first["x"]["scale"]["domain"], first["y"]["scale"]["domain"]


def test_lengths_start_at_zero_unless_the_difference_is_to_be_seen() -> None:
    _, (low, _) = domains(LINES)
    assert low == 0
    _, (low, _) = domains(LineChart(title="t", x="x", y="y", series=LINES.series, from_zero=False))
    assert 55 < low < 60


def test_published_values_are_the_last_that_is_drawn() -> None:
    assert LINES.spec()["layer"][-1]["transform"][-1] == {"filter": "datum.published"}


def test_nothing_in_a_chart_ends_its_script() -> None:
    figure = chart_figure(LINES)
    assert figure.lower().count("</script") == 1
    assert "<!--" not in figure
    (text,) = re.findall(r'<script type="application/json">(.*?)</script>', figure, re.DOTALL)
    layers = json.loads(text)["layer"]
    assert layers[0]["encoding"]["y"]["title"] == "misses </SCRIPT><!--"


def test_charts_as_a_page_and_as_one_picture() -> None:
    files = chart_files("lines", [LINES, STEPS], "both & more")
    assert list(files) == ["lines.html", "lines.svg"]
    assert files["lines.html"].count('<figure class="chart">') == 2
    assert len(re.findall(r"<script>", files["lines.html"])) == 2
    root = ElementTree.fromstring(files["lines.svg"])
    assert root.tag.endswith("svg")
    assert "both & more" in [text.text for text in root.iter() if text.tag.endswith("text")]
    assert chart_files("lines", [LINES, STEPS], "both & more") == files
    assert chart_png(LINES).startswith(b"\x89PNG")


def test_without_altair_it_is_said_and_nothing_is_drawn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(chart_pages, "find_spec", lambda _: None)
    with pytest.raises(EnvironmentMissing, match=r"Charts need Altair.*headway\[plot\]"):
        chart_files("fleet", [LINES], "t")
    assert charts_or_note("fleet", [LINES], "t") == {}
    assert "fleet.html and fleet.svg are not written" in capsys.readouterr().err
