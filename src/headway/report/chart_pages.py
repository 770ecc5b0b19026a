"""Charts in a page that answers the pointer, and as SVG or PNG. Nothing is loaded from elsewhere.

A page holds the script that draws once, about 0.9 MB, and each chart as JSON. What is drawn follows
the page: its width, and whether it is light or dark. Printed, it is light.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from textwrap import wrap
from typing import Any

from headway.errors import EnvironmentMissing
from headway.report.charts import SHAPES, TEXT, WIDTH, Chart
from headway.report.html import escaped, page
from headway.report.svg import plain

ZOOM = 2
"""pixels of a PNG for each unit"""
TITLE_LETTERS = 66
"""that stand in a line above a picture"""
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


def chart_files(name: str, charts: Sequence[Chart], title: str) -> dict[str, str]:
    """The charts as a page and as one picture; EnvironmentMissing where nothing draws them."""
    check_drawing()
    return {f"{name}.html": charts_page(charts, title), f"{name}.svg": chart_svg(charts, title)}


def chart_svg(charts: Sequence[Chart], title: str) -> str:
    """One picture of all of them, one below the other."""
    import vl_convert

    spec = _standing(charts, title)
    svg: str = vl_convert.vegalite_to_svg(spec, vl_version=_version(), config=_config(LIGHT))
    # Clip paths are numbered on and on through a process; equal charts are to be equal files.
    seen: dict[str, str] = {}
    named = re.sub(r"\bclip\d+", lambda clip: seen.setdefault(clip[0], f"clip{len(seen)}"), svg)
    return named + "\n"


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
    spec = chart.spec()
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
  const room = Math.max(160, target.clientWidth - 74);
  const {height, legend} = spec.usermeta;
  if (height) Object.assign(spec, {width: room, height: Math.round(room * height)});
  for (const one of spec.params || [])
    if (one.name === 'columns') one.value = Math.max(1, Math.floor(room / legend));
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
        "legend": text | {"labelLimit": 0, "symbolSize": 90,
                          "labelColor": "#e7ecf3" if dark else "#18212d"},
        "title": {"color": "#e7ecf3" if dark else "#18212d", "fontSize": 13, "anchor": "start"},
        "range": {"category": list(colours), "symbol": list(SHAPES)},
    }  # fmt: skip


def _standing(charts: Sequence[Chart], title: str) -> dict[str, Any]:
    """The charts on white with their titles, as wide as they are meant to be; nothing moves."""
    stills: list[dict[str, Any]] = []
    datasets: dict[str, Any] = {}
    for chart in charts:
        spec = chart.spec()
        (columns,) = (one["value"] for one in spec.pop("params") if one["name"] == "columns")
        datasets |= spec.pop("datasets", {})
        schema = spec.pop("$schema")
        still: dict[str, Any] = _still(spec, columns)
        lines = wrap(plain(chart.title), TITLE_LETTERS)
        stills.append(still | {"width": WIDTH, "title": lines})
    whole = stills[0]
    if len(stills) > 1:
        apart = {"color": "independent", "shape": "independent"}
        for still in stills:
            del still["autosize"]
        whole = {
            "title": plain(title),
            "vconcat": stills,
            "resolve": {"legend": apart, "scale": apart},
        }
    return whole | {
        "$schema": schema,
        "datasets": datasets,
        "background": "#ffffff",
        "padding": 10,
    }


def _still(part: Any, columns: int) -> Any:
    """A part of a chart without what answers the pointer."""
    if isinstance(part, list):
        return [_still(one, columns) for one in part if not _answers(one)]
    if part == {"expr": "columns"}:
        return columns
    if isinstance(part, dict):
        # Layers are named for the sake of what answers the pointer; data by what they are.
        named = "name" if "mark" in part else None
        return {key: _still(one, columns) for key, one in part.items() if key != named}
    return part


def _answers(part: Any) -> bool:
    """Whether it is the filter of what a legend hides."""
    kept = part.get("filter") if isinstance(part, dict) else None
    return isinstance(kept, dict) and "param" in kept
