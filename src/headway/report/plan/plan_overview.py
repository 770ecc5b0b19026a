"""The picture of a car with many ECUs: a panel for each bus with its ECUs, and from which bus to
which streams go.

With 80 ECUs side by side nobody reads anything, and streams drawn between them are a ball of wool.
So an ECU is a line here: its load, how many operators it runs, and whether its outputs keep their
deadlines; what they are its tooltip tells, and the tables of the page. Streams are counted, by the
buses on which they begin and end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headway.model.plan import Plan
from headway.report.plan.picture_frame import (
    LEGEND_SIZE,
    document,
    draw_load,
    heading_lines,
    load_width,
)
from headway.report.plan.picture_layout import LEGEND_HEIGHT, MARGIN, TITLE_HEIGHT
from headway.report.plan.plan_sketch import (
    DETAIL_SIZE,
    NAME_SIZE,
    Ecu,
    ItemState,
    Role,
    Sketch,
    SketchMedium,
    count,
    route_of,
    sketch_summary,
)
from headway.report.svg import group, label, rect, width_of

PANELS = 4
"""beside each other"""
PANEL, BETWEEN = 296.0, 16.0
INSIDE = 10.0
PANEL_HEADER, ROW = 46.0, 26.0
NO_BUS = "on no bus"
ECU_LOAD = 84.0
"""its bar and number"""
CELL, CELL_HEIGHT = 96.0, 24.0
WIDTH = 2 * MARGIN + PANELS * PANEL + (PANELS - 1) * BETWEEN
SHADES = (0.18, 0.34, 0.5)


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A bus or link with the ECUs that are told of there: each at the first bus that has it."""

    medium: SketchMedium
    ecus: tuple[Ecu, ...]

    @property
    def height(self) -> float:
        return PANEL_HEADER + len(self.ecus) * ROW + INSIDE


def draw_overview(plan: Plan, *, heading: bool) -> str:
    """The plan as an SVG document."""
    sketch = sketch_summary(plan)
    panels = _panels(plan, sketch)
    parts = heading_lines(sketch, WIDTH) if heading else []
    y = TITLE_HEIGHT if heading else MARGIN
    for first in range(0, len(panels), PANELS):
        row = panels[first : first + PANELS]
        for place, panel in enumerate(row):
            parts.append(_draw_panel(panel, sketch, MARGIN + place * (PANEL + BETWEEN), y))
        y += max(panel.height for panel in row) + BETWEEN
    drawn, y = _draw_ways(plan, sketch, y)
    parts += drawn
    told = "operators ⇒ outputs (✓ kept, ✗ not kept). Point at an ECU for what runs there."
    wide = WIDTH - 2 * MARGIN
    parts.append(label(told, MARGIN, y + 12, wide, size=LEGEND_SIZE, class_="muted"))
    return document(sketch, WIDTH, y + LEGEND_HEIGHT, parts)


def _panels(plan: Plan, sketch: Sketch) -> list[Panel]:
    """The fullest first, so that those of one row are about as high."""
    ecus = {ecu.name: ecu for ecu in sketch.ecus}
    panels = []
    members = {bus.name: bus.nodes for bus in plan.vehicle.buses}
    for medium in sketch.media:
        mine = [ecus.pop(name) for name in members.get(medium.name, ()) if name in ecus]
        if mine:
            panels.append(Panel(medium=medium, ecus=tuple(mine)))
    if ecus:
        nowhere = SketchMedium(name=NO_BUS, detail="links, or nothing", title=NO_BUS)
        panels.append(Panel(medium=nowhere, ecus=tuple(ecus.values())))
    return sorted(panels, key=lambda panel: -len(panel.ecus))


# ---------------------------------------------------------------- panels


def _draw_panel(panel: Panel, sketch: Sketch, x: float, y: float) -> str:
    medium = panel.medium
    inside = PANEL - 2 * INSIDE
    beside = load_width(medium.load)
    header = group(
        "medium",
        rect(x, y, PANEL, panel.height, "bar", 8),
        label(medium.name, x + INSIDE, y + 19, inside - beside, size=13, bold=True),
        draw_load(medium.load, x + PANEL - INSIDE, y + 19),
        label(medium.detail, x + INSIDE, y + 36, inside, size=DETAIL_SIZE, class_="muted"),
        title=medium.title,
        data_medium=medium.name,
    )
    rows = [
        _draw_ecu(ecu, sketch, x + INSIDE, y + PANEL_HEADER + place * ROW, inside)
        for place, ecu in enumerate(panel.ecus)
    ]
    return header + "".join(rows)


def _draw_ecu(ecu: Ecu, sketch: Sketch, x: float, y: float, width: float) -> str:
    """Name, what it does, load; red and with a cross where an output breaks its promise."""
    items = {item.role: item for item in sketch.items if item.node == ecu.name}
    operators, outputs = items.get(Role.OPERATOR), items.get(Role.OUTPUT)
    busy = len(items) > 1 or (operators is not None and not operators.name.startswith("0 "))
    state = ItemState.UNKNOWN if outputs is None else outputs.state
    does = operators.name.split()[0] if busy and operators is not None else "–"
    if outputs is not None:
        does += f" ⇒ {outputs.name.split()[0]}"
        does += {ItemState.KEPT: " ✓", ItemState.BROKEN: " ✗"}.get(state, "")
    beside = ECU_LOAD if busy and ecu.load is not None else 0.0
    told = width_of(does, DETAIL_SIZE) + 8
    name = width - 12 - beside - told
    kind = f"output {state}" if state is ItemState.BROKEN else "operator" if busy else "ecu"
    colour = str(state) if state is not ItemState.UNKNOWN else "muted"
    parts = [
        rect(x, y, width, ROW - 4, kind, 4),
        label(ecu.name, x + 6, y + 15, name, size=NAME_SIZE - 1, bold=busy),
        label(does, x + 6 + name + 4, y + 15, told, size=DETAIL_SIZE, class_=colour),
    ]
    if busy:
        parts.append(draw_load(ecu.load, x + width - 6, y + 15, ECU_LOAD))
    title = "\n".join([ecu.title, *(_said(items[role].title, role) for role in items)])
    return group("node", *parts, title=title, data_node=ecu.name)


def _said(names: str, role: Role) -> str:
    return names if role is Role.OPERATOR else f"{role}s: {names}"


# ---------------------------------------------------------------- ways


def _draw_ways(plan: Plan, sketch: Sketch, y: float) -> tuple[list[str], float]:
    """How many streams go from the bus on the left to the bus on top, and where the part ends."""
    ways = Counter((media[0], media[-1]) for media in _routes(plan))
    ends = {name for way in ways for name in way}
    names = [medium.name for medium in sketch.media if medium.name in ends]
    if not names:
        return [], y
    first = max(width_of(name, DETAIL_SIZE, bold=True) for name in names) + 16
    column = min(CELL, (WIDTH - 2 * MARGIN - first) / len(names))
    gateways = ", ".join(f"{junction.name} ({junction.detail})" for junction in sketch.junctions)
    told = "streams between ECUs, from the bus on the left to the bus on top"
    told += f"; by {gateways}" if gateways else ""
    parts = [
        label(told, MARGIN, y + 14, WIDTH - 2 * MARGIN, size=NAME_SIZE, class_="muted"),
        *(
            label(
                name,
                MARGIN + first + (place + 0.5) * column,
                y + 36,
                column - 6,
                size=DETAIL_SIZE,
                anchor="middle",
                bold=True,
            )
            for place, name in enumerate(names)
        ),
    ]
    y += 44
    most = max(ways.values())
    for start in names:
        parts.append(label(start, MARGIN, y + 16, first - 8, size=DETAIL_SIZE, bold=True))
        for place, end in enumerate(names):
            x = MARGIN + first + place * column
            parts.append(_draw_way(ways, start, end, x, y, column, most))
        y += CELL_HEIGHT
    return parts, y + BETWEEN / 2


def _draw_way(
    ways: Mapping[tuple[str, str], int],
    start: str,
    end: str,
    x: float,
    y: float,
    column: float,
    most: int,
) -> str:
    found = ways.get((start, end), 0)
    box = rect(x + 1, y + 1, column - 2, CELL_HEIGHT - 2, "meter", 3)
    if not found:
        return box
    shade = SHADES[min(len(SHADES) - 1, found * len(SHADES) // (most + 1))]
    filled = rect(x + 1, y + 1, column - 2, CELL_HEIGHT - 2, "used", 3)
    return group(
        "way",
        box,
        filled.replace("/>", f' opacity="{shade}"/>'),
        label(str(found), x + column / 2, y + 16, column - 4, size=NAME_SIZE, anchor="middle"),
        title=f"{count(found, 'stream')} from {start} to {end}",
    )


def _routes(plan: Plan) -> Sequence[tuple[str, ...]]:
    return [route_of(crossing)[0] for crossing in plan.crossings]
