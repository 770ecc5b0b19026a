"""Charts as data: what is to be seen, not how it is drawn; :mod:`headway.report.chart_drawing` does
that. Load tests and fleets say with lines what they found; studies have more kinds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

WIDTH, HEIGHT = 560, 230
TEXT = 11
"""the size of letters"""
SHAPES = ("circle", "square", "triangle-up", "cross", "triangle-down", "triangle-right")
"""of the marks of a series, one after the other"""


class Chart(Protocol):
    """What pages and pictures can hold."""

    @property
    def title(self) -> str: ...

    @property
    def note(self) -> str: ...

    def spec(self) -> dict[str, Any]:
        """As Vega-Lite, as wide as the place it is put in."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """A point of a line with its spread; ``low`` and ``high`` as the chart's note says."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class Series:
    """A line of a chart; ``published``: taken from the paper, drawn over ours."""

    name: str
    points: tuple[Point, ...]
    published: bool = False
    dashed: bool = False


@dataclass(frozen=True, kw_only=True)
class LineChart:
    """Lines over a number."""

    title: str
    x: str
    y: str
    series: tuple[Series, ...]
    note: str = ""
    steps: bool = False
    """a value holds until the next point"""
    from_zero: bool = True
    """lengths are seen from zero; False where the difference is what is to be seen"""
    limit: float | None = None
    """a line across: a deadline"""

    def spec(self) -> dict[str, Any]:
        from headway.report.chart_drawing import draw_lines

        return draw_lines(self)
