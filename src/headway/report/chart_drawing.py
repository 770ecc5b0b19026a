"""The charts of :mod:`headway.report.charts`, drawn with Altair: in a page that answers the
pointer, and as SVG or PNG. Nothing is loaded from elsewhere.

A page holds the script once and each chart as JSON. What is drawn follows the page: its width, and
whether it is light or dark. A click in a legend hides a series or brings it back; dragging moves a
chart, the wheel with Shift zooms it (without, it scrolls the page), a double click puts it back.
Whatever is published is drawn over ours, as hollow diamonds. Ink is ``currentColor``: that of the
text around the chart.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.util import find_spec
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal

from headway.errors import EnvironmentMissing
from headway.report.charts import (
    BarChart,
    BoxPlot,
    Chart,
    LineChart,
    MapPlace,
    Timeline,
    Track,
    TrackMap,
)
from headway.report.html import escaped, page
from headway.report.text import plain, width_of

if TYPE_CHECKING:
    import altair as alt

    Layer = alt.Chart | alt.LayerChart

Values = list[dict[str, Any]]

INK = "currentColor"
WIDTH, HEIGHT, LANE = 560, 230, 34
ZOOM = 2
"""pixels of a PNG for each unit"""
TEXT = 11
MARKERS = 40
"""Lines of more points have none drawn."""
MAP_LEAST, MAP_MOST, MAP_MARGIN = 0.2, 0.75, 0.04
"""the height of a map as a share of its width; and what is left free around it"""
CORNERS = 24
"""of the polygon that is drawn for a circle"""
SHAPES = ("circle", "square", "triangle-up", "cross", "triangle-down", "triangle-right")
LIGHT = ("#2966ae", "#ae5829", "#29ae60", "#ae296b", "#8a7112", "#672aad", "#178f8c", "#ae3029",
         "#5f8a17", "#9629ae")  # fmt: skip
DARK = ("#6ba5e6", "#e69c6b", "#6be69b", "#e66ba9", "#e6cd6b", "#a56be6", "#6be6e2", "#e6726b",
        "#b4e66b", "#d06be6")  # fmt: skip
"""a colour for each series, on white and on black; not every eye tells them apart: see SHAPES"""


def check_drawing() -> None:
    """EnvironmentMissing where what draws is not installed."""
    for module, name in (("altair", "Altair"), ("vl_convert", "vl-convert-python")):
        if find_spec(module) is None:
            raise EnvironmentMissing(
                f"Charts need {name}. Install it with: pip install 'headway[plot]'"
            )


# ---------------------------------------------------------------- files and pages


def chart_files(name: str, charts: Sequence[Chart], title: str) -> dict[str, str]:
    """The charts as a page and as one picture; EnvironmentMissing where nothing draws them."""
    check_drawing()
    return {f"{name}.html": charts_page(charts, title), f"{name}.svg": chart_svg(charts, title)}


def chart_svg(charts: Sequence[Chart], title: str) -> str:
    """One picture of all of them, one below the other."""
    import vl_convert

    spec = _standing(charts, title)
    svg: str = vl_convert.vegalite_to_svg(spec, vl_version=_version(), config=_config(LIGHT))
    return svg + "\n"


def chart_png(chart: Chart) -> bytes:
    """On white, the title above."""
    import vl_convert

    png: bytes = vl_convert.vegalite_to_png(
        _standing([chart], chart.title), vl_version=_version(), scale=ZOOM, config=_config(LIGHT)
    )
    return png


def charts_page(charts: Sequence[Chart], title: str) -> str:
    """A page of nothing but charts."""
    figures = (chart_figure(chart) for chart in charts)
    body = [f"<h1>{escaped(title)}</h1>", HINT, '<div class="pictures">', *figures, "</div>"]
    return page(title, [*body, chart_script()], css=CHART_CSS)


def chart_figure(chart: Chart) -> str:
    """The chart's place in a page and what is to be drawn there."""
    spec = _spec(chart)
    if isinstance(chart, TrackMap):
        spec["usermeta"] = {"height": _map_frame(chart)[2]}
    note = f" {escaped(chart.note)}" if chart.note else ""
    return (
        f'<figure class="chart"><div class="drawing"></div>{_json_script(spec)}'
        f"<figcaption><b>{escaped(chart.title)}</b>{note}</figcaption></figure>"
    )


def chart_script() -> str:
    """What draws the charts of a page: about 0.9 MB, once behind all of them."""
    configs = {"light": _config(LIGHT), "dark": _config(DARK)}
    return (
        f"<script>{_bundle()}</script>\n<script>const CONFIGS={_inside_script(configs)};"
        f"{_DRAWING}</script>"
    )


HINT = (
    '<p class="muted hint">Charts: point at a mark for its numbers; click in a legend to hide a '
    "series; drag to move, Shift + wheel to zoom, double click to go back.</p>"
    "<noscript><p>The charts are drawn by a script, and scripts are switched off.</p></noscript>"
)
CHART_CSS = """
figure.chart{padding:.4rem;overflow:hidden;margin:0}
figure.chart .drawing{width:100%;min-height:8rem;touch-action:pan-y;color:var(--ink)}
figure.chart svg{display:block;min-width:0;width:auto;max-width:100%}
.drawing details{display:none}
figcaption{padding:.3rem .6rem .5rem;font-size:.9rem}
.pictures{display:grid;gap:1rem;align-items:start;
grid-template-columns:repeat(auto-fill,minmax(min(100%,34rem),1fr))}
@media print{.hint{display:none}figure.chart{break-inside:avoid}}
"""
_DRAWING = """
const scheme = matchMedia('(prefers-color-scheme: dark)');
const printed = matchMedia('print');
async function draw(figure) {
  const target = figure.querySelector('.drawing');
  const spec = JSON.parse(figure.querySelector('script').textContent);
  const dark = scheme.matches && !printed.matches;
  if (spec.usermeta && spec.usermeta.height) {
    spec.width = Math.max(160, target.clientWidth - 74);
    spec.height = Math.round(spec.width * spec.usermeta.height);
  }
  figure.dataset.width = target.clientWidth;
  const result = await vegaEmbed(target, spec, {
    renderer: 'svg', actions: false, config: CONFIGS[dark ? 'dark' : 'light'],
    tooltip: {theme: dark ? 'dark' : 'light'},
  });
  if (figure.drawn) figure.drawn.finalize();
  figure.drawn = result;
  figure.dataset.drawn = dark ? 'dark' : 'light';
}
const figures = [...document.querySelectorAll('figure.chart')];
const near = new IntersectionObserver(entries => {
  for (const entry of entries) if (entry.isIntersecting) {
    near.unobserve(entry.target);
    draw(entry.target);
  }
}, {rootMargin: '800px'});
figures.forEach(figure => near.observe(figure));
const again = () => figures.filter(figure => figure.drawn).forEach(draw);
scheme.addEventListener('change', again);
addEventListener('beforeprint', () => figures.forEach(draw));
addEventListener('afterprint', again);
let waiting;
addEventListener('resize', () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => figures.filter(figure => figure.drawn
    && +figure.dataset.width !== figure.querySelector('.drawing').clientWidth).forEach(draw), 200);
});
"""


@cache
def _bundle() -> str:
    """Vega and what embeds it; the words that would end the script are written otherwise."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle(
        "window.vegaEmbed = vegaEmbed;", vl_version=_version()
    )
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _version() -> str:
    """Of Vega-Lite, that Altair writes: ``6.1``."""
    import altair as alt

    return ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


def _json_script(spec: dict[str, Any]) -> str:
    return f'<script type="application/json">{_inside_script(spec)}</script>'


def _inside_script(data: dict[str, Any]) -> str:
    """JSON in which nothing can end the script around it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _config(colours: Sequence[str]) -> dict[str, Any]:
    """How all charts look."""
    dark = colours is DARK
    muted, line = ("#a3b0c0", "#2c3949") if dark else ("#566273", "#e1e7ee")
    text = {"labelColor": muted, "titleColor": muted, "labelFontSize": TEXT, "titleFontSize": TEXT}
    return {
        "background": "transparent" if dark else "#ffffff00",
        "font": "system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', Arial, sans-serif",
        "view": {"stroke": None},
        "axis": text | {"gridColor": line, "domainColor": muted, "tickColor": muted,
                        "titleFontWeight": "normal", "labelLimit": 0},
        "legend": text | {"labelLimit": 0, "symbolSize": 90, "symbolStrokeWidth": 2,
                          "labelColor": "#e7ecf3" if dark else "#18212d"},
        "title": {"color": "#e7ecf3" if dark else "#18212d", "fontSize": 13, "anchor": "start"},
        "range": {"category": list(colours), "symbol": list(SHAPES)},
    }  # fmt: skip


def _standing(charts: Sequence[Chart], title: str) -> dict[str, Any]:
    """The charts on white with their titles, as wide as they are meant to be."""
    specs = []
    for chart in charts:
        spec = _spec(chart)
        height = spec.get("height", HEIGHT)
        if isinstance(chart, TrackMap):
            height = round(WIDTH * _map_frame(chart)[2])
        spec |= {"width": WIDTH, "height": height, "title": plain(chart.title)}
        specs.append(spec)
    if len(specs) == 1:
        return specs[0] | {"background": "#ffffff", "padding": 10}
    schema = specs[0].pop("$schema")
    for spec in specs:
        spec.pop("$schema", None)
        spec.pop("autosize", None)
    return {
        "$schema": schema,
        "title": plain(title),
        "vconcat": specs,
        "background": "#ffffff",
        "padding": 10,
        "resolve": {"legend": {"color": "independent", "shape": "independent"},
                    "scale": {"color": "independent", "shape": "independent"}},
    }  # fmt: skip


def _spec(chart: Chart) -> dict[str, Any]:
    """As Vega-Lite, as wide as the place it is put in."""
    import altair as alt

    if isinstance(chart, LineChart):
        layers = _lines(chart)
    elif isinstance(chart, BarChart):
        layers = _bars(chart)
    elif isinstance(chart, BoxPlot):
        layers = _boxes(chart)
    elif isinstance(chart, TrackMap):
        layers = _tracks(chart)
    else:
        layers = _spans(chart)
    whole = alt.layer(*layers).properties(
        width="container",
        height=_height(chart),
        description=plain(chart.title),
        autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
    )
    spec: dict[str, Any] = whole.to_dict()
    spec.pop("config", None)  # the page has it once
    return spec


def _height(chart: Chart) -> int:
    if isinstance(chart, Timeline):
        return LANE * max(1, len(chart.lanes))
    if isinstance(chart, BoxPlot):
        return LANE * max(2, len(chart.boxes))
    return HEIGHT


# ---------------------------------------------------------------- what charts share


def _data(values: Values) -> alt.InlineData:
    import altair as alt

    return alt.InlineData(values=values)


def _legend(names: Sequence[str]) -> alt.Legend:
    """Below the chart, in as many columns as fit its width."""
    import altair as alt

    widest = max((width_of(name, TEXT) for name in names), default=0) + 34
    return alt.Legend(
        title=None,
        orient="bottom",
        direction="horizontal",
        columns=alt.ExprRef(expr=f"max(1, floor(width / {widest:.0f}))"),
        symbolOpacity=1,
    )


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
        legend=_legend(names) if legend else None,
    )


def _shape(names: Sequence[str]) -> alt.Shape:
    """With the same legend as the colour: the two become one."""
    import altair as alt

    return alt.Shape(
        "series:N", sort=None, scale=alt.Scale(domain=list(names)), legend=_legend(names)
    )


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


def _ends(values: Iterable[float]) -> tuple[float, float]:
    known = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    return min(known), max(known)


def _breadth(low: float, high: float) -> tuple[float, float]:
    """A single value gets an axis, too."""
    return (low, high) if high > low else (low - 0.5, high + 0.5)


# ---------------------------------------------------------------- lines


def _lines(chart: LineChart) -> list[Layer]:
    import altair as alt

    names = [plain(series.name) for series in chart.series]
    low, high = _breadth(*_ends(point.x for series in chart.series for point in series.points))
    count = len(names)
    values: Values = []
    for place, series in enumerate(chart.series):
        # Spreads at one place stand side by side; lines below are wider, so that equal ones show.
        aside = (high - low) * 4 / WIDTH * (place - (count - 1) / 2)
        values += [
            {
                "series": names[place],
                "x": point.x,
                "y": point.y,
                "low": point.low,
                "high": point.high,
                "aside": point.x + aside,
                "published": series.published,
                "dashed": series.dashed or series.published,
                "width": 2 + min(4.0, 1.3 * (count - 1 - place)),
                "marked": len(series.points) <= MARKERS and not chart.steps,
                "order": number,
            }
            for number, point in enumerate(series.points)
            if math.isfinite(point.y)
        ]
    shown = _toggle(names)
    x = alt.X(
        "x:Q", title=plain(chart.x), scale=alt.Scale(domain=[low, high], nice=False, zero=False)
    )
    y = alt.Y("y:Q", title=plain(chart.y), scale=alt.Scale(zero=chart.from_zero, nice=True))
    tooltip = [
        alt.Tooltip("series:N", title="series"),
        _number("x", chart.x),
        _number("y", chart.y),
    ]
    if any(one["low"] is not None for one in values):
        tooltip += [_number("low", "from"), _number("high", "to")]
    base = alt.Chart(_data(values)).transform_filter(shown)
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
    layers: list[Layer] = [line.add_params(shown, _moving("x", "y"))]
    spread = base.transform_filter("isValid(datum.low) && isValid(datum.high)")
    layers.append(
        spread.mark_rule(strokeWidth=1.2, clip=True).encode(
            x=alt.X("aside:Q"), y=alt.Y("low:Q"), y2="high:Q", color=_colour(names)
        )
    )
    ours = base.transform_filter("datum.marked && !datum.published")
    layers.append(
        ours.mark_point(filled=True, size=34, opacity=1, clip=True).encode(
            x=x, y=y, color=_colour(names), shape=_shape(names), tooltip=tooltip
        )
    )
    if any(not one["marked"] for one in values):
        # What has no markers answers the pointer all the same.
        unmarked = base.transform_filter("!datum.marked")
        layers.append(
            unmarked.mark_point(filled=True, size=60, opacity=0, clip=True).encode(
                x=x, y=y, tooltip=tooltip
            )
        )
    if any(one["published"] for one in values):
        theirs = base.transform_filter("datum.published")
        layers.append(
            theirs.mark_point(
                shape="diamond",
                filled=False,
                size=110,
                strokeWidth=2,
                opacity=1,
                color=INK,
                clip=True,
            ).encode(x=x, y=y, tooltip=tooltip)
        )
    if chart.limit is not None:
        layers.append(_limit(chart.limit, "y"))
    return layers


# ---------------------------------------------------------------- bars and boxes


def _bars(chart: BarChart) -> list[Layer]:
    import altair as alt

    names = [plain(name) for name in chart.bars]
    # A group's name is broken into lines at its words, to stand below its bars.
    letters = max(9, round(84 / max(1, len(chart.groups))))
    groups = ["\n".join(wrap(plain(name), letters)) or " " for name in chart.groups]
    values: Values = []
    for at, row in enumerate(chart.values):
        for place, value in enumerate(row):
            if value is None:
                continue
            low, high = (chart.spread[at][place] if chart.spread else None) or (None, None)
            values.append(
                {
                    "group": groups[at],
                    "name": plain(chart.groups[at]),
                    "series": names[place],
                    "value": value,
                    "low": low,
                    "high": high,
                }
            )
    shown = _toggle(names)
    axis = alt.Axis(labelAngle=0, labelExpr="split(datum.label, '\\n')", title=None)
    x = alt.X("group:N", sort=groups, axis=axis, scale=alt.Scale(domain=groups, paddingInner=0.25))
    offset = alt.XOffset("series:N", sort=names, scale=alt.Scale(domain=names))
    tooltip = [
        alt.Tooltip("name:N", title="group"),
        alt.Tooltip("series:N", title="series"),
        _number("value", chart.y),
    ]
    if chart.spread:
        tooltip += [_number("low", "from"), _number("high", "to")]
    base = alt.Chart(_data(values)).transform_filter(shown)
    bars = base.mark_bar(cornerRadius=1).encode(
        x=x,
        xOffset=offset,
        y=alt.Y("value:Q", title=plain(chart.y)),
        color=_colour(names),
        tooltip=tooltip,
    )
    spread = base.transform_filter("isValid(datum.low) && isValid(datum.high)")
    whiskers = spread.mark_rule(strokeWidth=1.5, color=INK, opacity=0.75).encode(
        x=x, xOffset=offset, y=alt.Y("low:Q"), y2="high:Q", tooltip=tooltip
    )
    return [bars.add_params(shown), whiskers]


def _boxes(chart: BoxPlot) -> list[Layer]:
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
    base = alt.Chart(_data(values))
    colour = alt.Color("series:N", sort=None, legend=None)
    zero = alt.Scale(zero=True, nice=True)
    whiskers = base.mark_rule(color=INK, opacity=0.75).encode(
        y=y, x=alt.X("least:Q", title=plain(chart.y), scale=zero), x2="greatest:Q", tooltip=tooltip
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
    return [whiskers, *ends, boxes, medians, *limit]


# ---------------------------------------------------------------- timelines


def _spans(chart: Timeline) -> list[Layer]:
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
    base = alt.Chart(_data(values))
    bars = base.mark_bar(
        cornerRadius=2, opacity=0.55, stroke=INK, strokeWidth=0.5, clip=True
    ).encode(x=x, x2="end:Q", y=y, color=_colour(kinds, legend=False), tooltip=tooltip)
    fits = "scale('x', datum.end) - scale('x', datum.start) > datum.room ? 1 : 0"
    labels = base.mark_text(
        fontSize=TEXT, color=INK, opacity=alt.ExprRef(expr=fits), clip=True
    ).encode(x=alt.X("middle:Q", scale=scale), y=y, text="label:N", tooltip=tooltip)
    return [bars.add_params(_moving("x")), labels]


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


def _tracks(chart: TrackMap) -> list[Layer]:
    import altair as alt

    across, up, _ = _map_frame(chart)
    told = [track for track in chart.tracks if not track.true]
    names = [plain(track.name) for track in told]
    x = alt.X("x:Q", title=plain(chart.x), scale=alt.Scale(domain=across, nice=False, zero=False))
    y = alt.Y("y:Q", title=plain(chart.y), scale=alt.Scale(domain=up, nice=False, zero=False))
    shown = _toggle(names)
    # The first track is on top, as it is first in the legend; no circle hides a mark.
    rings = alt.Chart(_data([one for track in reversed(told) for one in _ring_corners(track)]))
    circles = (
        rings.transform_filter(shown)
        .mark_line(interpolate="linear-closed", strokeWidth=0.8, fillOpacity=0.12, clip=True)
        .encode(x=x, y=y, order="order:Q", detail="ring:N", color=_colour(names),
                fill=alt.Fill("series:N", sort=None, scale=alt.Scale(domain=names), legend=None))
    )  # fmt: skip
    truths: list[Layer] = [
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
    return [circles.add_params(shown, _moving("x", "y")), *truths, missed, points]


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
