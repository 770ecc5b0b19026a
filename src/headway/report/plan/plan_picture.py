"""A compiled query on its vehicle, as one SVG picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headway.model.plan import Load, Plan
from headway.report.plan.ecu_layout import HEADER, EcuCell, EcuFrame
from headway.report.plan.picture_layout import (
    BUS_HEADER,
    LANE_SIZE,
    LEGEND_HEIGHT,
    LOAD_WIDTH,
    MARGIN,
    DrawnStream,
    Placing,
    frames_of,
    place,
    wires_of,
)
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
    sketch_plan,
    sketch_summary,
)
from headway.report.plan.plan_tables import load_fits, percent, sign
from headway.report.svg import (
    arrow_head,
    curve,
    dot,
    element,
    group,
    label,
    meter,
    number,
    picture_css,
    plain,
    polyline,
    rect,
    tooltip,
    width_of,
)

# ---------------------------------------------------------------- colours

PICTURE_CLASS = "headway-plan"

_LIGHT = {
    "text": "fill:#18212d",
    ".muted": "fill:#566273",
    ".page": "fill:#ffffff",
    ".ecu": "fill:#f3f6fa;stroke:#b4c0cf;stroke-width:1.2",
    ".ecu-header": "fill:#e2e9f2",
    ".operator": "fill:#ffffff;stroke:#5c6f88;stroke-width:1.1",
    ".source": "fill:#fff6e0;stroke:#a67c1a;stroke-width:1.1",
    ".output": "fill:#ffffff;stroke:#5c6f88;stroke-width:1.4",
    ".output.kept": "fill:#e6f6ea;stroke:#1d7a3c",
    ".output.broken": "fill:#fdeaea;stroke:#b3261e",
    "text.kept": "fill:#14632f",
    "text.broken": "fill:#a01c15",
    ".bar": "fill:#ecebf7;stroke:#a9a4d6;stroke-width:1",
    ".gateway": "fill:#dcd9f2;stroke:#6f67b8;stroke-width:1.2",
    ".lane": "stroke:#c9c5e6;stroke-width:1;fill:none",
    ".stream": "stroke:#45566c;stroke-width:1.3;fill:none",
    ".crossing": "stroke:#5a4fb0;stroke-width:1.4;fill:none",
    ".band": "stroke:#b9d4f7;stroke-width:9;stroke-linecap:butt;fill:none",
    ".stream-head": "fill:#45566c",
    ".crossing-head": "fill:#5a4fb0",
    ".dot": "fill:#5a4fb0",
    ".chip": "fill:#d3e4fb",
    ".meter": "fill:#ffffff;stroke:#8d9bad;stroke-width:.8",
    ".used": "fill:#3c78c3",
    ".used.over": "fill:#b3261e",
    ".tick": "stroke:#18212d;stroke-width:1.2",
}
_DARK = {
    "text": "fill:#e7ecf3",
    ".muted": "fill:#a3b0c0",
    ".page": "fill:#10151c",
    ".ecu": "fill:#19212c;stroke:#46566b",
    ".ecu-header": "fill:#253142",
    ".operator": "fill:#0f151d;stroke:#8497b0",
    ".source": "fill:#33290f;stroke:#cfa544",
    ".output": "fill:#0f151d;stroke:#8497b0",
    ".output.kept": "fill:#10301c;stroke:#4cc077",
    ".output.broken": "fill:#3a1614;stroke:#f2857d",
    "text.kept": "fill:#7fdca0",
    "text.broken": "fill:#ffa9a2",
    ".bar": "fill:#211f38;stroke:#5d57a0",
    ".gateway": "fill:#35315f;stroke:#a39be6",
    ".lane": "stroke:#443f74",
    ".stream": "stroke:#9fb0c6",
    ".crossing": "stroke:#b3abf5",
    ".band": "stroke:#27456e",
    ".stream-head": "fill:#9fb0c6",
    ".crossing-head": "fill:#b3abf5",
    ".dot": "fill:#b3abf5",
    ".chip": "fill:#27456e",
    ".meter": "fill:#0f151d;stroke:#7688a0",
    ".used": "fill:#6ea8ec",
    ".used.over": "fill:#f2857d",
    ".tick": "stroke:#e7ecf3",
}


# ---------------------------------------------------------------- parts


METER = 56.0


def draw_ecu(cell: EcuCell, corner: tuple[float, float]) -> str:
    """The box with its header on the side away from the buses, so that no stream crosses it."""
    frame = cell.box.moved(*corner)
    y = frame.y if cell.downward else frame.bottom - HEADER
    load = cell.ecu.load
    load_width = _load_width(load)
    return group(
        "node",
        rect(frame.x, frame.y, frame.width, frame.height, "ecu", 8),
        rect(frame.x + 1, y + 1, frame.width - 2, HEADER - 2, "ecu-header", 7),
        label(
            cell.ecu.name,
            frame.x + 12,
            y + 20,
            frame.width - 24 - load_width,
            size=13,
            bold=True,
        ),
        _draw_load(load, frame.right - 12, y + 20),
        title=cell.ecu.title,
        data_node=cell.ecu.name,
    )


def _load_width(load: Load | None) -> float:
    return 0.0 if load is None else LOAD_WIDTH


def _load_text(load: Load) -> str:
    return percent(load.utilisation) + ("" if load_fits(load) else f" {sign(False)}")


def _draw_load(load: Load | None, right: float, baseline: float) -> str:
    if load is None:
        return ""
    text, state = _load_text(load), "muted" if load_fits(load) else "broken"
    return label(
        text, right, baseline, LOAD_WIDTH, size=DETAIL_SIZE, anchor="end", class_=state
    ) + meter(
        right - LOAD_WIDTH + 8,
        baseline - 7.5,
        METER,
        load.utilisation,
        load.capacity,
        over=not load_fits(load),
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
    load_width = _load_width(medium.load)
    parts = [
        rect(bar.x, bar.y, bar.width, bar.height, "bar", 6),
        label(medium.name, x, bar.y + 16, width - load_width, size=12, bold=True),
        _draw_load(medium.load, x + width, bar.y + 16),
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
    parts.append(f"<style>{picture_css(PICTURE_CLASS, _LIGHT, _DARK)}</style>")
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
    streams: dict[tuple[str, bool], list[DrawnStream]] = {}
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
    colour = "muted" if sketch.state is ItemState.UNKNOWN else str(sketch.state)
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
