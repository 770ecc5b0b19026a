"""The charts of :mod:`headway.report.charts` as Vega-Lite, made with Altair.

Every mark tells its numbers. A click in a legend hides a series or brings it back; dragging moves a
chart, the wheel with Shift zooms it (without, it scrolls the page), a double click puts it back.
Whatever is published is drawn over ours, as diamonds with an outline. Colours are those of the
configuration that a page or picture gives (:mod:`headway.report.chart_pages`); ink is
``currentColor``: that of the text around the chart.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal

from headway.report.charts import (
    BarChart,
    BoxPlot,
    Chart,
    LineChart,
    MapPlace,
    Series,
    Timeline,
    Track,
    TrackMap,
)
from headway.report.svg import plain, width_of

if TYPE_CHECKING:
    import altair as alt

Values = list[dict[str, Any]]

INK = "currentColor"
PUBLISHED = "published"
"""the series of published values among bars"""
WIDTH, HEIGHT, LANE = 560, 230, 34
TEXT = 11
MARKERS = 40
"""Lines of more points have none drawn."""
MAP_LEAST, MAP_MOST, MAP_MARGIN = 0.2, 0.75, 0.04
"""the height of a map as a share of its width; and what is left free around it"""
CORNERS = 24
"""of the polygon that is drawn for a circle"""
THEIRS: dict[str, Any] = {
    "filled": True, "size": 120, "stroke": INK, "strokeWidth": 1.5, "opacity": 1,
}  # fmt: skip
"""the diamonds of published values"""
SHAPES = ("circle", "square", "triangle-up", "cross", "triangle-down", "triangle-right")


def chart_spec(chart: Chart) -> dict[str, Any]:
    """As Vega-Lite, as wide as the place it is put in."""
    import altair as alt

    if isinstance(chart, LineChart):
        whole = _lines(chart)
    elif isinstance(chart, BarChart):
        whole = _bars(chart)
    elif isinstance(chart, BoxPlot):
        whole = _boxes(chart)
    elif isinstance(chart, TrackMap):
        whole = _tracks(chart)
    else:
        whole = _spans(chart)
    legend = _legend_width(_named(chart))
    columns = alt.param(name="columns", value=max(1, int(WIDTH // legend)))
    share = _map_frame(chart)[2] if isinstance(chart, TrackMap) else None
    spec: dict[str, Any] = (
        whole.add_params(columns)
        .properties(
            width="container",
            height=_height(chart) if share is None else round(WIDTH * share),
            description=plain(chart.title),
            autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
        )
        .to_dict()
    )
    spec.pop("config", None)  # the page has it once
    return spec | {"usermeta": {"height": share, "legend": round(legend)}}


def _named(chart: Chart) -> list[str]:
    """What a legend names."""
    if isinstance(chart, LineChart):
        return [plain(series.name) for series in chart.series]
    if isinstance(chart, BarChart):
        return [plain(name) for name in (*chart.bars, *([PUBLISHED] if chart.published else ()))]
    if isinstance(chart, TrackMap):
        return [plain(track.name) for track in chart.tracks if not track.true]
    return []


def _height(chart: Chart) -> int:
    if isinstance(chart, Timeline):
        return LANE * max(1, len(chart.lanes))
    if isinstance(chart, BoxPlot):
        return LANE * max(2, len(chart.boxes))
    if isinstance(chart, BarChart) and _lying(chart):
        return len(chart.groups) * (12 * len(chart.bars) + 12)
    return HEIGHT


# ---------------------------------------------------------------- what charts share


def _data(values: Values) -> alt.InlineData:
    import altair as alt

    told = [
        {key: _short(one) for key, one in row.items() if one not in (None, "")} for row in values
    ]
    return alt.InlineData(values=told)


def _short(value: float | str) -> float | str:
    """Nobody sees more than seven digits of a mark's place, and a page holds thousands of them."""
    return float(f"{value:.7g}") if isinstance(value, float) else value


def _legend() -> alt.Legend:
    """Below the chart; the page says how many columns fit its width."""
    import altair as alt

    return alt.Legend(
        title=None,
        orient="bottom",
        direction="horizontal",
        columns=alt.ExprRef(expr="columns"),
        symbolOpacity=1,
        symbolStrokeWidth=0,
    )


def _legend_width(names: Sequence[str]) -> float:
    """Of a column."""
    return max((width_of(name, TEXT) for name in names), default=0.0) + 34


def _toggle(names: Sequence[str]) -> alt.Parameter:
    """All series are there until a click in the legend hides one."""
    import altair as alt

    return alt.selection_point(
        name="shown",
        fields=["series"],
        bind="legend",
        toggle="true",
        clear=False,
        empty=False,
        value=[{"series": name} for name in names],
    )


def _moving(*encodings: Literal["x", "y"]) -> alt.Parameter:
    """Drag and zoom; the wheel alone is the page's."""
    import altair as alt

    return alt.selection_interval(
        name="seen",
        bind="scales",
        encodings=list(encodings),
        zoom="wheel![event.shiftKey]",
    )


def _colour(names: Sequence[str], *, legend: bool = True) -> alt.Color:
    import altair as alt

    return alt.Color(
        "series:N",
        sort=None,
        scale=alt.Scale(domain=list(names)),
        legend=_legend() if legend else None,
    )


def _shape(names: Sequence[str], published: Collection[str] = ()) -> alt.Shape:
    """With the same legend as the colour: the two become one."""
    import altair as alt

    shapes = [
        "diamond" if name in published else SHAPES[place % len(SHAPES)]
        for place, name in enumerate(names)
    ]
    scale = alt.Scale(domain=list(names), range=shapes)
    return alt.Shape("series:N", sort=None, scale=scale, legend=_legend())


def _limit(value: float, axis: Literal["x", "y"]) -> alt.Chart:
    """A line across the chart."""
    import altair as alt

    told = alt.Tooltip("limit:Q", title="limit", format=".4~g")
    where = {"x": alt.X("limit:Q")} if axis == "x" else {"y": alt.Y("limit:Q")}
    found: alt.Chart = (
        alt.Chart(_data([{"limit": value}]))
        .mark_rule(color="#c0392b", strokeDash=[5, 3], strokeWidth=1.5)
        .encode(tooltip=told, **where)
    )
    return found


def _number(field: str, title: str) -> alt.Tooltip:
    import altair as alt

    return alt.Tooltip(f"{field}:Q", title=plain(title), format=".4~g")


def _spread(low: float | None, high: float | None) -> str:
    return "none" if low is None or high is None else f"{low:.4g} to {high:.4g}"


def _ends(values: Iterable[float]) -> tuple[float, float]:
    known = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    return min(known), max(known)


def _breadth(low: float, high: float) -> tuple[float, float]:
    """A single value gets an axis, too."""
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _domain(values: Iterable[float | None], *, from_zero: bool = True) -> alt.Scale:
    """The same whatever the legend hides."""
    import altair as alt

    low, high = _ends(value for value in values if value is not None)
    low, high = _breadth(low, high)
    if from_zero:
        low, high = min(0.0, low), max(0.0, high)
    else:
        low, high = low - (high - low) / 20, high + (high - low) / 20
    return alt.Scale(domain=[low, high], nice=True, zero=False)


# ---------------------------------------------------------------- lines


def _lines(chart: LineChart) -> alt.LayerChart:
    import altair as alt

    names = _named(chart)
    published = {plain(series.name) for series in chart.series if series.published}
    low, high = _breadth(*_ends(point.x for series in chart.series for point in series.points))
    has_spread = any(point.low is not None for one in chart.series for point in one.points)
    margin = 0.02 * (high - low)  # markers at the ends are whole
    values = [
        one
        for place, series in enumerate(chart.series)
        for one in _line_values(chart, series, place, high - low, spread=has_spread)
    ]
    ends = [chart.limit, *(one[key] for one in values for key in ("y", "low", "high"))]
    across = alt.Scale(domain=[low - margin, high + margin], nice=False, zero=False)
    x = alt.X("x:Q", title=plain(chart.x), scale=across)
    y = alt.Y("y:Q", title=plain(chart.y), scale=_domain(ends, from_zero=chart.from_zero))
    tooltip = [
        alt.Tooltip("series:N", title="series"),
        _number("x", chart.x),
        _number("y", chart.y),
    ]
    if has_spread:
        tooltip.append(alt.Tooltip("spread:N", title="spread"))
    shown = _toggle(names)
    base = alt.Chart().transform_filter(shown)
    line = base.mark_line(
        interpolate="step-after" if chart.steps else "linear", strokeJoin="round", clip=True
    ).encode(
        x=x,
        y=y,
        order="order:Q",
        color=_colour(names),
        strokeWidth=alt.StrokeWidth("width:Q", scale=None, legend=None),
        strokeDash=alt.condition("datum.dashed", alt.value([6, 4]), alt.value([1, 0])),
        detail=["series:N", "dashed:N"],
    )
    layers: list[alt.Chart] = [line.add_params(shown, _moving("x", "y"))]
    if has_spread:
        spread = base.transform_filter("isValid(datum.low) && isValid(datum.high)")
        layers.append(
            spread.mark_rule(strokeWidth=1.2, clip=True).encode(
                x=alt.X("aside:Q"), y=alt.Y("low:Q"), y2="high:Q", color=_colour(names)
            )
        )
    # What has no markers answers the pointer all the same; what is published comes last.
    kinds = (
        ("!datum.marked", {"filled": True, "size": 60, "opacity": 0}),
        ("datum.marked && !datum.published", {"filled": True, "size": 46, "opacity": 1}),
        ("datum.published", THEIRS),
    )
    for kind, look in kinds:
        points = base.transform_filter(kind).mark_point(clip=True, **look)
        layers.append(
            points.encode(
                x=x, y=y, color=_colour(names), shape=_shape(names, published), tooltip=tooltip
            )
        )
    if chart.limit is not None:
        layers.append(_limit(chart.limit, "y"))
    return alt.LayerChart(layer=layers, data=_data(values))


def _line_values(
    chart: LineChart, series: Series, place: int, breadth: float, *, spread: bool
) -> Values:
    """Spreads at one place stand side by side; lines below are wider, so that equal ones show."""
    count = len(chart.series)
    aside = breadth * 4 / WIDTH * (place - (count - 1) / 2)
    return [
        {
            "series": plain(series.name),
            "x": point.x,
            "y": point.y,
            "low": point.low,
            "high": point.high,
            "spread": _spread(point.low, point.high) if spread else None,
            "aside": point.x + aside,
            "published": series.published or None,
            "dashed": series.dashed or series.published or None,
            "width": 2 + min(3.0, count - 1 - place),
            "marked": (len(series.points) <= MARKERS and not chart.steps) or None,
            "order": number,
        }
        for number, point in enumerate(series.points)
        if math.isfinite(point.y)
    ]


# ---------------------------------------------------------------- bars and boxes


def _lying(chart: BarChart) -> bool:
    """Whether the names of the groups are too long to stand below them on a narrow screen."""
    return len(chart.groups) * max((len(name) for name in chart.groups), default=0) > 40


def _bars(chart: BarChart) -> alt.LayerChart:
    import altair as alt

    names, bars = _named(chart), [plain(name) for name in chart.bars]
    groups = ["\n".join(wrap(plain(name), 20)) or " " for name in chart.groups]
    values: Values = []
    for at, row in enumerate(chart.values):
        about = {"group": groups[at], "name": plain(chart.groups[at])}
        for place, value in enumerate(row):
            low, high = (chart.spread[at][place] if chart.spread else None) or (None, None)
            if value is not None:
                named = {"series": bars[place], "value": value, "low": low, "high": high}
                values.append(about | named | {"spread": _spread(low, high)})
        if chart.published and chart.published[at] is not None:
            values.append(about | {"series": PUBLISHED, "value": chart.published[at]})
    scale = _domain(one.get(key) for one in values for key in ("value", "low", "high"))
    lying = _lying(chart)
    axis = alt.Axis(
        labelAngle=0,
        labelExpr="split(datum.label, '\\n')",
        title=None,
        offset=8 if lying else 0,
    )
    among = alt.Scale(domain=groups, paddingInner=0.25)
    side = alt.Scale(domain=bars)
    tooltip = [
        alt.Tooltip("name:N", title="group"),
        alt.Tooltip("series:N", title="series"),
        _number("value", chart.y),
    ]
    if chart.spread:
        tooltip.append(alt.Tooltip("spread:N", title="spread"))
    along: dict[str, Any]
    aside: dict[str, Any]
    spread: dict[str, Any]
    if lying:
        groups_on: dict[str, Any] = {"y": alt.Y("group:N", sort=groups, axis=axis, scale=among)}
        aside = {"yOffset": alt.YOffset("series:N", sort=bars, scale=side)}
        along = {"x": alt.X("value:Q", title=plain(chart.y), scale=scale)}
        spread = {"x": alt.X("low:Q"), "x2": "high:Q"}
    else:
        groups_on = {"x": alt.X("group:N", sort=groups, axis=axis, scale=among)}
        aside = {"xOffset": alt.XOffset("series:N", sort=bars, scale=side)}
        along = {"y": alt.Y("value:Q", title=plain(chart.y), scale=scale)}
        spread = {"y": alt.Y("low:Q"), "y2": "high:Q"}
    shown = _toggle(names)
    base = alt.Chart().transform_filter(shown).encode(tooltip=tooltip, **groups_on)
    ours = base.transform_filter(f"datum.series !== '{PUBLISHED}'") if chart.published else base
    layers: list[alt.Chart] = [
        ours.mark_bar(cornerRadius=1)
        .encode(color=_colour(names), **along, **aside)
        .add_params(shown)
    ]
    if any(one.get("low") is not None for one in values):
        known = ours.transform_filter("isValid(datum.low) && isValid(datum.high)")
        whiskers = known.mark_rule(strokeWidth=1.5, color=INK, opacity=0.75)
        layers.append(whiskers.encode(**spread, **aside))
    if chart.published:
        theirs = base.transform_filter(f"datum.series === '{PUBLISHED}'")
        marks = theirs.mark_point(shape="diamond", **THEIRS)
        layers.append(marks.encode(color=_colour(names), **along))
    return alt.LayerChart(layer=layers, data=_data(values))


def _boxes(chart: BoxPlot) -> alt.LayerChart:
    """Boxes lie on their side: their names have room at the left, also on a narrow screen."""
    import altair as alt

    names = ["\n".join(wrap(plain(box.name), 22)) or " " for box in chart.boxes]
    values: Values = [
        {
            "name": names[place],
            "series": plain(box.name),
            "least": box.least,
            "lower": box.lower,
            "median": box.median,
            "upper": box.upper,
            "greatest": box.greatest,
        }
        for place, box in enumerate(chart.boxes)
    ]
    axis = alt.Axis(labelExpr="split(datum.label, '\\n')", title=None, ticks=False)
    y = alt.Y("name:N", sort=names, axis=axis, scale=alt.Scale(domain=names, padding=0.35))
    parts = ("least", "lower", "median", "upper", "greatest")
    tooltip = [alt.Tooltip("series:N", title="setting"), *(_number(name, name) for name in parts)]
    base = alt.Chart()
    colour = alt.Color("series:N", sort=None, legend=None)
    scale = _domain([chart.limit, *(one[name] for one in values for name in parts)])
    whiskers = base.mark_rule(color=INK, opacity=0.75).encode(
        y=y, x=alt.X("least:Q", title=plain(chart.y), scale=scale), x2="greatest:Q", tooltip=tooltip
    )
    ends = [
        base.mark_tick(color=INK, opacity=0.75, size=10, thickness=1).encode(y=y, x=f"{end}:Q")
        for end in ("least", "greatest")
    ]
    boxes = base.mark_bar(opacity=0.75, cornerRadius=2).encode(
        y=y, x=alt.X("lower:Q"), x2="upper:Q", color=colour, tooltip=tooltip
    )
    medians = base.mark_tick(color=INK, thickness=2.5, bandSize=20).encode(
        y=y, x=alt.X("median:Q"), tooltip=tooltip
    )
    limit = [] if chart.limit is None else [_limit(chart.limit, "x")]
    layers = [whiskers, *ends, boxes, medians, *limit]
    return alt.LayerChart(layer=layers, data=_data(values))


# ---------------------------------------------------------------- timelines


def _spans(chart: Timeline) -> alt.LayerChart:
    import altair as alt

    lanes = [plain(name) for name, _ in chart.lanes]
    values: Values = [
        {
            "lane": lanes[place],
            "start": span.start,
            "end": span.end,
            "middle": (span.start + span.end) / 2,
            "label": plain(span.label),
            "room": width_of(span.label, TEXT) + 2,
            "series": str(span.kind),
        }
        for place, (_, spans) in enumerate(chart.lanes)
        for span in spans
    ]
    kinds = [
        str(kind) for kind in range(1 + max((int(one["series"]) for one in values), default=0))
    ]
    end = chart.until or max((float(one["end"]) for one in values), default=1.0)
    scale = alt.Scale(domain=[0, end], nice=False)
    x = alt.X("start:Q", title=plain(chart.x), scale=scale)
    y = alt.Y("lane:N", sort=lanes, title=None, axis=alt.Axis(ticks=False),
              scale=alt.Scale(domain=lanes, padding=0.25))  # fmt: skip
    tooltip = [
        alt.Tooltip("label:N", title="what"),
        alt.Tooltip("lane:N", title="where"),
        _number("start", "from"),
        _number("end", "to"),
    ]
    base = alt.Chart()
    bars = base.mark_bar(
        cornerRadius=2, opacity=0.55, stroke=INK, strokeWidth=0.5, clip=True
    ).encode(x=x, x2="end:Q", y=y, color=_colour(kinds, legend=False), tooltip=tooltip)
    fits = "scale('x', datum.end) - scale('x', datum.start) > datum.room ? 1 : 0"
    labels = base.mark_text(
        fontSize=TEXT, color=INK, opacity=alt.ExprRef(expr=fits), clip=True
    ).encode(x=alt.X("middle:Q", scale=scale), y=y, text="label:N", tooltip=tooltip)
    layers = [bars.add_params(_moving("x")), labels]
    return alt.LayerChart(layer=layers, data=_data(values))


# ---------------------------------------------------------------- maps


def _map_frame(chart: TrackMap) -> tuple[list[float], list[float], float]:
    """West and east, south and north, and the height as a share of the width: a metre is as long on
    both axes. What a map is too flat or too high for is left free on both sides."""
    places = [place for track in chart.tracks for place in track.places]
    west, east = _breadth(*_ends(end for place in places for end in _reach(place, 0)))
    south, north = _breadth(*_ends(end for place in places for end in _reach(place, 1)))
    margin = MAP_MARGIN * max(east - west, north - south)
    wide, high = east - west + 2 * margin, north - south + 2 * margin
    share = min(MAP_MOST, max(MAP_LEAST, high / wide))
    wide, high = max(wide, high / share), max(high, wide * share)
    across, up = (west + east) / 2, (south + north) / 2
    return [across - wide / 2, across + wide / 2], [up - high / 2, up + high / 2], share


def _reach(place: MapPlace, axis: int) -> tuple[float, float]:
    """From where to where a place, its circle and its truth are seen on an axis."""
    at, radius = (place.x, place.y)[axis], place.radius or 0.0
    meant = at if place.truth is None else place.truth[axis]
    return min(at - radius, meant), max(at + radius, meant)


def _tracks(chart: TrackMap) -> alt.LayerChart:
    import altair as alt

    across, up, _ = _map_frame(chart)
    told = [track for track in chart.tracks if not track.true]
    names = _named(chart)
    x = alt.X("x:Q", title=plain(chart.x), scale=alt.Scale(domain=across, nice=False, zero=False))
    y = alt.Y("y:Q", title=plain(chart.y), scale=alt.Scale(domain=up, nice=False, zero=False))
    shown = _toggle(names)
    # The first track is on top, as it is first in the legend; no circle hides a mark.
    rings = alt.Chart(_data([one for track in reversed(told) for one in _ring_corners(track)]))
    fill = alt.Fill("series:N", sort=None, scale=alt.Scale(domain=names), legend=_legend())
    circles = (
        rings.transform_filter(shown)
        .mark_line(interpolate="linear-closed", strokeWidth=0.8, fillOpacity=0.12, clip=True)
        .encode(x=x, y=y, order="order:Q", detail="ring:N", color=_colour(names), fill=fill)
    )
    truths = [
        alt.Chart(_data(_marks(track)))
        .mark_line(color=INK, strokeWidth=1.5, opacity=0.8, clip=True)
        .encode(x=x, y=y, order="order:Q", tooltip=alt.Tooltip("series:N", title="track"))
        for track in chart.tracks
        if track.true
    ]
    marks = alt.Chart(_data([one for track in reversed(told) for one in _marks(track)]))
    marks = marks.transform_filter(shown)
    tooltip = [
        alt.Tooltip("series:N", title="track"),
        _number("x", chart.x),
        _number("y", chart.y),
        _number("radius", "±"),
    ]
    missed = (
        marks.transform_filter("isValid(datum.truth_x)")
        .mark_rule(strokeWidth=1.2, clip=True)
        .encode(x=x, y=y, x2="truth_x:Q", y2="truth_y:Q", color=_colour(names))
    )
    points = marks.mark_point(filled=True, size=40, opacity=1, clip=True).encode(
        x=x, y=y, color=_colour(names), shape=_shape(names), tooltip=tooltip
    )
    first = circles.add_params(shown, _moving("x", "y"))
    return alt.LayerChart(layer=[first, *truths, missed, points])


def _ring_corners(track: Track) -> Values:
    return [
        {
            "series": plain(track.name),
            "ring": f"{track.name} {number}",
            "order": corner,
            "x": place.x + place.radius * math.cos(2 * math.pi * corner / CORNERS),
            "y": place.y + place.radius * math.sin(2 * math.pi * corner / CORNERS),
        }
        for number, place in enumerate(track.places)
        if place.radius is not None
        for corner in range(CORNERS)
    ]


def _marks(track: Track) -> Values:
    return [
        {
            "series": plain(track.name),
            "order": number,
            "x": place.x,
            "y": place.y,
            "radius": place.radius,
            "truth_x": None if place.truth is None else place.truth[0],
            "truth_y": None if place.truth is None else place.truth[1],
        }
        for number, place in enumerate(track.places)
    ]
