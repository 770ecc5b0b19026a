"""What a study found: claims beside the papers', and the data of the pictures that show it.

A chart says what is to be seen, not how it is drawn: :mod:`headway.report` does that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """How ours stands beside the paper's."""

    EQUAL = "equal"
    """the same numbers"""
    SAME = "same order and scale"
    """the same ordering, numbers within a factor of two"""
    DIFFERS = "differs"
    """with the reason"""
    BEYOND = "beyond the papers"
    """no paper says anything about it"""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One published statement or number, and what came out here."""

    figure: str
    published: str
    ours: str
    verdict: Verdict
    why: str = ""

    def __post_init__(self) -> None:
        if self.verdict is Verdict.DIFFERS and not self.why:
            raise ValueError(f"{self.figure}: a difference must say why: {self.published}")


@dataclass(frozen=True, kw_only=True)
class Point:
    """A point of a line with its spread; ``low`` and ``high`` as the chart's note says."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class Series:
    """A line of a chart; ``published``: taken from the paper, drawn dashed."""

    name: str
    points: tuple[Point, ...]
    published: bool = False


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
    note: str = ""


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
    """Boxes side by side; ``limit`` is a line across (a stopping time, a deadline)."""

    title: str
    y: str
    boxes: tuple[Box, ...]
    limit: float | None = None
    note: str = ""


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


@dataclass(frozen=True, kw_only=True)
class Place:
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
    places: tuple[Place, ...]
    true: bool = False


@dataclass(frozen=True, kw_only=True)
class TrackMap:
    """Tracks on a map: a metre is as long on both axes."""

    title: str
    x: str
    y: str
    tracks: tuple[Track, ...]
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A table of text."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Chart = LineChart | BarChart | BoxPlot | TrackMap | Timeline
"""what is drawn"""
Picture = Chart | Grid


@dataclass(frozen=True, kw_only=True)
class Findings:
    """All that a study has to show."""

    claims: tuple[Claim, ...]
    pictures: tuple[Picture, ...] = ()


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


NO_REASON = "the reason has not been found"


def stated(figure: str, published: str, ours: str, *, holds: bool, why: str = NO_REASON) -> Claim:
    """A statement of order or scale that was checked; ``why`` is told only where it fails."""
    verdict = Verdict.SAME if holds else Verdict.DIFFERS
    told = "" if holds else why
    return Claim(figure=figure, published=published, ours=ours, verdict=verdict, why=told)


def numbers(figure: str, published: str, ours: str, *, equal: bool, why: str = NO_REASON) -> Claim:
    """Published numbers that ours must equal; ``why`` is told only where they do not."""
    verdict = Verdict.EQUAL if equal else Verdict.DIFFERS
    told = "" if equal else why
    return Claim(figure=figure, published=published, ours=ours, verdict=verdict, why=told)


def beyond(figure: str, asked: str, ours: str) -> Claim:
    """A question that no paper answers."""
    return Claim(figure=figure, published=asked, ours=ours, verdict=Verdict.BEYOND)
