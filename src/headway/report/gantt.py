"""A static schedule as a Gantt chart of processors and links: one SVG picture.

A message has the colour of the task that sends it, so that it can be followed from the task to the
links and on. The same picture, with a script around it, is the interactive page.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log10

from headway.model.static_network import Network
from headway.model.static_schedule import Schedule
from headway.report.gantt_style import CHART_CLASS, chart_css, colour_class
from headway.report.svg import element, group, label, number, rect, tooltip
from headway.report.text import fit, width_of

WIDTH, MARGIN = 1040.0, 16.0
ROW, BAR, GAP = 30.0, 22.0, 14.0
TOP, BOTTOM = 58.0, 34.0
LABEL_SIZE, TICKS = 11.0, 10
SMALLEST_BAR = 1.2
"""Pixels below which a bar could not be seen."""


@dataclass(frozen=True, kw_only=True)
class Chart:
    """What to draw. ``deadline`` is marked where it lies within the chart or close behind it."""

    title: str
    network: Network
    schedule: Schedule
    deadline: Fraction | None = None
    note: str = ""
    unit: Fraction = Fraction(1)
    """how much of the schedule's time is one unit on the axis"""
    unit_name: str = ""

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


def gantt_svg(chart: Chart, *, heading: bool = True) -> str:
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


def _summary(chart: Chart) -> str:
    words = [f"makespan {chart.text(chart.schedule.makespan)}"]
    if chart.deadline is not None:
        words.append(f"deadline {chart.text(chart.deadline)}")
    return " · ".join([*words, chart.note] if chart.note else words)


def _gutter(chart: Chart) -> float:
    widest = max((width_of(name, 12, bold=True) for _, name in chart.rows), default=0.0)
    return MARGIN + min(max(widest + 14, 48.0), 170.0)


def _row_tops(chart: Chart, top: float) -> dict[tuple[str, str], float]:
    return {
        row: top + index * ROW + (GAP if row[0] == "link" else 0)
        for index, row in enumerate(chart.rows)
    }


def _grid(chart: Chart, gutter: float, scale: float, top: float, bottom: float) -> list[str]:
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


def _marks(chart: Chart, gutter: float, scale: float, top: float, bottom: float) -> list[str]:
    """Where the schedule ends and where it should have ended."""
    end = gutter + chart.units(chart.schedule.makespan) * scale
    parts = [_mark(end, top, bottom, "makespan")]
    if chart.deadline is not None and chart.units(chart.deadline) <= chart.end:
        parts.append(_mark(gutter + chart.units(chart.deadline) * scale, top, bottom, "deadline"))
    return parts


def _mark(x: float, top: float, bottom: float, kind: str) -> str:
    line = element("path", class_=kind, d=f"M{number(x)} {number(top - 4)}V{number(bottom)}")
    text = label(kind, x - 3, bottom + 28, 80, size=10, class_="muted", anchor="end")
    return group(f"mark {kind}-mark", line, text)


def _step(end: float) -> float:
    """1, 2 or 5 times a power of ten, so that there are about ten steps."""
    rough = end / TICKS
    power = 10.0 ** floor(log10(rough))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)


def _task_bars(
    chart: Chart, gutter: float, scale: float, ys: dict[tuple[str, str], float]
) -> list[str]:
    colours = {slot.task: index for index, slot in enumerate(chart.schedule.tasks)}
    parts = []
    for slot in chart.schedule.tasks:
        title = (
            f"{slot.task} on {slot.processor}\n"
            f"{chart.text(slot.start)} to {chart.text(slot.finish)}, "
            f"takes {chart.text(slot.finish - slot.start)}"
        )
        x, width = _span(chart, slot.start, slot.finish, gutter, scale)
        bar = _bar(x, ys["processor", slot.processor], width, slot.task, colours[slot.task])
        parts.append(group("bar task", *bar, title=title, data_task=slot.task))
    return parts


def _message_bars(
    chart: Chart, gutter: float, scale: float, ys: dict[tuple[str, str], float]
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
            bar = _bar(x, ys["link", slot.link], width, shown, colours[message.sender])
            ends = {"data_from": message.sender, "data_to": message.receiver}
            parts.append(group("bar message", *bar, title=title, **ends))
    return parts


def _span(
    chart: Chart, start: Fraction, finish: Fraction, gutter: float, scale: float
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
