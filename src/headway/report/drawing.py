"""Draws the parts of a placed picture: ECU boxes, items, bus bars, gateways, streams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headway.model.plan import Load
from headway.report.cells import HEADER, Cell, Frame
from headway.report.placing import BUS_HEADER, LANE_SIZE, LOAD_WIDTH, Placing
from headway.report.sketch import (
    CHIP_GAP,
    CHIP_SIZE,
    DETAIL_SIZE,
    LINE,
    NAME_SIZE,
    PADDING,
    Item,
    Junction,
    Medium,
    Role,
    State,
    chip_width,
)
from headway.report.svg import (
    arrow_head,
    curve,
    dot,
    element,
    group,
    label,
    meter,
    polyline,
    rect,
)
from headway.report.text import width_of
from headway.report.wires import Wire
from headway.report.words import load_fits, percent, sign

METER = 56.0


def draw_ecu(cell: Cell, corner: tuple[float, float]) -> str:
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


def draw_item(item: Item, frame: Frame) -> str:
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
        judged = item.state is not State.UNKNOWN and row > 1
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


def draw_bar(medium: Medium, placing: Placing) -> str:
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


def draw_gateway(junction: Junction, frame: Frame) -> str:
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


def draw_band(wire: Wire) -> str:
    """What joins two operators of one train."""
    return element("path", class_="band", d=curve(wire.points))


def draw_stream(wires: Sequence[Wire]) -> str:
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


def _path(wire: Wire, crossing: bool) -> str:
    x, y = wire.points[-1]
    points = (*wire.points[:-1], (x - 5, y))
    return polyline(points) if crossing else curve(points)
