"""The pictures of a reproduction as PNG files, for pages that cannot hold SVG with a style."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.util import find_spec

from headway.errors import EnvironmentMissing
from headway.experiments.findings import Chart, Grid
from headway.experiments.reproduce import Reproduced
from headway.report.chart_axes import LEFT, RIGHT, WIDTH
from headway.report.chart_frame import LIGHT_CSS
from headway.report.study_page import svg_of
from headway.report.svg import label, number

ZOOM = 2
"""pixels for each unit of the drawing"""
HEAD = 24.0
"""room above the drawing, for its title"""


def check_png() -> None:
    """EnvironmentMissing where what draws is not installed: told before an hour of computing."""
    if find_spec("resvg_py") is None:
        raise EnvironmentMissing(
            "Pictures as PNG need resvg-py. Install it with: pip install 'headway[plot]'"
        )


def pngs(found: Sequence[Reproduced]) -> dict[str, bytes]:
    """Every picture that is no table, by the name of its file."""
    return {name: png(chart) for one in found for name, chart in named_charts(one).items()}


def named_charts(one: Reproduced) -> dict[str, Chart]:
    """``STUDY-1.png`` and so on, in the order of the report."""
    pictures = one.findings.pictures if one.findings else ()
    charts = [picture for picture in pictures if not isinstance(picture, Grid)]
    return {f"{one.study.name}-{place}.png": chart for place, chart in enumerate(charts, start=1)}


def png(picture: Chart) -> bytes:
    """On white, the title above."""
    from resvg_py import svg_to_bytes

    drawing = titled(svg_of(picture), picture.title)
    return bytes(svg_to_bytes(svg_string=drawing, zoom=ZOOM, background="#ffffff"))


def titled(svg: str, title: str) -> str:
    """The drawing with its style and title inside, so that it stands alone."""
    start, _, rest = svg.partition('viewBox="0 0 ')
    size, _, inside = rest.partition('">')
    width, height = (float(part) for part in size.split())
    box = f"0 {number(-HEAD)} {number(width)} {number(height + HEAD)}"
    head = label(title, 8, -6, LEFT + WIDTH + RIGHT - 16, size=13, bold=True)
    return f'{start}viewBox="{box}"><style>{escape(LIGHT_CSS)}</style>{head}{inside}'
