"""Charts as Vega-Lite, made with Altair: what all kinds share, and lines.

Every mark tells its numbers. A click in a legend hides a series or brings it back; dragging moves a
chart, the wheel with Shift zooms it (without, it scrolls the page), a double click puts it back.
Whatever is published is drawn over ours, as diamonds with an outline. Colours are those of the
configuration that a page or picture gives (:mod:`headway.report.chart_pages`); ink is
``currentColor``: that of the text around the chart.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal

import altair as alt

from headway.report.charts import HEIGHT, SHAPES, TEXT, WIDTH, LineChart, Series
from headway.report.svg import plain, width_of

Values = list[dict[str, Any]]

INK = "currentColor"
MARKERS = 40
"""Lines of more points have none drawn."""
THEIRS: dict[str, Any] = {
    "filled": True, "size": 120, "stroke": INK, "strokeWidth": 1.5, "opacity": 1,
}  # fmt: skip
"""the diamonds of published values"""


def whole_spec(
    drawn: alt.LayerChart,
    title: str,
    names: Sequence[str],
    *,
    height: int = HEIGHT,
    share: float | None = None,
) -> dict[str, Any]:
    """As Vega-Lite, as wide as the place it is put in; ``names`` are those of its legend. With
    ``share`` the height is that share of the width, whatever it is."""
    legend = max((width_of(name, TEXT) for name in names), default=0.0) + 34
    columns = alt.param(name="columns", value=max(1, int(WIDTH // legend)))
    spec: dict[str, Any] = (
        drawn.add_params(columns)
        .properties(
            width="container",
            height=height if share is None else round(WIDTH * share),
            description=plain(title),
            autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
        )
        .to_dict()
    )
    spec.pop("config", None)  # the page has it once
    return spec | {"usermeta": {"height": share, "legend": round(legend)}}


# ---------------------------------------------------------------- what charts share


def inline(values: Values) -> alt.InlineData:
    told = [
        {key: _short(one) for key, one in row.items() if one not in (None, "")} for row in values
    ]
    return alt.InlineData(values=told)


def _short(value: float | str) -> float | str:
    """Nobody sees more than seven digits of a mark's place, and a page holds thousands of them."""
    return float(f"{value:.7g}") if isinstance(value, float) else value


def legend_below() -> alt.Legend:
    """Below the chart; the page says how many columns fit its width."""
    return alt.Legend(
        title=None,
        orient="bottom",
        direction="horizontal",
        columns=alt.ExprRef(expr="columns"),
        symbolOpacity=1,
        symbolStrokeWidth=0,
    )


def toggled(names: Sequence[str]) -> alt.Parameter:
    """All series are there until a click in the legend hides one."""
    return alt.selection_point(
        name="shown",
        fields=["series"],
        bind="legend",
        toggle="true",
        clear=False,
        empty=False,
        value=[{"series": name} for name in names],
    )


def moving(*encodings: Literal["x", "y"]) -> alt.Parameter:
    """Drag and zoom; the wheel alone is the page's."""
    return alt.selection_interval(
        name="seen",
        bind="scales",
        encodings=list(encodings),
        zoom="wheel![event.shiftKey]",
    )


def colour(names: Sequence[str], *, legend: bool = True) -> alt.Color:
    return alt.Color(
        "series:N",
        sort=None,
        scale=alt.Scale(domain=list(names)),
        legend=legend_below() if legend else None,
    )


def shape(names: Sequence[str], published: Collection[str] = ()) -> alt.Shape:
    """With the same legend as the colour: the two become one."""
    shapes = [
        "diamond" if name in published else SHAPES[place % len(SHAPES)]
        for place, name in enumerate(names)
    ]
    scale = alt.Scale(domain=list(names), range=shapes)
    return alt.Shape("series:N", sort=None, scale=scale, legend=legend_below())


def limit_line(value: float, axis: Literal["x", "y"]) -> alt.Chart:
    """A line across the chart."""
    told = alt.Tooltip("limit:Q", title="limit", format=".4~g")
    where = {"x": alt.X("limit:Q")} if axis == "x" else {"y": alt.Y("limit:Q")}
    found: alt.Chart = (
        alt.Chart(inline([{"limit": value}]))
        .mark_rule(color="#c0392b", strokeDash=[5, 3], strokeWidth=1.5)
        .encode(tooltip=told, **where)
    )
    return found


def number_told(field: str, title: str) -> alt.Tooltip:
    return alt.Tooltip(f"{field}:Q", title=plain(title), format=".4~g")


def spread_told(low: float | None, high: float | None) -> str:
    return "none" if low is None or high is None else f"{low:.4g} to {high:.4g}"


def ends_of(values: Iterable[float]) -> tuple[float, float]:
    known = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    return min(known), max(known)


def widened(low: float, high: float) -> tuple[float, float]:
    """A single value gets an axis, too."""
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def scale_over(values: Iterable[float | None], *, from_zero: bool = True) -> alt.Scale:
    """The same whatever the legend hides."""
    low, high = ends_of(value for value in values if value is not None)
    low, high = widened(low, high)
    if from_zero:
        low, high = min(0.0, low), max(0.0, high)
    else:
        low, high = low - (high - low) / 20, high + (high - low) / 20
    return alt.Scale(domain=[low, high], nice=True, zero=False)


# ---------------------------------------------------------------- lines


def draw_lines(chart: LineChart) -> dict[str, Any]:
    names = [plain(series.name) for series in chart.series]
    published = {plain(series.name) for series in chart.series if series.published}
    low, high = widened(*ends_of(point.x for series in chart.series for point in series.points))
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
    y = alt.Y("y:Q", title=plain(chart.y), scale=scale_over(ends, from_zero=chart.from_zero))
    tooltip = [
        alt.Tooltip("series:N", title="series"),
        number_told("x", chart.x),
        number_told("y", chart.y),
    ]
    if has_spread:
        tooltip.append(alt.Tooltip("spread:N", title="spread"))
    shown = toggled(names)
    base = alt.Chart().transform_filter(shown)
    line = base.mark_line(
        interpolate="step-after" if chart.steps else "linear", strokeJoin="round", clip=True
    ).encode(
        x=x,
        y=y,
        order="order:Q",
        color=colour(names),
        strokeWidth=alt.StrokeWidth("width:Q", scale=None, legend=None),
        strokeDash=alt.condition("datum.dashed", alt.value([6, 4]), alt.value([1, 0])),
        detail=["series:N", "dashed:N"],
    )
    layers: list[alt.Chart] = [line.add_params(shown, moving("x", "y"))]
    if has_spread:
        spread = base.transform_filter("isValid(datum.low) && isValid(datum.high)")
        layers.append(
            spread.mark_rule(strokeWidth=1.2, clip=True).encode(
                x=alt.X("aside:Q"), y=alt.Y("low:Q"), y2="high:Q", color=colour(names)
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
                x=x, y=y, color=colour(names), shape=shape(names, published), tooltip=tooltip
            )
        )
    if chart.limit is not None:
        layers.append(limit_line(chart.limit, "y"))
    return whole_spec(alt.LayerChart(layer=layers, data=inline(values)), chart.title, names)


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
            "spread": spread_told(point.low, point.high) if spread else None,
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
