"""The layout of the whole picture: ECUs in one or two rows, buses as bars below or between them.

:func:`place` gives everything its place; :func:`wires_of` then leads the streams through it, as
points from box to box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from headway.report.plan.ecu_layout import TRACK, EcuCell, EcuFrame, cell_of, depths, local_edges
from headway.report.plan.plan_sketch import Sketch, SketchEdge, SketchMedium, Transfer
from headway.report.svg import Point, width_of

MARGIN = 16.0
TITLE_HEIGHT = 58.0
LEGEND_HEIGHT = 30.0
BETWEEN_CELLS = 24.0
BAND_GAP = 26.0
ONE_ROW = 1240.0
"""Up to this width all ECUs stand side by side."""

LOAD_WIDTH = 120.0
"""a load's bar and number"""
BUS_HEADER, LANE, BUS_PADDING, BETWEEN_BUSES = 36.0, 16.0, 6.0, 12.0
LANE_SIZE = 10.5
NARROWEST_LABELS, WIDEST_LABELS = 150.0, 240.0
WIDEST_GATEWAY = 180.0


@dataclass(slots=True)
class Placing:
    """Where everything is."""

    sketch: Sketch
    width: float = 0.0
    height: float = 0.0
    labels: float = 0.0
    """where the part of the bars begins in which streams may run"""
    cells: dict[str, EcuCell] = field(default_factory=dict)
    corners: dict[str, tuple[float, float]] = field(default_factory=dict)
    bars: dict[str, EcuFrame] = field(default_factory=dict)
    gateways: dict[str, EcuFrame] = field(default_factory=dict)
    lanes: dict[tuple[str, str], float] = field(default_factory=dict)
    """(medium, stream) -> y"""
    turns: dict[tuple[str, str], float] = field(default_factory=dict)
    """(gateway, stream) -> x"""


def place(sketch: Sketch, top: float = TITLE_HEIGHT) -> Placing:
    """Gives every part of the sketch its place; the first ECUs begin at ``top``."""
    placing = Placing(sketch)
    upper, lower = _rows(sketch)
    placing.labels = MARGIN + _label_width(sketch)
    for cells in (upper, lower):
        _place_across(placing, cells)
    y = _place_down(placing, upper, top)
    y = _place_bars(placing, y + BAND_GAP) if sketch.media else y
    if lower:
        y = _place_down(placing, lower, y + BAND_GAP)
    content = [placing.corners[name][0] + cell.width for name, cell in placing.cells.items()]
    content += [frame.right for frame in (*placing.bars.values(), *placing.gateways.values())]
    title = width_of(sketch.heading, 16, bold=True)
    placing.width = max([*content, min(title, 600.0), 420.0]) + MARGIN
    placing.height = y + LEGEND_HEIGHT
    return placing


def _rows(sketch: Sketch) -> tuple[list[EcuCell], list[EcuCell]]:
    """ECUs in the order in which data reaches them: in one row, or cut where both are as narrow."""
    depth = depths(sketch)
    position = {item.key: index for index, item in enumerate(sketch.items)}
    reached: dict[str, float] = {}
    for item in sketch.items:
        if item.key in depth:
            reached.setdefault(item.node, position[item.key])
    sender = {item.key: item.node for item in sketch.items}
    for transfer in sketch.transfers:
        ends = [position[end] for end in transfer.ends if end in position]
        reached.setdefault(sender.get(transfer.start, ""), min(ends, default=0) - 0.5)
    ecus = sorted(sketch.ecus, key=lambda ecu: reached.get(ecu.name, len(position)))
    cells = [cell_of(ecu, sketch, depth, downward=True) for ecu in ecus]
    if _row_width(cells) <= ONE_ROW or len(cells) == 1:
        return cells, []
    cut = min(
        range(1, len(cells)),
        key=lambda at: max(_row_width(cells[:at]), _row_width(cells[at:])),
    )
    return cells[:cut], [cell_of(c.ecu, sketch, depth, downward=False) for c in cells[cut:]]


def _row_width(cells: Sequence[EcuCell]) -> float:
    return sum(cell.width + BETWEEN_CELLS for cell in cells)


def _label_width(sketch: Sketch) -> float:
    if not sketch.media:
        return 0.0
    wanted = [width_of(transfer.label, LANE_SIZE) for transfer in sketch.transfers]
    wanted += [width_of(medium.detail, LANE_SIZE) for medium in sketch.media]
    wanted += [width_of(medium.name, 12, bold=True) + LOAD_WIDTH for medium in sketch.media]
    return min(WIDEST_LABELS, max(NARROWEST_LABELS, max(wanted) + 16))


def _place_across(placing: Placing, cells: Sequence[EcuCell]) -> None:
    """Places ECUs side by side, each beginning on a track."""
    x = MARGIN
    for index, cell in enumerate(cells):
        if index == 0 and placing.sketch.media:
            x = max(x, placing.labels - cell.box.x)
        x = -(-x // TRACK) * TRACK
        placing.cells[cell.ecu.name] = cell
        placing.corners[cell.ecu.name] = (x, 0.0)
        x += cell.width + BETWEEN_CELLS


def _place_down(placing: Placing, cells: Sequence[EcuCell], y: float) -> float:
    """Gives a row of ECUs one height; returns the y below it."""
    height = max(cell.box.height for cell in cells)
    for cell in cells:
        cell.stretch(height)
        placing.corners[cell.ecu.name] = (placing.corners[cell.ecu.name][0], y)
    return y + height


# ---------------------------------------------------------------- buses and gateways


def _place_bars(placing: Placing, y: float) -> float:
    """A bar for each medium with a lane for each stream on it; returns the y below the last."""
    sketch = placing.sketch
    right = placing.labels + 60
    for name, cell in placing.cells.items():
        right = max([right, *(placing.corners[name][0] + x for x in cell.tracks.values())])
    for medium in sketch.media:
        streams = dict.fromkeys(t.start for t in sketch.transfers if medium.name in t.media)
        for index, stream in enumerate(streams):
            placing.lanes[medium.name, stream] = y + BUS_HEADER + (index + 0.5) * LANE
        height = BUS_HEADER + len(streams) * LANE + (BUS_PADDING if streams else 0)
        placing.bars[medium.name] = EcuFrame(MARGIN, y, 0.0, height)
        y += height + BETWEEN_BUSES
    _place_gateways(placing, right + BAND_GAP)
    return y - BETWEEN_BUSES


def _place_gateways(placing: Placing, x: float) -> None:
    sketch = placing.sketch
    plain_end = x - 8
    for junction in sketch.junctions:
        bars = [placing.bars[m.name] for m in sketch.media if junction.name in m.gateways]
        if not bars:
            continue
        passing = dict.fromkeys(t.start for t in sketch.transfers if junction.name in t.gateways)
        name, detail = width_of(junction.name, 12, bold=True), width_of(junction.detail, LANE_SIZE)
        width = max(16 + TRACK * len(passing), min(max(name, detail) + 16, WIDEST_GATEWAY))
        top = min(bar.y for bar in bars)
        placing.gateways[junction.name] = EcuFrame(x, top, width, max(b.bottom for b in bars) - top)
        middle = x + width / 2 - TRACK * (len(passing) - 1) / 2
        for index, stream in enumerate(passing):
            placing.turns[junction.name, stream] = middle + index * TRACK
        x += width + 14
    for medium in sketch.media:
        _end_bar(placing, medium, plain_end)


def _end_bar(placing: Placing, medium: SketchMedium, plain_end: float) -> None:
    """A bar reaches as far as its last gateway."""
    attached = [placing.gateways[g] for g in medium.gateways if g in placing.gateways]
    end = max([frame.x + 8 for frame in attached], default=plain_end)
    bar = placing.bars[medium.name]
    placing.bars[medium.name] = EcuFrame(bar.x, bar.y, end - bar.x, bar.height)


# ---------------------------------------------------------------- streams


@dataclass(frozen=True, kw_only=True)
class DrawnStream:
    """A line from the right edge of one item to the left edge of another.

    ``joins`` are the points at which it enters or leaves a lane of a bus.
    """

    start: str
    end: str
    points: tuple[Point, ...]
    train: bool = False
    joins: tuple[Point, ...] = ()
    title: str = ""


def frames_of(placing: Placing) -> dict[str, EcuFrame]:
    """Item -> its rectangle in the picture."""
    return {
        key: frame.moved(*placing.corners[name])
        for name, cell in placing.cells.items()
        for key, frame in cell.frames.items()
    }


def wires_of(placing: Placing) -> list[DrawnStream]:
    """Streams inside ECUs first, then those between ECUs."""
    frames = frames_of(placing)
    found: list[DrawnStream] = []
    crossing: list[DrawnStream] = []
    for name, cell in placing.cells.items():
        ports = _ports(placing, cell)
        corner = placing.corners[name]
        found += [
            _local(edge, cell, corner, frames, ports) for edge in local_edges(placing.sketch, cell)
        ]
        for transfer in placing.sketch.transfers:
            crossing += [
                _transfer(transfer, end, placing, frames, ports)
                for end in transfer.ends
                if end in cell.column_of and transfer.start in frames
            ]
    return found + crossing


def _ports(placing: Placing, cell: EcuCell) -> dict[tuple[str, str], float]:
    """(stream, consumer) -> y at which it enters, in the order in which the lines come."""
    entering: dict[str, list[tuple[tuple[int, float], str]]] = {}
    for edge in local_edges(placing.sketch, cell):
        slot = (edge.start, cell.column_of[edge.end] - 1)
        if slot not in cell.layers.y:
            slot = (edge.start, cell.column_of[edge.start])
        entering.setdefault(edge.end, []).append(((0, cell.layers.y[slot]), edge.start))
    side = 1 if cell.downward else -1
    for transfer in placing.sketch.transfers:
        for end in transfer.ends:
            if end in cell.column_of:
                x = cell.tracks[transfer.start, str(cell.column_of[end])]
                entering.setdefault(end, []).append(((side, side * x), transfer.start))
    ports: dict[tuple[str, str], float] = {}
    for end, lines in entering.items():
        frame = cell.frames[end]
        streams = list(dict.fromkeys(stream for _, stream in sorted(lines)))
        for index, stream in enumerate(streams, start=1):
            ports[stream, end] = frame.y + frame.height * index / (len(streams) + 1)
    return ports


def _local(
    edge: SketchEdge,
    cell: EcuCell,
    corner: Point,
    frames: dict[str, EcuFrame],
    ports: dict[tuple[str, str], float],
) -> DrawnStream:
    start, end = frames[edge.start], frames[edge.end]
    points = [(start.right, start.middle)]
    for column in range(cell.column_of[edge.start] + 1, cell.column_of[edge.end]):
        x = corner[0] + cell.column_x[column]
        y = corner[1] + cell.content_y + cell.layers.y[edge.start, column]
        points += [(x, y), (x + cell.column_width[column], y)]
    points.append((end.x, corner[1] + ports[edge.start, edge.end]))
    return DrawnStream(start=edge.start, end=edge.end, points=tuple(points), train=edge.train)


def _transfer(
    transfer: Transfer,
    end: str,
    placing: Placing,
    frames: dict[str, EcuFrame],
    ports: dict[tuple[str, str], float],
) -> DrawnStream:
    sender = next(n for n, cell in placing.cells.items() if transfer.start in cell.column_of)
    receiver = next(n for n, cell in placing.cells.items() if end in cell.column_of)
    start = frames[transfer.start]
    corner, cell = placing.corners[receiver], placing.cells[receiver]
    leave = placing.corners[sender][0] + placing.cells[sender].tracks[transfer.start, ""]
    enter = corner[0] + cell.tracks[transfer.start, str(cell.column_of[end])]
    lanes = [placing.lanes[medium, transfer.start] for medium in transfer.media]
    turns = [placing.turns.get((name, transfer.start), enter) for name in transfer.gateways]
    xs = [leave, *turns, enter]
    along = [(x, y) for index, y in enumerate(lanes) for x in (xs[index], xs[index + 1])]
    port = corner[1] + ports[transfer.start, end]
    points = [(start.right, start.middle), (leave, start.middle), *along]
    points += [(enter, port), (frames[end].x, port)]
    return DrawnStream(
        start=transfer.start,
        end=end,
        points=tuple(points),
        joins=(along[0], along[-1]),
        title=transfer.title,
    )
