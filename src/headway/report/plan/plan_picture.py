"""A compiled query on its vehicle, as one SVG picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headway.model.plan import Plan
from headway.report.plan.ecu_layout import HEADER, EcuCell, EcuFrame
from headway.report.plan.picture_frame import (
    LEGEND_SIZE,
    document,
    draw_load,
    heading_lines,
    load_width,
)
from headway.report.plan.picture_layout import (
    BUS_HEADER,
    LANE_SIZE,
    LEGEND_HEIGHT,
    MARGIN,
    DrawnStream,
    Placing,
    frames_of,
    place,
    wires_of,
)
from headway.report.plan.plan_overview import draw_overview
from headway.report.plan.plan_sketch import (
    CHIP_GAP,
    CHIP_SIZE,
    DETAIL_SIZE,
    LINE,
    NAME_SIZE,
    PADDING,
    Item,
    ItemState,
    Junction,
    Role,
    Sketch,
    SketchMedium,
    chip_width,
    ecus_of,
    sketch_plan,
    sketch_summary,
)
from headway.report.svg import (
    arrow_head,
    curve,
    dot,
    element,
    group,
    label,
    number,
    plain,
    polyline,
    rect,
    width_of,
)

# ---------------------------------------------------------------- parts


def draw_ecu(cell: EcuCell, corner: tuple[float, float]) -> str:
    """The box with its header on the side away from the buses, so that no stream crosses it."""
    frame = cell.box.moved(*corner)
    y = frame.y if cell.downward else frame.bottom - HEADER
    load = cell.ecu.load
    beside = load_width(load)
    return group(
        "node",
        rect(frame.x, frame.y, frame.width, frame.height, "ecu", 8),
        rect(frame.x + 1, y + 1, frame.width - 2, HEADER - 2, "ecu-header", 7),
        label(
            cell.ecu.name,
            frame.x + 12,
            y + 20,
            frame.width - 24 - beside,
            size=13,
            bold=True,
        ),
        draw_load(load, frame.right - 12, y + 20),
        title=cell.ecu.title,
        data_node=cell.ecu.name,
    )


def draw_item(item: Item, frame: EcuFrame) -> str:
    """A box with its lines of text; sources have round ends."""
    state = f" {item.state}" if item.role is Role.OUTPUT else ""
    radius = 12.0 if item.role is Role.SOURCE else 5.0
    inside = frame.width - 2 * PADDING
    rows = 1 + len(item.details) + (1 if item.chips or item.note else 0)
    y = frame.middle - rows * LINE / 2 + 11
    x = frame.x + PADDING
    parts = [
        rect(frame.x, frame.y, frame.width, frame.height, f"{item.role}{state}", radius),
        label(item.name, x, y, inside, size=NAME_SIZE, bold=True),
    ]
    for row, detail in enumerate(item.details, start=1):
        judged = item.state is not ItemState.UNKNOWN and row > 1
        colour = str(item.state) if judged else "muted"
        parts.append(label(detail, x, y + row * LINE, inside, size=DETAIL_SIZE, class_=colour))
    parts += _draw_last_row(item, x, y + (rows - 1) * LINE, inside)
    return group(f"item item-{item.role}", *parts, title=item.title or item.name, data_key=item.key)


def _draw_last_row(item: Item, x: float, y: float, width: float) -> Iterator[str]:
    """Train numbers at the left, as many as fit; the note at the right."""
    if item.note:
        first = chip_width(item.chips[0]) + CHIP_GAP if item.chips else 0
        note = min(width_of(item.note, DETAIL_SIZE), width - first)
        yield label(
            item.note, x + width, y, note + 0.5, size=DETAIL_SIZE, class_="muted", anchor="end"
        )
        width -= note + CHIP_GAP
    for index, chip in enumerate(item.chips):
        left = len(item.chips) - index
        more = f"+{left}"
        needed = chip_width(chip) + (CHIP_GAP + chip_width(f"+{left - 1}") if left > 1 else 0)
        text = chip if needed <= width else more
        size = chip_width(text)
        yield rect(x, y - 10.5, size, 13, "chip", 6)
        yield label(text, x + size / 2, y - 0.5, size, size=CHIP_SIZE, anchor="middle")
        if text is more:
            return
        x += size + CHIP_GAP
        width -= size + CHIP_GAP


def draw_bar(medium: SketchMedium, placing: Placing) -> str:
    """A bus: name, load and lane labels at the left, where no stream runs up or down."""
    bar = placing.bars[medium.name]
    x, width = bar.x + 8, placing.labels - bar.x - 12
    beside = load_width(medium.load)
    parts = [
        rect(bar.x, bar.y, bar.width, bar.height, "bar", 6),
        label(medium.name, x, bar.y + 16, width - beside, size=12, bold=True),
        draw_load(medium.load, x + width, bar.y + 16),
        label(medium.detail, x, bar.y + BUS_HEADER - 6, width, size=DETAIL_SIZE, class_="muted"),
    ]
    labels = {t.start: t.label for t in placing.sketch.transfers}
    for (name, stream), y in placing.lanes.items():
        if name == medium.name:
            line = f"M{placing.labels:.1f} {y:.1f}H{bar.right - 6:.1f}"
            parts.append(element("path", class_="lane", d=line))
            parts.append(label(labels[stream], x, y + 3.7, width, size=LANE_SIZE))
    return group("medium", *parts, title=medium.title, data_medium=medium.name)


def draw_gateway(junction: Junction, frame: EcuFrame) -> str:
    middle, inside = frame.x + frame.width / 2, frame.width - 12
    return group(
        "junction",
        rect(frame.x, frame.y, frame.width, frame.height, "gateway", 6),
        label(junction.name, middle, frame.y + 16, inside, size=12, bold=True, anchor="middle"),
        label(
            junction.detail,
            middle,
            frame.y + 30,
            inside,
            size=DETAIL_SIZE,
            class_="muted",
            anchor="middle",
        ),
        title=junction.title,
        data_gateway=junction.name,
    )


def draw_band(wire: DrawnStream) -> str:
    """What joins two operators of one train."""
    return element("path", class_="band", d=curve(wire.points))


def draw_stream(wires: Sequence[DrawnStream]) -> str:
    """All ways of one stream inside an ECU, or all between ECUs, as one path: shared parts once."""
    crossing = bool(wires[0].joins)
    path = "".join(_path(wire, crossing) for wire in wires)
    kind = "crossing" if crossing else "stream"
    joins = dict.fromkeys(point for wire in wires for point in wire.joins)
    return group(
        "wire",
        element("path", class_=kind, d=path),
        *(arrow_head(*wire.points[-1], kind, data_to=wire.end) for wire in wires),
        *(dot(*point) for point in joins),
        title="\n".join(dict.fromkeys(wire.title for wire in wires)),
        data_from=wires[0].start,
    )


def _path(wire: DrawnStream, crossing: bool) -> str:
    x, y = wire.points[-1]
    points = (*wire.points[:-1], (x - 5, y))
    return polyline(points) if crossing else curve(points)


# ---------------------------------------------------------------- the picture


MOST_OPERATORS = 100
"""Above this many operators each node is drawn as one box."""

MOST_ECUS = 20
"""above this many ECUs no streams are drawn"""


def plan_svg(plan: Plan, *, heading: bool = True) -> str:
    """The query on the vehicle: ECUs with their operators, streams, buses, deadlines and bounds; of
    a car with many ECUs the buses, and what is on each.

    ``heading`` False leaves out the visible title and verdict, for a page that has them already.
    """
    if len(ecus_of(plan)) > MOST_ECUS:
        return draw_overview(plan, heading=heading)
    detailed = sum(1 for _ in plan.query.operators) <= MOST_OPERATORS
    return draw(sketch_plan(plan) if detailed else sketch_summary(plan), heading=heading)


def draw(sketch: Sketch, *, heading: bool = True) -> str:
    """The sketch as an SVG document."""
    placing = place(sketch) if heading else place(sketch, MARGIN)
    frames, wires = frames_of(placing), wires_of(placing)
    parts = heading_lines(sketch, placing.width) if heading else []
    parts += [draw_ecu(cell, placing.corners[name]) for name, cell in placing.cells.items()]
    parts += [draw_bar(medium, placing) for medium in sketch.media]
    parts += [
        draw_gateway(junction, placing.gateways[junction.name])
        for junction in sketch.junctions
        if junction.name in placing.gateways
    ]
    parts += [draw_band(wire) for wire in wires if wire.train]
    streams: dict[tuple[str, bool], list[DrawnStream]] = {}
    for wire in wires:
        streams.setdefault((wire.start, bool(wire.joins)), []).append(wire)
    parts += [draw_stream(ways) for ways in streams.values()]
    parts += [draw_item(item, frames[item.key]) for item in sketch.items if item.key in frames]
    parts += _legend(placing)
    return document(sketch, placing.width, placing.height, parts)


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
