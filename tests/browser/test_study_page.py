"""The report of `headway reproduce` in a real browser: every kind of picture, every link."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import pytest
from playwright.sync_api import Page
from tests.browser.conftest import Visitor

from headway.report.charts import LineChart, Point, Series
from headway_studies.provenance import PRINTED, assumed, changed, fitted
from headway_studies.registry import STUDIES
from headway_studies.report_page import study_page
from headway_studies.run_studies import CellDone, Reproduced
from headway_studies.study import Findings, Paper, beyond, numbers, stated
from headway_studies.study_charts import (
    BarChart,
    Box,
    BoxPlot,
    Grid,
    HeatMap,
    MapPlace,
    Span,
    Timeline,
    Track,
    TrackMap,
)

LINES = LineChart(
    title="Figure 1: lines",
    x="load, %",
    y="misses, %",
    series=(
        Series(
            name="ours <b>",
            points=tuple(Point(x=x, y=x * x, low=x * x - 1, high=x * x + 2) for x in range(6)),
        ),
        Series(name="theirs", points=(Point(x=0, y=1), Point(x=5, y=20)), published=True),
        Series(name="none", points=()),
    ),
)
BARS = BarChart(
    title="Figure 2: bars",
    y="ms",
    groups=("100 %", "200 %"),
    bars=("EDF", "FIFO"),
    values=((1.5, 3.0), (2.0, None)),
    spread=(((1.0, 2.0), None), (None, None)),
)
BOXES = BoxPlot(
    title="Figure 3: boxes",
    y="s",
    boxes=(Box(name="EDF", least=1, lower=2, median=3, upper=4, greatest=6),),
    limit=2.8,
)
LANES = Timeline(
    title="Figure 4: lanes",
    x="ms",
    lanes=(("p1", (Span(start=0, end=4, label="n1"), Span(start=5, end=6, label="n2", kind=1))),),
)
TRACKS = TrackMap(
    title="Figure 5: tracks",
    x="m east",
    y="m north",
    tracks=(
        Track(
            name="EDF",
            places=tuple(MapPlace(x=3 * x, y=0.1, radius=0.5, truth=(3 * x, 0)) for x in range(4)),
        ),
        Track(name="FIFO", places=(MapPlace(x=1, y=-0.4, radius=1.5), MapPlace(x=7, y=0.6))),
        Track(name="truth", places=(MapPlace(x=0, y=0), MapPlace(x=9, y=0)), true=True),
    ),
)
HEAT = HeatMap(
    title="Figure 6: heat",
    x="µs",
    columns=tuple(str(5 * place) for place in range(20)),
    rows=("a statement that is long enough to need more than one line", "another"),
    values=(tuple(float(place) for place in range(20)), (-1.0, 0.0) * 10),
    unit="points",
    marked=("5",),
)
GRID = Grid(title="Table 1", headers=("task", "deadline"), rows=(("T1", "30 ms"),))
EXAMPLE = replace(STUDIES["basic"], name="example", title="All kinds of pictures")
FOUND = Reproduced(
    study=EXAMPLE,
    cells=3,
    computed=3,
    failed=(),
    findings=Findings(
        claims=(
            numbers("table 1", "30", "30", came=PRINTED, equal=True),
            stated(
                "figure 2",
                "EDF < FIFO",
                "1.5 < 3",
                came=fitted("a cost of 3 <ms>", tried="1 and 2 ms"),
                holds=True,
            ),
            stated(
                "figure 3",
                "no <script>alert(1)</script>",
                "some",
                came=changed("another queue"),
                holds=False,
                why="because",
            ),
            beyond("figure 4", "how many?", "two", came=assumed("a load")),
        ),
        pictures=(LINES, BARS, BOXES, LANES, TRACKS, HEAT, GRID),
    ),
)
BROKEN = Reproduced(
    study=replace(EXAMPLE, name="broken", paper=Paper.NONE),
    cells=2,
    computed=1,
    failed=(CellDone(study="broken", cell='{"n": 1}', seconds=0.1, error="ValueError: no"),),
    findings=None,
)
ABSENT = replace(BROKEN, study=replace(BROKEN.study, name="absent"), failed=(), lacks="a drive")


@cache
def report() -> str:
    """Drawing it takes seconds: not while tests are collected."""
    return study_page([FOUND, BROKEN, ABSENT], "headway reproduce example", quick=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_fits_every_width(visitor: Visitor, width: int, scheme: str) -> None:
    page = visitor.open(report(), width=width, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert len(drawings(page)) == 6
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".grid table caption").inner_text() == "Table 1"
    ink, back = page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    assert (brightness(ink) < brightness(back)) == (scheme == "light")


def brightness(colour: str) -> int:
    """Of `rgb(r, g, b)`."""
    return sum(int(part) for part in re.findall(r"\d+", colour))


def test_every_mark_leads_to_its_claim(visitor: Visitor) -> None:
    page = visitor.open(report())
    marks = page.locator("a.mark")
    assert marks.count() == 4 + 2  # two studies without findings have one each
    texts = ["published", "published", "published", "asked"]
    for place, text in enumerate(texts):
        marks.nth(place).click()
        target = page.locator(".claim:target")
        assert target.get_attribute("id") == f"example-{place}"
        assert target.locator("dt").first.inner_text() == text
    for place, name in ((4, "broken"), (5, "absent")):
        marks.nth(place).click()
        assert page.locator(".study:target").get_attribute("id") == name
    tally = page.locator(".tally li")
    assert [tally.nth(i).inner_text().split()[0] for i in range(tally.count())] == ["1"] * 6


def test_every_claim_says_how_it_came_about(visitor: Visitor) -> None:
    """By a word and a colour, with what was fitted and tried; and counted at the top."""
    page = visitor.open(report())
    badges = page.locator(".claim .came .badge")
    words = [badges.nth(place).inner_text() for place in range(badges.count())]
    assert words == ["printed", "fitted", "changed", "assumed"]
    colours = {
        badges.nth(place).evaluate("one => getComputedStyle(one).color") for place in range(4)
    }
    assert len(colours) == 4
    told = page.locator("#example-1 .came").inner_text()
    assert "a cost of 3 <ms>" in told
    assert "Tried: 1 and 2 ms." in told
    lines = page.locator(".origins tbody tr")
    counted = [lines.nth(place).locator("td").all_inner_texts() for place in range(lines.count())]
    assert counted == [
        ["1", "–", "–", "–"],
        ["–", "–", "–", "1"],
        ["–", "–", "1", "–"],
        ["–", "1", "–", "–"],
    ]


def test_what_differs_says_why_and_what_failed_is_named(visitor: Visitor) -> None:
    page = visitor.open(report())
    assert page.locator(".claim.differs .why").inner_text() == "because"
    assert "<script>" in page.locator("#example-2 dd").first.inner_text()
    assert "ValueError: no" in page.locator("#broken").inner_text()
    assert page.locator(".claim.same .why").count() == 0
    assert "Not run here: a drive" in page.locator("#absent").inner_text()
    differences = page.locator(".differences li")
    assert differences.count() == 1
    assert "because" in differences.inner_text()
    differences.locator("a").click()
    assert page.locator(".claim:target").get_attribute("id") == "example-2"


DRAWN = "document.querySelectorAll('figure.chart[data-drawn] svg').length"


def drawings(page: Page) -> list[str]:
    """All charts, once they are drawn: those below the window are only on the way there."""
    count = page.locator("figure.chart").count()
    for place in range(count):
        page.locator("figure.chart").nth(place).scroll_into_view_if_needed()
    page.wait_for_function(f"{DRAWN} === {count}")
    found: list[str] = page.evaluate(
        "[...document.querySelectorAll('figure.chart')].map(figure => figure.dataset.drawn)"
    )
    return found


def test_charts_follow_the_scheme_of_the_page(visitor: Visitor) -> None:
    page = visitor.open(report(), color_scheme="dark")
    assert drawings(page) == ["dark"] * 6
    page.emulate_media(color_scheme="light")
    page.wait_for_function(
        "document.querySelectorAll('figure.chart[data-drawn=light] svg').length === 6"
    )


def test_texts_are_inside_their_charts(visitor: Visitor) -> None:
    page = visitor.open(report(), width=390)
    drawings(page)
    assert page.evaluate(OUTSIDE) == []


OUTSIDE = """[...document.querySelectorAll('figure.chart svg')].flatMap(svg => {
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter(text => {
    const box = text.getBoundingClientRect();
    return box.width && (box.left < frame.left - 1 || box.right > frame.right + 1
        || box.top < frame.top - 1 || box.bottom > frame.bottom + 1);
  }).map(text => text.textContent);
})"""
"""texts of charts that stick out of their frames"""


def test_a_mark_tells_its_numbers(visitor: Visitor) -> None:
    page = visitor.open(report())
    drawings(page)
    bars = page.locator("figure.chart").nth(1)
    bars.locator("path[aria-roledescription=bar]").nth(1).hover()
    told = page.locator("#vg-tooltip-element.visible")
    told.wait_for()
    assert told.inner_text().split() == [
        "group", "100", "%", "series", "FIFO", "ms", "3", "spread", "none",
    ]  # fmt: skip


def test_a_click_in_the_legend_hides_a_series_and_brings_it_back(visitor: Visitor) -> None:
    page = visitor.open(report())
    drawings(page)
    chart = page.locator("figure.chart").nth(1)
    bars = chart.locator("path[aria-roledescription=bar]")
    assert bars.count() == 3
    entry = chart.locator(".role-legend-label text").filter(has_text="EDF").first
    for left in (1, 3):
        entry.click()
        page.wait_for_function(
            "left => document.querySelectorAll('figure.chart')[1]"
            ".querySelectorAll('path[aria-roledescription=bar]').length === left",
            arg=left,
        )


def test_prints_on_white(visitor: Visitor) -> None:
    page = visitor.open(report(), color_scheme="dark")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.wait_for_function(
        "document.querySelectorAll('figure.chart[data-drawn=light] svg').length === 6"
    )
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert back == "rgb(255, 255, 255)"
