"""The ways of streams through the placed picture, as points from box to box."""

from __future__ import annotations

from dataclasses import dataclass

from headway.report.cells import Cell, Frame, local_edges
from headway.report.placing import Placing
from headway.report.sketch import Edge, Transfer
from headway.report.svg import Point


@dataclass(frozen=True, kw_only=True)
class Wire:
    """A line from the right edge of one item to the left edge of another.

    ``joins`` are the points at which it enters or leaves a lane of a bus.
    """

    start: str
    end: str
    points: tuple[Point, ...]
    train: bool = False
    joins: tuple[Point, ...] = ()
    title: str = ""


def frames_of(placing: Placing) -> dict[str, Frame]:
    """Item -> its rectangle in the picture."""
    return {
        key: frame.moved(*placing.corners[name])
        for name, cell in placing.cells.items()
        for key, frame in cell.frames.items()
    }


def wires_of(placing: Placing) -> list[Wire]:
    """Streams inside ECUs first, then those between ECUs."""
    frames = frames_of(placing)
    found: list[Wire] = []
    crossing: list[Wire] = []
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


def _ports(placing: Placing, cell: Cell) -> dict[tuple[str, str], float]:
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
    edge: Edge,
    cell: Cell,
    corner: Point,
    frames: dict[str, Frame],
    ports: dict[tuple[str, str], float],
) -> Wire:
    start, end = frames[edge.start], frames[edge.end]
    points = [(start.right, start.middle)]
    for column in range(cell.column_of[edge.start] + 1, cell.column_of[edge.end]):
        x = corner[0] + cell.column_x[column]
        y = corner[1] + cell.content_y + cell.layers.y[edge.start, column]
        points += [(x, y), (x + cell.column_width[column], y)]
    points.append((end.x, corner[1] + ports[edge.start, edge.end]))
    return Wire(start=edge.start, end=edge.end, points=tuple(points), train=edge.train)


def _transfer(
    transfer: Transfer,
    end: str,
    placing: Placing,
    frames: dict[str, Frame],
    ports: dict[tuple[str, str], float],
) -> Wire:
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
    return Wire(
        start=transfer.start,
        end=end,
        points=tuple(points),
        joins=(along[0], along[-1]),
        title=transfer.title,
    )
