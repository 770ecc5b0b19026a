"""A compiled query on its vehicle, as one SVG picture."""

from __future__ import annotations

from headway.model.plan import Plan
from headway.report.drawing import (
    draw_band,
    draw_bar,
    draw_ecu,
    draw_gateway,
    draw_item,
    draw_stream,
)
from headway.report.picture_style import PICTURE_CLASS, picture_css
from headway.report.placing import LEGEND_HEIGHT, MARGIN, Placing, place
from headway.report.sketch import Sketch, State
from headway.report.sketch_plan import sketch_plan
from headway.report.sketch_summary import sketch_summary
from headway.report.svg import dot, element, label, number, tooltip
from headway.report.text import plain, width_of
from headway.report.wires import Wire, frames_of, wires_of

MOST_OPERATORS = 100
"""Above this many operators each node is drawn as one box."""

LEGEND_SIZE = 10.5


def plan_svg(plan: Plan, *, heading: bool = True) -> str:
    """The query on the vehicle: ECUs with their operators, streams, buses, deadlines and bounds.

    ``heading`` False leaves out the visible title and verdict, for a page that has them already.
    """
    detailed = sum(1 for _ in plan.query.operators) <= MOST_OPERATORS
    return draw(sketch_plan(plan) if detailed else sketch_summary(plan), heading=heading)


def draw(sketch: Sketch, *, heading: bool = True) -> str:
    """The sketch as an SVG document."""
    placing = place(sketch) if heading else place(sketch, MARGIN)
    frames, wires = frames_of(placing), wires_of(placing)
    parts = [_named("title", sketch.heading), _named("desc", sketch.description)]
    parts.append(f"<style>{picture_css()}</style>")
    parts.append(element("rect", class_="page", width=placing.width, height=placing.height, rx=6))
    parts += _heading(sketch, placing.width) if heading else []
    parts += [draw_ecu(cell, placing.corners[name]) for name, cell in placing.cells.items()]
    parts += [draw_bar(medium, placing) for medium in sketch.media]
    parts += [
        draw_gateway(junction, placing.gateways[junction.name])
        for junction in sketch.junctions
        if junction.name in placing.gateways
    ]
    parts += [draw_band(wire) for wire in wires if wire.train]
    streams: dict[tuple[str, bool], list[Wire]] = {}
    for wire in wires:
        streams.setdefault((wire.start, bool(wire.joins)), []).append(wire)
    parts += [draw_stream(ways) for ways in streams.values()]
    parts += [draw_item(item, frames[item.key]) for item in sketch.items if item.key in frames]
    parts += _legend(placing)
    size = f"{number(placing.width)} {number(placing.height)}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{PICTURE_CLASS}" role="img"'
        f' aria-labelledby="{PICTURE_CLASS}-title {PICTURE_CLASS}-desc"'
        f' width="{number(placing.width)}" height="{number(placing.height)}"'
        f' viewBox="0 0 {size}">\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _named(kind: str, text: str) -> str:
    """The picture's title or description, with the name by which it is called."""
    written = tooltip(text).removeprefix("<title>").removesuffix("</title>")
    return f'<{kind} id="{PICTURE_CLASS}-{kind}">{written}</{kind}>'


def _heading(sketch: Sketch, width: float) -> list[str]:
    inside = width - 2 * MARGIN
    colour = "muted" if sketch.state is State.UNKNOWN else str(sketch.state)
    return [
        label(sketch.heading, MARGIN, 26, inside, size=16, bold=True),
        label(sketch.summary, MARGIN, 45, inside, size=12, class_=colour),
    ]


def _legend(placing: Placing) -> list[str]:
    """What bands, dots and numbers mean, as far as they occur and fit."""
    sketch = placing.sketch
    x, y = MARGIN, placing.height - LEGEND_HEIGHT / 2 + 6
    parts: list[str] = []

    def entry(sample: str, text: str) -> None:
        nonlocal x
        wide = width_of(plain(text), LEGEND_SIZE)
        if x + 34 + wide <= placing.width - MARGIN:
            parts.append(sample)
            parts.append(label(text, x + 34, y, wide + 1, size=LEGEND_SIZE, class_="muted"))
            x += 34 + wide + 22

    if any(edge.train for edge in sketch.edges):
        band = element("path", class_="band", d=f"M{number(x)} {number(y - 4)}h28")
        line = element("path", class_="stream", d=f"M{number(x)} {number(y - 4)}h28")
        entry(band + line, "one operator train (T1, T2, …)")
    if sketch.transfers:
        line = element("path", class_="crossing", d=f"M{number(x)} {number(y - 4)}h28")
        entry(line + dot(x + 14, y - 4), "stream between ECUs; a dot joins it to a lane")
    return parts
