"""The charts of :mod:`headway_studies.study_charts` as Vega-Lite, made with Altair."""

from __future__ import annotations

import math
from textwrap import wrap
from typing import Any

import altair as alt

from headway.report import chart_drawing as draw
from headway.report.charts import HEIGHT, TEXT
from headway.report.svg import plain, width_of
from headway_studies.study_charts import (
    BarChart,
    BoxPlot,
    HeatMap,
    MapPlace,
    Timeline,
    Track,
    TrackMap,
)

PUBLISHED = "published"
"""the series of published values among bars"""
LANE = 34
MAP_LEAST, MAP_MOST, MAP_MARGIN = 0.2, 0.75, 0.04
"""the height of a map as a share of its width; and what is left free around it"""
CORNERS = 24
"""of the polygon that is drawn for a circle"""


# ---------------------------------------------------------------- bars and boxes


def _lying(chart: BarChart) -> bool:
    """Whether the names of the groups are too long to stand below them on a narrow screen."""
    return len(chart.groups) * max((len(name) for name in chart.groups), default=0) > 40


def draw_bars(chart: BarChart) -> dict[str, Any]:
    bars = [plain(name) for name in chart.bars]
    names = [*bars, *([PUBLISHED] if chart.published else ())]
    groups = ["\n".join(wrap(plain(name), 20)) or " " for name in chart.groups]
    values: draw.Values = []
    for at, row in enumerate(chart.values):
        about = {"group": groups[at], "name": plain(chart.groups[at])}
        for place, value in enumerate(row):
            low, high = (chart.spread[at][place] if chart.spread else None) or (None, None)
            if value is not None:
                named = {"series": bars[place], "value": value, "low": low, "high": high}
                values.append(about | named | {"spread": draw.spread_told(low, high)})
        if chart.published and chart.published[at] is not None:
            values.append(about | {"series": PUBLISHED, "value": chart.published[at]})
    scale = draw.scale_over(one.get(key) for one in values for key in ("value", "low", "high"))
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
        draw.number_told("value", chart.y),
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
    shown = draw.toggled(names)
    base = alt.Chart().transform_filter(shown).encode(tooltip=tooltip, **groups_on)
    ours = base.transform_filter(f"datum.series !== '{PUBLISHED}'") if chart.published else base
    layers: list[alt.Chart] = [
        ours.mark_bar(cornerRadius=1)
        .encode(color=draw.colour(names), **along, **aside)
        .add_params(shown)
    ]
    if any(one.get("low") is not None for one in values):
        known = ours.transform_filter("isValid(datum.low) && isValid(datum.high)")
        whiskers = known.mark_rule(strokeWidth=1.5, color=draw.INK, opacity=0.75)
        layers.append(whiskers.encode(**spread, **aside))
    if chart.published:
        theirs = base.transform_filter(f"datum.series === '{PUBLISHED}'")
        marks = theirs.mark_point(shape="diamond", **draw.THEIRS)
        layers.append(marks.encode(color=draw.colour(names), **along))
    whole = alt.LayerChart(layer=layers, data=draw.inline(values))
    high = len(groups) * (12 * len(bars) + 12) if lying else HEIGHT
    return draw.whole_spec(whole, chart.title, names, height=high)


def draw_boxes(chart: BoxPlot) -> dict[str, Any]:
    """Boxes lie on their side: their names have room at the left, also on a narrow screen."""
    names = ["\n".join(wrap(plain(box.name), 22)) or " " for box in chart.boxes]
    values: draw.Values = [
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
    tooltip = [
        alt.Tooltip("series:N", title="setting"),
        *(draw.number_told(name, name) for name in parts),
    ]
    base = alt.Chart()
    colour = alt.Color("series:N", sort=None, legend=None)
    scale = draw.scale_over([chart.limit, *(one[name] for one in values for name in parts)])
    whiskers = base.mark_rule(color=draw.INK, opacity=0.75).encode(
        y=y, x=alt.X("least:Q", title=plain(chart.y), scale=scale), x2="greatest:Q", tooltip=tooltip
    )
    ends = [
        base.mark_tick(color=draw.INK, opacity=0.75, size=10, thickness=1).encode(y=y, x=f"{end}:Q")
        for end in ("least", "greatest")
    ]
    boxes = base.mark_bar(opacity=0.75, cornerRadius=2).encode(
        y=y, x=alt.X("lower:Q"), x2="upper:Q", color=colour, tooltip=tooltip
    )
    medians = base.mark_tick(color=draw.INK, thickness=2.5, bandSize=20).encode(
        y=y, x=alt.X("median:Q"), tooltip=tooltip
    )
    limit = [] if chart.limit is None else [draw.limit_line(chart.limit, "x")]
    layers = [whiskers, *ends, boxes, medians, *limit]
    whole = alt.LayerChart(layer=layers, data=draw.inline(values))
    return draw.whole_spec(whole, chart.title, (), height=LANE * max(2, len(names)))


# ---------------------------------------------------------------- heat maps

HOLDS, FAILS = "#4c9f70", "#d1713f"
"""on light and dark pages"""


def draw_heat_map(chart: HeatMap) -> dict[str, Any]:
    """A cell is green with a tick where something holds and orange with a cross where it does not,
    the stronger the further: never colour alone."""
    columns = [plain(name) for name in chart.columns]
    rows = ["\n".join(wrap(plain(name), 34)) or " " for name in chart.rows]
    most = max((abs(value) for line in chart.values for value in line), default=0.0) or 1.0
    values: draw.Values = [
        {
            "row": rows[place],
            "name": plain(chart.rows[place]),
            "column": columns[at],
            "value": value,
            "sign": "✓" if value > 0 else "✗",
            "strength": 0.25 + 0.75 * (abs(value) / most) ** 0.5,
        }
        for place, line in enumerate(chart.values)
        for at, value in enumerate(line)
    ]
    x = alt.X(
        "column:N",
        sort=columns,
        title=plain(chart.x),
        axis=alt.Axis(labelAngle=0, labelOverlap=True, ticks=False),
        scale=alt.Scale(domain=columns, padding=0.04),
    )
    y = alt.Y(
        "row:N",
        sort=rows,
        title=None,
        axis=alt.Axis(labelExpr="split(datum.label, '\\n')", labelLimit=260, ticks=False),
        scale=alt.Scale(domain=rows, padding=0.06),
    )
    tooltip = [
        alt.Tooltip("name:N", title="statement"),
        alt.Tooltip("column:N", title=plain(chart.x)),
        draw.number_told("value", plain(chart.unit)),
    ]
    base = alt.Chart().encode(x=x, y=y, tooltip=tooltip)
    tone = alt.Color(
        "sign:N", scale=alt.Scale(domain=["✓", "✗"], range=[HOLDS, FAILS]), legend=None
    )
    strength = alt.Opacity("strength:Q", scale=None, legend=None)
    cells = base.mark_rect(cornerRadius=2).encode(color=tone, opacity=strength)
    signs = base.mark_text(fontSize=TEXT, color=draw.INK).encode(text="sign:N")
    framed = alt.FieldOneOfPredicate(field="column", oneOf=[plain(name) for name in chart.marked])
    frames = base.transform_filter(framed).mark_rect(
        fillOpacity=0, stroke=draw.INK, strokeWidth=1.8
    )
    whole = alt.LayerChart(layer=[cells, signs, frames], data=draw.inline(values))
    return draw.whole_spec(whole, chart.title, (), height=LANE * max(2, len(rows)))


# ---------------------------------------------------------------- timelines


def draw_timeline(chart: Timeline) -> dict[str, Any]:
    lanes = [plain(name) for name, _ in chart.lanes]
    values: draw.Values = [
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
        draw.number_told("start", "from"),
        draw.number_told("end", "to"),
    ]
    base = alt.Chart()
    bars = base.mark_bar(
        cornerRadius=2, opacity=0.55, stroke=draw.INK, strokeWidth=0.5, clip=True
    ).encode(x=x, x2="end:Q", y=y, color=draw.colour(kinds, legend=False), tooltip=tooltip)
    fits = "scale('x', datum.end) - scale('x', datum.start) > datum.room ? 1 : 0"
    labels = base.mark_text(
        fontSize=TEXT, color=draw.INK, opacity=alt.ExprRef(expr=fits), clip=True
    ).encode(x=alt.X("middle:Q", scale=scale), y=y, text="label:N", tooltip=tooltip)
    layers = [bars.add_params(draw.moving("x")), labels]
    whole = alt.LayerChart(layer=layers, data=draw.inline(values))
    return draw.whole_spec(whole, chart.title, (), height=LANE * max(1, len(lanes)))


# ---------------------------------------------------------------- maps


def _map_frame(chart: TrackMap) -> tuple[list[float], list[float], float]:
    """West and east, south and north, and the height as a share of the width: a metre is as long on
    both axes. What a map is too flat or too high for is left free on both sides."""
    places = [place for track in chart.tracks for place in track.places]
    west, east = draw.widened(*draw.ends_of(end for place in places for end in _reach(place, 0)))
    south, north = draw.widened(*draw.ends_of(end for place in places for end in _reach(place, 1)))
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


def draw_tracks(chart: TrackMap) -> dict[str, Any]:
    across, up, share = _map_frame(chart)
    told = [track for track in chart.tracks if not track.true]
    names = [plain(track.name) for track in told]
    x = alt.X("x:Q", title=plain(chart.x), scale=alt.Scale(domain=across, nice=False, zero=False))
    y = alt.Y("y:Q", title=plain(chart.y), scale=alt.Scale(domain=up, nice=False, zero=False))
    shown = draw.toggled(names)
    # The first track is on top, as it is first in the legend; no circle hides a mark.
    rings = alt.Chart(
        draw.inline([one for track in reversed(told) for one in _ring_corners(track)])
    )
    fill = alt.Fill(
        "series:N", sort=None, scale=alt.Scale(domain=names), legend=draw.legend_below()
    )
    circles = (
        rings.transform_filter(shown)
        .mark_line(interpolate="linear-closed", strokeWidth=0.8, fillOpacity=0.12, clip=True)
        .encode(x=x, y=y, order="order:Q", detail="ring:N", color=draw.colour(names), fill=fill)
    )
    truths = [
        alt.Chart(draw.inline(_marks(track)))
        .mark_line(color=draw.INK, strokeWidth=1.5, opacity=0.8, clip=True)
        .encode(x=x, y=y, order="order:Q", tooltip=alt.Tooltip("series:N", title="track"))
        for track in chart.tracks
        if track.true
    ]
    marks = alt.Chart(draw.inline([one for track in reversed(told) for one in _marks(track)]))
    marks = marks.transform_filter(shown)
    tooltip = [
        alt.Tooltip("series:N", title="track"),
        draw.number_told("x", chart.x),
        draw.number_told("y", chart.y),
        draw.number_told("radius", "±"),
    ]
    missed = (
        marks.transform_filter("isValid(datum.truth_x)")
        .mark_rule(strokeWidth=1.2, clip=True)
        .encode(x=x, y=y, x2="truth_x:Q", y2="truth_y:Q", color=draw.colour(names))
    )
    points = marks.mark_point(filled=True, size=40, opacity=1, clip=True).encode(
        x=x, y=y, color=draw.colour(names), shape=draw.shape(names), tooltip=tooltip
    )
    first = circles.add_params(shown, draw.moving("x", "y"))
    whole = alt.LayerChart(layer=[first, *truths, missed, points])
    return draw.whole_spec(whole, chart.title, names, share=share)


def _ring_corners(track: Track) -> draw.Values:
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


def _marks(track: Track) -> draw.Values:
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
