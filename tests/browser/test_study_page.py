"""The report of `headway reproduce` in a real browser: every kind of picture, every link."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from headway.report.charts import (
    BarChart,
    Box,
    BoxPlot,
    Grid,
    LineChart,
    MapPlace,
    Point,
    Series,
    Span,
    Timeline,
    Track,
    TrackMap,
)
from tests.browser.conftest import Visitor

from headway_studies.registry import STUDIES
from headway_studies.report_page import study_page
from headway_studies.run_studies import CellDone, Reproduced
from headway_studies.study import Findings, Paper, beyond, numbers, stated

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
GRID = Grid(title="Table 1", headers=("task", "deadline"), rows=(("T1", "30 ms"),))
EXAMPLE = replace(STUDIES["basic"], name="example", title="All kinds of pictures")
FOUND = Reproduced(
    study=EXAMPLE,
    cells=3,
    computed=3,
    failed=(),
    findings=Findings(
        claims=(
            numbers("table 1", "30", "30", equal=True),
            stated("figure 2", "EDF < FIFO", "1.5 < 3", holds=True),
            stated("figure 3", "no <script>alert(1)</script>", "some", holds=False, why="because"),
            beyond("figure 4", "how many?", "two"),
        ),
        pictures=(LINES, BARS, BOXES, LANES, TRACKS, GRID),
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
PAGE = study_page([FOUND, BROKEN, ABSENT], "headway reproduce example", quick=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_fits_every_width(visitor: Visitor, width: int, scheme: str) -> None:
    page = visitor.open(PAGE, width=width, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("figure svg.chart").count() == 5
    assert page.locator("table caption").inner_text() == "Table 1"
    ink, back = page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    assert (brightness(ink) < brightness(back)) == (scheme == "light")


def brightness(colour: str) -> int:
    """Of `rgb(r, g, b)`."""
    return sum(int(part) for part in re.findall(r"\d+", colour))


def test_every_mark_leads_to_its_claim(visitor: Visitor) -> None:
    page = visitor.open(PAGE)
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


def test_what_differs_says_why_and_what_failed_is_named(visitor: Visitor) -> None:
    page = visitor.open(PAGE)
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


def test_pictures_tell_their_numbers(visitor: Visitor) -> None:
    page = visitor.open(PAGE)
    told = page.evaluate(
        "[...document.querySelectorAll('svg.chart g>title')].map(t=>t.textContent)"
    )
    assert "ours <b>: 2 → 4" in told[0]
    assert "100 %, FIFO: 3" in told
    assert "EDF: 1, 2, 3, 4, 6" in told
    assert "n2: 5 to 6" in told
    assert "FIFO: 1, -0.4 ± 1.5" in told
    boxes = page.evaluate(
        """[...document.querySelectorAll('figure svg.chart')].map(svg => {
             const frame = svg.getBoundingClientRect();
             return [...svg.querySelectorAll('text')].every(text => {
               const box = text.getBoundingClientRect();
               return box.left >= frame.left - 1 && box.right <= frame.right + 1
                   && box.bottom <= frame.bottom + 1;
             });
           })"""
    )
    assert boxes == [True] * 5


def test_prints_on_white(visitor: Visitor) -> None:
    page = visitor.open(PAGE, color_scheme="dark")
    page.emulate_media(media="print")
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert back == "rgb(255, 255, 255)"
    fill = page.evaluate("getComputedStyle(document.querySelector('svg.chart .page')).fill")
    assert fill == "rgb(255, 255, 255)"
