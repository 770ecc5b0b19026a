"""The kinds of charts that only studies show, as data; lines are Headway's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headway.report.charts import LineChart


@dataclass(frozen=True, kw_only=True)
class BarChart:
    """Groups of bars: ``values[group][bar]``, None where there is none; ``spread`` in the same
    form, each (low, high)."""

    title: str
    y: str
    groups: tuple[str, ...]
    bars: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    spread: tuple[tuple[tuple[float, float] | None, ...], ...] = ()
    published: tuple[float | None, ...] = ()
    """for each group, taken from the paper, drawn over ours"""
    note: str = ""

    def spec(self) -> dict[str, Any]:
        from headway_studies.study_chart_drawing import draw_bars

        return draw_bars(self)


@dataclass(frozen=True, kw_only=True)
class Box:
    """Five numbers of a sample: least, quartiles, greatest."""

    name: str
    least: float
    lower: float
    median: float
    upper: float
    greatest: float


@dataclass(frozen=True, kw_only=True)
class BoxPlot:
    """Boxes beside each other; ``limit`` is a line across (a stopping time, a deadline)."""

    title: str
    y: str
    boxes: tuple[Box, ...]
    limit: float | None = None
    note: str = ""

    def spec(self) -> dict[str, Any]:
        from headway_studies.study_chart_drawing import draw_boxes

        return draw_boxes(self)


@dataclass(frozen=True, kw_only=True)
class Span:
    """A bar on a lane of a timeline."""

    start: float
    end: float
    label: str
    kind: int = 0
    """bars of one kind share a colour"""


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """What ran when: lanes are processors, links or policies."""

    title: str
    x: str
    lanes: tuple[tuple[str, tuple[Span, ...]], ...]
    note: str = ""
    until: float | None = None
    """the end of the axis where several are compared; else that of the last bar"""

    def spec(self) -> dict[str, Any]:
        from headway_studies.study_chart_drawing import draw_timeline

        return draw_timeline(self)


@dataclass(frozen=True, kw_only=True)
class MapPlace:
    """A position on a map, in metres; ``radius`` is that of a circle around it, ``truth`` the place
    that it means."""

    x: float
    y: float
    radius: float | None = None
    truth: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class Track:
    """Places of something that moves, in the order of time; ``true``: where it really was, drawn as
    a plain line."""

    name: str
    places: tuple[MapPlace, ...]
    true: bool = False


@dataclass(frozen=True, kw_only=True)
class TrackMap:
    """Tracks on a map: a metre is as long on both axes."""

    title: str
    x: str
    y: str
    tracks: tuple[Track, ...]
    note: str = ""

    def spec(self) -> dict[str, Any]:
        from headway_studies.study_chart_drawing import draw_tracks

        return draw_tracks(self)


@dataclass(frozen=True, kw_only=True)
class HeatMap:
    """How far something holds, over two things: ``values[row][column]``, above 0 it does. Columns
    that are ``marked`` are framed."""

    title: str
    x: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    unit: str
    marked: tuple[str, ...] = ()
    note: str = ""

    def spec(self) -> dict[str, Any]:
        from headway_studies.study_chart_drawing import draw_heat_map

        return draw_heat_map(self)


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A table of text."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Chart = LineChart | BarChart | BoxPlot | TrackMap | Timeline | HeatMap
"""what is drawn"""
Picture = Chart | Grid


def box(name: str, values: Sequence[float]) -> Box:
    """The five numbers, by linear interpolation between the sorted values."""
    ordered = sorted(values)

    def at(share: float) -> float:
        place = share * (len(ordered) - 1)
        low = int(place)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (ordered[high] - ordered[low]) * (place - low)

    return Box(
        name=name, least=at(0), lower=at(0.25), median=at(0.5), upper=at(0.75), greatest=at(1)
    )
