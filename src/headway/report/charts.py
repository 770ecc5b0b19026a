"""The studies' charts as SVG: lines, bars, boxes, timelines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from headway.experiments.findings import BarChart, Box, BoxPlot, LineChart, Series, Timeline
from headway.report.chart_axes import (
    HEIGHT,
    LEFT,
    TOP,
    WIDTH,
    Scale,
    horizontal,
    plain_number,
    vertical,
    x_axis,
    y_axis,
)
from headway.report.chart_frame import chart, colour, legend
from headway.report.svg import element, group, label, number, rect, width_of

LANE, LANE_BAR, LANE_LABEL = 34.0, 24.0, 11.0
MARKERS = 40
"""Lines of more points have none drawn."""
APART = 4.0
"""between the spreads of two lines at one place, so that both are seen"""


def line_chart(drawn: LineChart) -> str:
    points = [point for series in drawn.series for point in series.points]
    x = horizontal([point.x for point in points])
    y = vertical(
        [point.y for point in points]
        + [end for point in points for end in (point.low, point.high) if end is not None]
    )
    lines = [
        _line(series, place, x, y, count=len(drawn.series), steps=drawn.steps)
        for place, series in enumerate(drawn.series)
    ]
    names = [
        (series.name, f"s{colour(place)}{' published' if series.published else ''}", True)
        for place, series in enumerate(drawn.series)
    ]
    below, rows = legend(names)
    return chart(
        drawn.title, y_axis(y, drawn.y), x_axis(x, drawn.x), *lines, below=below, rows=rows
    )


def _width(place: int, count: int) -> float:
    """Lines are drawn one over the other: those below are wider, so that equal ones are seen."""
    return 2 + min(4.0, 1.3 * (count - 1 - place))


def marker(place: int, x: float, y: float) -> str:
    """A shape of its own for each line: not every eye tells colours apart."""
    kind = f"f{colour(place)}"
    shape = place % 4
    if shape == 0:
        return element("circle", cx=x, cy=y, r=2.8, class_=kind)
    if shape == 1:
        return rect(x - 2.6, y - 2.6, 5.2, 5.2, kind)
    path = "m0 -3.6l3.4 6h-6.8z" if shape == 2 else "m0 -3.8l3.8 3.8l-3.8 3.8l-3.8 -3.8z"
    return element("path", class_=kind, d=f"M{_at(x, y)}{path}")


def _line(series: Series, place: int, x: Scale, y: Scale, *, count: int, steps: bool) -> str:
    if not series.points:
        return ""
    kind = f"s{colour(place)}"
    path = f"M{_at(x.at(series.points[0].x), y.at(series.points[0].y))}"
    for _, point in pairwise(series.points):
        across = f"H{number(x.at(point.x))}" if steps else ""
        path += across + f"L{_at(x.at(point.x), y.at(point.y))}"
    aside = APART * (place - (count - 1) / 2)
    spread = "".join(
        f"M{_at(x.at(point.x) + aside, y.at(point.low))}V{number(y.at(point.high))}"
        for point in series.points
        if point.low is not None and point.high is not None
    )
    dashed = " published" if series.published else ""
    marks = [
        marker(place, x.at(point.x), y.at(point.y))
        for point in series.points
        if len(series.points) <= MARKERS and not steps
    ]
    told = "\n".join(
        f"{series.name}: {plain_number(point.x)} → {plain_number(point.y)}"
        for point in series.points[:MARKERS]
    )
    return group(
        "series",
        element("path", class_=f"line {kind}{dashed}", d=path, stroke_width=_width(place, count)),
        element("path", class_=f"{kind}", d=spread) if spread else "",
        *marks,
        title=told,
    )


def bar_chart(drawn: BarChart) -> str:
    known = [value for values in drawn.values for value in values if value is not None]
    ends = [end for values in drawn.spread for pair in values if pair for end in pair]
    y = vertical([*known, *ends])
    step = WIDTH / max(1, len(drawn.groups))
    width = min(46.0, 0.8 * step / max(1, len(drawn.bars)))
    parts = list(_bars(drawn, y, step, width))
    base = TOP + HEIGHT
    parts.append(
        element("path", class_="axis", d=f"M{number(LEFT)} {number(y.at(0))}h{number(WIDTH)}")
    )
    parts += [
        label(name, LEFT + (place + 0.5) * step, base + 17, step, anchor="middle", class_="muted")
        for place, name in enumerate(drawn.groups)
    ]
    below, rows = legend(
        [(name, f"f{colour(place)}", False) for place, name in enumerate(drawn.bars)]
    )
    return chart(drawn.title, y_axis(y, drawn.y), *parts, below=below, rows=rows)


def _bars(drawn: BarChart, y: Scale, step: float, width: float) -> Iterator[str]:
    for at, values in enumerate(drawn.values):
        left = LEFT + (at + 0.5) * step - width * len(drawn.bars) / 2
        for place, value in enumerate(values):
            if value is None:
                continue
            top, bottom = sorted((y.at(value), y.at(0)))
            x = left + place * width
            bar = rect(x + 1, top, width - 2, max(1.0, bottom - top), f"f{colour(place)}")
            spread = drawn.spread[at][place] if drawn.spread else None
            whisker = (
                element(
                    "path",
                    class_="axis",
                    d=f"M{_at(x + width / 2, y.at(spread[0]))}V{number(y.at(spread[1]))}",
                )
                if spread
                else ""
            )
            told = f"{drawn.groups[at]}, {drawn.bars[place]}: {plain_number(value)}"
            yield group("bar", bar, whisker, title=told)


def box_plot(drawn: BoxPlot) -> str:
    limit = [] if drawn.limit is None else [drawn.limit]
    y = vertical([*limit, *(value for box in drawn.boxes for value in (box.least, box.greatest))])
    step = WIDTH / max(1, len(drawn.boxes))
    parts = [_box(box, place, y, step) for place, box in enumerate(drawn.boxes)]
    base = TOP + HEIGHT
    parts.append(
        element("path", class_="axis", d=f"M{number(LEFT)} {number(base)}h{number(WIDTH)}")
    )
    if drawn.limit is not None:
        at = number(y.at(drawn.limit))
        parts.append(element("path", class_="limit", d=f"M{number(LEFT)} {at}h{number(WIDTH)}"))
    return chart(drawn.title, y_axis(y, drawn.y), *parts)


def _box(box: Box, place: int, y: Scale, step: float) -> str:
    middle, half = LEFT + (place + 0.5) * step, min(26.0, step / 4)
    whiskers = (
        f"M{_at(middle, y.at(box.least))}V{number(y.at(box.lower))}"
        f"M{_at(middle, y.at(box.upper))}V{number(y.at(box.greatest))}"
        f"M{_at(middle - half / 2, y.at(box.least))}h{number(half)}"
        f"M{_at(middle - half / 2, y.at(box.greatest))}h{number(half)}"
    )
    told = (
        f"{box.name}: {plain_number(box.least)}, {plain_number(box.lower)}, "
        f"{plain_number(box.median)}, {plain_number(box.upper)}, {plain_number(box.greatest)}"
    )
    height = max(1.0, y.at(box.lower) - y.at(box.upper))
    return group(
        "box",
        element("path", class_="axis", d=whiskers),
        rect(middle - half, y.at(box.upper), 2 * half, height, f"t{colour(place)}", 2),
        element(
            "path", class_=f"line s{colour(place)}",
            d=f"M{_at(middle - half, y.at(box.median))}h{number(2 * half)}",
        ),
        label(box.name, middle, TOP + HEIGHT + 17, step, anchor="middle", class_="muted"),
        title=told,
    )  # fmt: skip


def timeline(drawn: Timeline) -> str:
    spans = [span for _, lane in drawn.lanes for span in lane]
    x = horizontal([0.0, *(span.end for span in spans)])
    height = LANE * len(drawn.lanes)
    parts = []
    for place, (name, lane) in enumerate(drawn.lanes):
        top = TOP + place * LANE + (LANE - LANE_BAR) / 2
        parts.append(label(name, LEFT - 7, top + 16, LEFT - 10, anchor="end", class_="muted"))
        for span in lane:
            left, width = x.at(span.start), x.at(span.end) - x.at(span.start)
            bar = rect(left, top, max(1.0, width - 1), LANE_BAR, f"t{colour(span.kind)}", 2)
            inside = label(
                span.label, left + width / 2, top + 16, width, anchor="middle", class_="inside",
                size=LANE_LABEL,
            )  # fmt: skip
            told = f"{span.label}: {plain_number(span.start)} to {plain_number(span.end)}"
            fits = width_of(span.label, LANE_LABEL) < width
            parts.append(group("span", bar, inside if fits else "", title=told))
    return chart(drawn.title, x_axis(x, drawn.x, height), *parts, height=height)


def _at(x: float, y: float) -> str:
    return f"{number(x)} {number(y)}"
