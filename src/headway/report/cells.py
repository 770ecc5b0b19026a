"""The layout of one ECU with its sources at the left and its outputs at the right.

Between two columns of boxes is a gap; the streams that come from or go to a bus run up and down in
it, each on a track of its own, and never cross a box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil

from headway.report.layers import Layers, arrange
from headway.report.sketch import Ecu, Edge, Item, Role, Sketch, Transfer

HEADER = 30.0
INSET = 14.0
OUTSIDE_GAP = 18.0
NARROWEST_BOX = 210.0
TRACK = 8.0
GAP_BEFORE, GAP_AFTER = 14.0, 16.0


@dataclass(frozen=True)
class Frame:
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def middle(self) -> float:
        return self.y + self.height / 2

    def moved(self, x: float, y: float) -> Frame:
        return Frame(self.x + x, self.y + y, self.width, self.height)


Track = tuple[str, str]
"""(stream, "") on its way out; (stream, consumer's column as text) on its way in"""


@dataclass(slots=True)
class Cell:
    """Places relative to the cell's corner. ``downward``: the buses are below this ECU."""

    ecu: Ecu
    downward: bool
    box: Frame
    width: float
    layers: Layers
    column_of: dict[str, int]
    column_x: list[float]
    column_width: list[float]
    content_y: float = 0.0
    frames: dict[str, Frame] = field(default_factory=dict)
    tracks: dict[Track, float] = field(default_factory=dict)

    def stretch(self, height: float) -> None:
        """Makes the box so high and puts its content into the middle."""
        self.box = Frame(self.box.x, 0.0, self.box.width, height)
        free = height - HEADER - 2 * INSET - self.layers.height
        self.content_y = INSET + round(free / 2) + (HEADER if self.downward else 0)
        self.frames = {
            key: Frame(
                self.column_x[column],
                self.content_y + self.layers.y[key, column] - self.layers.heights[key, column] / 2,
                self.column_width[column],
                self.layers.heights[key, column],
            )
            for key, column in self.column_of.items()
        }


def cell_of(ecu: Ecu, sketch: Sketch, depth: dict[str, int], *, downward: bool) -> Cell:
    """The ECU's items in columns; column 0 are its sources, the last one its outputs."""
    items = [item for item in sketch.items if item.node == ecu.name]
    inside = max((depth[i.key] + 1 for i in items if i.role is Role.OPERATOR), default=0)
    column_of = {item.key: _column(item, depth, inside) for item in items}
    edges = [e for e in sketch.edges if e.start in column_of and e.end in column_of]
    layers = arrange(items, column_of, edges)
    layers.columns += [[] for _ in range(inside + 2 - len(layers.columns))]

    widths = [0.0] * (inside + 2)
    for item in items:
        column = column_of[item.key]
        widths[column] = max(widths[column], float(ceil(item.wanted_width) + 1))
    phase = 0.0 if downward else TRACK / 2
    gaps = _tracks_by_gap(sketch.transfers, column_of, layers, inside, downward=downward)
    tracks: dict[Track, float] = {}
    x = widths[0] + OUTSIDE_GAP if widths[0] else 0.0
    left = x
    column_x = [0.0]
    for gap in range(inside + 1):
        first = -((phase - x - GAP_BEFORE) // TRACK) * TRACK + phase
        for index, track in enumerate(gaps[gap]):
            tracks[track] = first + index * TRACK
        x = first + max(0, len(gaps[gap]) - 1) * TRACK + GAP_AFTER
        if gap < inside:
            column_x.append(x)
            x += widths[gap + 1]
    right = max(x, left + NARROWEST_BOX)
    column_x.append(right + OUTSIDE_GAP)
    width = column_x[-1] + widths[-1] if widths[-1] else right
    box = Frame(left, 0.0, right - left, 0.0)
    cell = Cell(ecu, downward, box, width, layers, column_of, column_x, widths, tracks=tracks)
    cell.stretch(HEADER + 2 * INSET + max(layers.height, 20.0))
    return cell


def _column(item: Item, depth: dict[str, int], inside: int) -> int:
    if item.role is Role.OPERATOR:
        return depth[item.key] + 1
    return 0 if item.role is Role.SOURCE else inside + 1


def _tracks_by_gap(
    transfers: Sequence[Transfer],
    column_of: dict[str, int],
    layers: Layers,
    inside: int,
    *,
    downward: bool,
) -> list[list[Track]]:
    """The tracks of each gap from left to right, in the order that crosses the fewest stubs."""
    towards_bus = 1 if downward else -1
    found: list[dict[Track, float]] = [{} for _ in range(inside + 1)]
    for transfer in transfers:
        if transfer.start in column_of:
            column = column_of[transfer.start]
            y = layers.y[transfer.start, column] * towards_bus
            found[min(column, inside)][transfer.start, ""] = -1e6 - y
        for end in transfer.ends:
            if end in column_of:
                column = column_of[end]
                gap, track = found[column - 1], (transfer.start, str(column))
                gap[track] = max(gap.get(track, -1e6), layers.y[end, column] * towards_bus)
    return [sorted(gap, key=gap.__getitem__) for gap in found]


def local_edges(sketch: Sketch, cell: Cell) -> list[Edge]:
    """The streams that stay in the ECU."""
    return [e for e in sketch.edges if e.start in cell.column_of and e.end in cell.column_of]
