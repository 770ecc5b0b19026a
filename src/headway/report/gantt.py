"""Static schedules as Gantt charts of processors and links: SVG, and one interactive page.

A message has the colour of the task that sends it, so that it can be followed from the task to the
links and on. The page is the same picture with a script around it: choose an algorithm, zoom, click
a task to follow its messages. Nothing is loaded from elsewhere; without script, and in print, all
charts are shown one below the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor, log10

from headway.model.static_network import ProcessorNetwork, Schedule
from headway.report.html import escaped, page, section_table
from headway.report.plan.plan_tables import Table
from headway.report.svg import (
    element,
    fit,
    group,
    label,
    number,
    picture_css,
    rect,
    tooltip,
    width_of,
)

# ---------------------------------------------------------------- colours and script

CHART_CLASS = "headway-gantt"
_HUES = (212, 28, 140, 330, 52, 268, 178, 4, 96, 300, 195, 75)
_LIGHT = {
    "text": "fill:#18212d",
    ".muted": "fill:#566273",
    ".page": "fill:#ffffff",
    ".processor-row": "fill:#eef3f9",
    ".link-row": "fill:#f2f1fa",
    ".grid": "stroke:#d5dde7;stroke-width:1",
    ".makespan": "stroke:#18212d;stroke-width:1.6",
    ".deadline": "stroke:#b3261e;stroke-width:1.6;stroke-dasharray:5 3",
    ".box": "stroke:#18212d;stroke-opacity:.45;stroke-width:.8",
    ".hole": "fill-opacity:.28;stroke:#18212d;stroke-width:.8;stroke-dasharray:3 2",
    "text.on-bar": "fill:#18212d",
    ".faded": "opacity:.18",
    ".chosen .box": "stroke-width:2.4;stroke-opacity:1",
}
_DARK = {
    "text": "fill:#e7ecf3",
    ".muted": "fill:#a3b0c0",
    ".page": "fill:#10151c",
    ".processor-row": "fill:#1a2430",
    ".link-row": "fill:#201f31",
    ".grid": "stroke:#2e3a49",
    ".makespan": "stroke:#e7ecf3",
    ".deadline": "stroke:#f2857d",
    ".hole": "stroke:#e7ecf3",
    ".chosen .box": "stroke:#ffffff",
}


def colour_class(index: int) -> str:
    """The class of the n-th task's colour; they repeat after a dozen."""
    return f"c{index % len(_HUES)}"


def chart_css() -> str:
    """Rules that hold inside the chart only."""
    colours = {f".c{i}": f"fill:hsl({hue} 72% 78%)" for i, hue in enumerate(_HUES)}
    return picture_css(CHART_CLASS, _LIGHT | colours, _DARK)


CONTROLS_CSS = """
.tools{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:center;margin:.6rem 0}
.tools button,.tools select{font:inherit;padding:.2rem .7rem;border:1px solid var(--line);
border-radius:6px;background:var(--card);color:var(--ink);cursor:pointer}
.chart{display:none}.chart.shown{display:block}
.chart figure svg{max-width:none;height:auto}
.facts{min-height:1.6em;font-variant-numeric:tabular-nums}
.bar{cursor:pointer}
@media print{.tools{display:none}.chart{display:block}}
"""

SCRIPT = """
(function(){
  var charts=Array.prototype.slice.call(document.querySelectorAll('.chart'));
  var pick=document.getElementById('pick'),facts=document.getElementById('facts');
  var zoom=1,chosen=null;
  function current(){return document.querySelector('.chart.shown')}
  function size(){charts.forEach(function(chart){
    chart.querySelector('svg').style.width=(zoom*100)+'%';});}
  function show(index){charts.forEach(function(chart,i){
    chart.classList.toggle('shown',i===index);});choose(null);}
  function zoomTo(value,centre){
    var box=current().querySelector('figure'),old=zoom;
    zoom=Math.min(40,Math.max(1,value));
    var at=centre===undefined?box.clientWidth/2:centre;
    var keep=(box.scrollLeft+at)/old;size();box.scrollLeft=keep*zoom-at;}
  function choose(task){
    chosen=task;
    var bars=current().querySelectorAll('.bar'),near={};
    if(task!==null){near[task]=1;bars.forEach(function(bar){
      var a=bar.dataset.from,b=bar.dataset.to;
      if(a===task||b===task){near[a]=1;near[b]=1;}});}
    bars.forEach(function(bar){
      var d=bar.dataset,own=d.task===task||d.from===task||d.to===task;
      bar.classList.toggle('faded',task!==null&&!own&&!(d.task&&near[d.task]));
      bar.classList.toggle('chosen',task!==null&&own);});
    facts.textContent=task===null?'Click a task to follow its messages.':
      Array.prototype.filter.call(bars,function(bar){return bar.dataset.task===task;})
      .map(function(bar){return bar.querySelector('title').textContent.replace('\\n',': ');})
      .join('; ');}
  document.querySelectorAll('.bar').forEach(function(bar){
    bar.addEventListener('click',function(event){
      var task=bar.dataset.task||bar.dataset.from;
      choose(chosen===task?null:task);event.stopPropagation();});});
  document.addEventListener('click',function(event){
    if(!event.target.closest('.tools'))choose(null);});
  document.querySelectorAll('figure').forEach(function(box){
    box.addEventListener('wheel',function(event){
      if(!event.ctrlKey&&!event.metaKey)return;
      event.preventDefault();
      zoomTo(zoom*(event.deltaY<0?1.25:0.8),event.clientX-box.getBoundingClientRect().left);
    },{passive:false});});
  document.getElementById('in').addEventListener('click',function(){zoomTo(zoom*1.5);});
  document.getElementById('out').addEventListener('click',function(){zoomTo(zoom/1.5);});
  document.getElementById('all').addEventListener('click',function(){zoomTo(1);});
  if(pick)pick.addEventListener('change',function(){show(pick.selectedIndex);});
  show(0);size();
})();
"""


# ---------------------------------------------------------------- the chart


WIDTH, MARGIN = 1040.0, 16.0
ROW, BAR, GAP = 30.0, 22.0, 14.0
TOP, BOTTOM = 58.0, 34.0
LABEL_SIZE, TICKS = 11.0, 10
SMALLEST_BAR = 1.2
"""Pixels below which a bar could not be seen."""


@dataclass(frozen=True, kw_only=True)
class GanttChart:
    """What to draw. ``deadline`` is marked where it lies within the chart or close behind it."""

    title: str
    network: ProcessorNetwork
    schedule: Schedule
    deadline: Fraction | None = None
    note: str = ""
    unit: Fraction = Fraction(1)
    """how much of the schedule's time is one unit on the axis"""
    unit_name: str = ""
    end_name: str = "makespan"
    limit_name: str = "deadline"
    """what the two marks are called"""
    holes: Mapping[str, Fraction] = field(default_factory=dict)
    """task -> the time behind it that an optional part may use"""

    @property
    def rows(self) -> list[tuple[str, str]]:
        """(kind, name) from top to bottom: all processors, then the links that there are."""
        return [
            *(("processor", one.name) for one in self.network.processors),
            *(("link", link.name) for link in self.network.links),
        ]

    @property
    def end(self) -> float:
        """The time at the right edge."""
        makespan = self.units(self.schedule.makespan)
        deadline = self.units(self.deadline) if self.deadline is not None else 0.0
        return (max(makespan, deadline) if deadline <= 2 * makespan else makespan) or 1.0

    def units(self, time: Fraction) -> float:
        return float(time / self.unit)

    def text(self, time: Fraction) -> str:
        return f"{time_text(time / self.unit)} {self.unit_name}".rstrip()


def time_text(time: Fraction | float) -> str:
    """At most three decimals."""
    return f"{float(time):,.3f}".rstrip("0").rstrip(".")


def gantt_svg(chart: GanttChart, *, heading: bool = True) -> str:
    """The chart as an SVG document; ``heading`` False leaves the visible title to the page."""
    top = TOP if heading else MARGIN
    gutter = _gutter(chart)
    scale = (WIDTH - gutter - MARGIN) / (chart.end * 1.01)
    height = top + len(chart.rows) * ROW + GAP + BOTTOM
    parts = [
        tooltip(f"{chart.title}: {_summary(chart)}"),
        f"<style>{chart_css()}</style>",
        rect(0, 0, WIDTH, height, "page", 6),
    ]
    if heading:
        inside = WIDTH - 2 * MARGIN
        parts.append(label(chart.title, MARGIN, 26, inside, size=16, bold=True))
        parts.append(label(_summary(chart), MARGIN, 45, inside, size=12, class_="muted"))
    ys = _row_tops(chart, top)
    parts += _grid(chart, gutter, scale, top, height - BOTTOM)
    for kind, name in chart.rows:
        y = ys[kind, name]
        parts.append(rect(gutter, y, WIDTH - gutter - MARGIN, BAR, f"row {kind}-row", 3))
        parts.append(label(name, gutter - 8, y + 15, gutter - 12, size=12, bold=True, anchor="end"))
    parts += _marks(chart, gutter, scale, top, height - BOTTOM)
    parts += _task_bars(chart, gutter, scale, ys)
    parts += _message_bars(chart, gutter, scale, ys)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{CHART_CLASS}" role="img"'
        f' width="{number(WIDTH)}" height="{number(height)}"'
        f' viewBox="0 0 {number(WIDTH)} {number(height)}">\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _summary(chart: GanttChart) -> str:
    words = [f"{chart.end_name} {chart.text(chart.schedule.makespan)}"]
    if chart.deadline is not None:
        words.append(f"{chart.limit_name} {chart.text(chart.deadline)}")
    return " · ".join([*words, chart.note] if chart.note else words)


def _gutter(chart: GanttChart) -> float:
    widest = max((width_of(name, 12, bold=True) for _, name in chart.rows), default=0.0)
    return MARGIN + min(max(widest + 14, 48.0), 170.0)


def _row_tops(chart: GanttChart, top: float) -> dict[tuple[str, str], float]:
    return {
        row: top + index * ROW + (GAP if row[0] == "link" else 0)
        for index, row in enumerate(chart.rows)
    }


def _grid(chart: GanttChart, gutter: float, scale: float, top: float, bottom: float) -> list[str]:
    step = _step(chart.end)
    decimals = max(0, -floor(log10(step)))
    parts = []
    for index in range(floor(chart.end / step + 1e-9) + 1):
        x = gutter + index * step * scale
        parts.append(
            element("path", class_="grid", d=f"M{number(x)} {number(top)}V{number(bottom)}")
        )
        text = f"{index * step:,.{decimals}f}"
        parts.append(label(text, x, bottom + 15, 80, size=11, class_="muted", anchor="middle"))
    return parts


def _marks(chart: GanttChart, gutter: float, scale: float, top: float, bottom: float) -> list[str]:
    """Where the schedule ends and where it should have ended."""
    end = gutter + chart.units(chart.schedule.makespan) * scale
    parts = [_mark(end, top, bottom, "makespan", chart.end_name)]
    if chart.deadline is not None and chart.units(chart.deadline) <= chart.end:
        limit = gutter + chart.units(chart.deadline) * scale
        parts.append(_mark(limit, top, bottom, "deadline", chart.limit_name))
    return parts


def _mark(x: float, top: float, bottom: float, kind: str, name: str) -> str:
    line = element("path", class_=kind, d=f"M{number(x)} {number(top - 4)}V{number(bottom)}")
    text = label(name, x - 3, bottom + 28, 80, size=10, class_="muted", anchor="end")
    return group(f"mark {kind}-mark", line, text)


def _step(end: float) -> float:
    """1, 2 or 5 times a power of ten, so that there are about ten steps."""
    rough = end / TICKS
    power = 10.0 ** floor(log10(rough))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)


def _task_bars(
    chart: GanttChart, gutter: float, scale: float, ys: dict[tuple[str, str], float]
) -> list[str]:
    colours = {slot.task: index for index, slot in enumerate(chart.schedule.tasks)}
    parts = []
    for slot in chart.schedule.tasks:
        title = (
            f"{slot.task} on {slot.processor}\n"
            f"{chart.text(slot.start)} to {chart.text(slot.finish)}, "
            f"takes {chart.text(slot.finish - slot.start)}"
        )
        y = ys["processor", slot.processor]
        if hole := chart.holes.get(slot.task):
            title += f"\nhole of {chart.text(hole)} behind it"
            x, width = _span(chart, slot.finish, slot.finish + hole, gutter, scale)
            parts.append(rect(x, y, width, BAR, f"hole {colour_class(colours[slot.task])}", 3))
        x, width = _span(chart, slot.start, slot.finish, gutter, scale)
        bar = _bar(x, y, width, slot.task, colours[slot.task])
        parts.append(group("bar task", *bar, title=title, data_task=slot.task))
    return parts


def _message_bars(
    chart: GanttChart, gutter: float, scale: float, ys: dict[tuple[str, str], float]
) -> list[str]:
    colours = {slot.task: index for index, slot in enumerate(chart.schedule.tasks)}
    parts = []
    for message in chart.schedule.messages:
        text = f"{message.sender}→{message.receiver}"
        for slot in message.links:
            title = (
                f"{text} on {slot.link}\n{chart.text(slot.start)} to {chart.text(slot.finish)}\n"
                f"route {', '.join(message.route)}"
            )
            x, width = _span(chart, slot.start, slot.finish, gutter, scale)
            fits = width_of(text, LABEL_SIZE) <= width - 4
            shown = text if fits else message.sender
            colour = colours.get(message.sender, len(colours))
            bar = _bar(x, ys["link", slot.link], width, shown, colour)
            ends = {"data_from": message.sender, "data_to": message.receiver}
            parts.append(group("bar message", *bar, title=title, **ends))
    return parts


def _span(
    chart: GanttChart, start: Fraction, finish: Fraction, gutter: float, scale: float
) -> tuple[float, float]:
    width = max(chart.units(finish - start) * scale, SMALLEST_BAR)
    return gutter + chart.units(start) * scale, ceil(width * 10) / 10


def _bar(x: float, y: float, width: float, text: str, colour: int) -> tuple[str, str]:
    box = rect(x, y, width, BAR, f"box {colour_class(colour)}", min(3.0, width / 3))
    shown = fit(text, width - 4, LABEL_SIZE)
    if shown != text and len(shown) < 4:
        return box, ""
    middle = x + width / 2
    return box, label(
        text, middle, y + 15, width - 4, size=LABEL_SIZE, class_="on-bar", anchor="middle"
    )


# ---------------------------------------------------------------- the page


def gantt_html(heading: str, charts: Sequence[GanttChart], tables: Sequence[Table] = ()) -> str:
    """The page; ``tables`` stand below the charts."""
    options = "".join(
        f"<option>{escaped(chart.title)} ({chart.text(chart.schedule.makespan)})</option>"
        for chart in charts
    )
    pick = f'<label>Schedule <select id="pick">{options}</select></label>'
    figures = "\n".join(
        f'<section class="chart"><h2>{escaped(chart.title)}</h2>'
        f'<p class="muted">{chart.end_name} {chart.text(chart.schedule.makespan)}'
        f"{' · ' + escaped(chart.note) if chart.note else ''}</p>"
        f'<figure tabindex="0" aria-label="Gantt chart">{gantt_svg(chart, heading=False)}</figure>'
        "</section>"
        for chart in charts
    )
    tools = (
        f'<div class="tools">{pick}<span>'
        '<button id="out" type="button" aria-label="zoom out">−</button> '
        '<button id="in" type="button" aria-label="zoom in">+</button> '
        '<button id="all" type="button">whole</button></span>'
        '<span class="muted">Ctrl and wheel zoom, too.</span></div>'
        '<p id="facts" class="facts" aria-live="polite"></p>'
    )
    body = [f"<h1>{escaped(heading)}</h1>"]
    if charts:
        body += ["<noscript><style>.chart{display:block}.tools{display:none}</style></noscript>"]
        body += [tools, figures]
    body += [section_table(table) for table in tables]
    if charts:
        body.append(f"<script>{SCRIPT}</script>")
    return page(heading, body, CONTROLS_CSS)
