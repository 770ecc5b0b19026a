"""The layout inside one ECU: sources, then columns of operators by depth, then outputs.

The columns are a layered drawing (Sugiyama, Tagawa and Toda 1981, DOI 10.1109/TSMC.1981.4308636): a
stream that skips columns gets a narrow slot in each of them, so that it never runs under a box.
Order within a column: barycentres, the sweep with the fewest crossings wins. Heights: each column
is moved as near to its neighbours as order and spacing allow, by isotonic regression.

Between two columns is a gap; the streams that come from or go to a bus run up and down in it, each
on a track of its own, and never cross a box.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from headway.report.plan.plan_sketch import Ecu, Item, Role, Sketch, SketchEdge, Transfer

SPACING = 14.0
PASSING_HEIGHT = 4.0
SWEEPS = 8

Slot = tuple[str, int]
"""(key of an item or of the stream that passes, column)"""


@dataclass(slots=True)
class Layers:
    """Slots by column, their centres (y) and the ways of streams from column to column."""

    columns: list[list[Slot]]
    heights: dict[Slot, float]
    left: dict[Slot, list[Slot]] = field(default_factory=dict)
    right: dict[Slot, list[Slot]] = field(default_factory=dict)
    y: dict[Slot, float] = field(default_factory=dict)

    @property
    def height(self) -> float:
        return max((self.y[s] + self.heights[s] / 2 for s in self.y), default=0.0)


def depths(sketch: Sketch) -> dict[str, int]:
    """Operator -> how many operators of its own ECU stand before it on the longest way to it.

    Ways through other ECUs count, so every stream that comes back enters further right.
    """
    before: dict[str, list[str]] = {}
    for edge in sketch.edges:
        before.setdefault(edge.end, []).append(edge.start)
    for transfer in sketch.transfers:
        for end in transfer.ends:
            before.setdefault(end, []).append(transfer.start)
    depth: dict[str, int] = {}
    reached: dict[str, dict[str, int]] = {}
    for item in sketch.items:
        merged: dict[str, int] = {}
        for start in before.get(item.key, []):
            for node, count in reached.get(start, {}).items():
                merged[node] = max(count, merged.get(node, 0))
        if item.role is Role.OPERATOR:
            depth[item.key] = merged.get(item.node, 0)
            merged[item.node] = depth[item.key] + 1
        reached[item.key] = merged
    return depth


def arrange(
    items: Sequence[Item], column_of: Mapping[str, int], edges: Iterable[SketchEdge]
) -> Layers:
    """Items in their columns, passing streams between them, everything with a height."""
    count = max(column_of.values(), default=-1) + 1
    layers = Layers(columns=[[] for _ in range(count)], heights={})
    for item in items:
        _add(layers, (item.key, column_of[item.key]), item.height)
    for edge in edges:
        slot = (edge.start, column_of[edge.start])
        for column in range(slot[1] + 1, column_of[edge.end]):
            passing = (edge.start, column)
            if passing not in layers.heights:
                _add(layers, passing, PASSING_HEIGHT)
                _join(layers, slot, passing)
            slot = passing
        _join(layers, slot, (edge.end, column_of[edge.end]))
    _order(layers)
    _place(layers)
    return layers


def _add(layers: Layers, slot: Slot, height: float) -> None:
    layers.columns[slot[1]].append(slot)
    layers.heights[slot] = height
    layers.left[slot], layers.right[slot] = [], []


def _join(layers: Layers, start: Slot, end: Slot) -> None:
    layers.right[start].append(end)
    layers.left[end].append(start)


# ---------------------------------------------------------------- order


def _order(layers: Layers) -> None:
    best, fewest = [list(column) for column in layers.columns], _crossings(layers)
    for sweep in range(SWEEPS):
        forward = sweep % 2 == 0
        near = layers.left if forward else layers.right
        for column in layers.columns if forward else reversed(layers.columns):
            rank = _ranks(layers)
            wanted = {slot: _mean([rank[n] for n in near[slot]], rank[slot]) for slot in column}
            column.sort(key=wanted.__getitem__)
        if (crossings := _crossings(layers)) < fewest:
            best, fewest = [list(column) for column in layers.columns], crossings
    layers.columns = best


def _ranks(layers: Layers) -> dict[Slot, float]:
    """Positions from 0 to 1, so that columns of different length compare."""
    return {
        slot: (index + 0.5) / len(column)
        for column in layers.columns
        for index, slot in enumerate(column)
    }


def _crossings(layers: Layers) -> int:
    rank = _ranks(layers)
    total = 0
    for column in layers.columns:
        lines = [(rank[slot], rank[end]) for slot in column for end in layers.right[slot]]
        total += sum((a - c) * (b - d) < 0 for i, (a, b) in enumerate(lines) for c, d in lines[:i])
    return total


# ---------------------------------------------------------------- heights


def _place(layers: Layers) -> None:
    for column in layers.columns:
        _settle(layers, column, dict.fromkeys(column, 0.0))
    for sweep in range(SWEEPS):
        forward = sweep % 2 == 1
        for column in layers.columns if forward else reversed(layers.columns):
            _draw_near(layers, column, layers.left if forward else layers.right)
    for column in layers.columns[:1]:
        _draw_near(layers, column, layers.right)
    top = min((layers.y[s] - layers.heights[s] / 2 for s in layers.y), default=0.0)
    layers.y = {slot: float(round(y - top)) for slot, y in layers.y.items()}


def _draw_near(layers: Layers, column: Sequence[Slot], near: Mapping[Slot, list[Slot]]) -> None:
    wanted = {slot: _mean([layers.y[n] for n in near[slot]], layers.y[slot]) for slot in column}
    _settle(layers, column, wanted)


def _settle(layers: Layers, column: Sequence[Slot], wanted: Mapping[Slot, float]) -> None:
    """Least moves from the wanted places that keep order and spacing (pool adjacent violators)."""
    offset, offsets = 0.0, []
    for index, slot in enumerate(column):
        if index:
            before = layers.heights[column[index - 1]]
            offset += (before + layers.heights[slot]) / 2 + SPACING
        offsets.append(offset)
    pools: list[tuple[float, int]] = []
    for slot, shift in zip(column, offsets, strict=True):
        mean, size = wanted[slot] - shift, 1
        while pools and pools[-1][0] > mean:
            other, others = pools.pop()
            mean = (mean * size + other * others) / (size + others)
            size += others
        pools.append((mean, size))
    settled = [mean for mean, size in pools for _ in range(size)]
    for slot, base, shift in zip(column, settled, offsets, strict=True):
        layers.y[slot] = base + shift


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


# --------------------------------------------------------------- the cell: columns, gaps and tracks


HEADER = 30.0
INSET = 14.0
OUTSIDE_GAP = 18.0
NARROWEST_BOX = 210.0
TRACK = 8.0
GAP_BEFORE, GAP_AFTER = 14.0, 16.0


@dataclass(frozen=True)
class EcuFrame:
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

    def moved(self, x: float, y: float) -> EcuFrame:
        return EcuFrame(self.x + x, self.y + y, self.width, self.height)


Track = tuple[str, str]
"""(stream, "") on its way out; (stream, consumer's column as text) on its way in"""


@dataclass(slots=True)
class EcuCell:
    """Places relative to the cell's corner. ``downward``: the buses are below this ECU."""

    ecu: Ecu
    downward: bool
    box: EcuFrame
    width: float
    layers: Layers
    column_of: dict[str, int]
    column_x: list[float]
    column_width: list[float]
    content_y: float = 0.0
    frames: dict[str, EcuFrame] = field(default_factory=dict)
    tracks: dict[Track, float] = field(default_factory=dict)

    def stretch(self, height: float) -> None:
        """Makes the box so high and puts its content into the middle."""
        self.box = EcuFrame(self.box.x, 0.0, self.box.width, height)
        free = height - HEADER - 2 * INSET - self.layers.height
        self.content_y = INSET + round(free / 2) + (HEADER if self.downward else 0)
        self.frames = {
            key: EcuFrame(
                self.column_x[column],
                self.content_y + self.layers.y[key, column] - self.layers.heights[key, column] / 2,
                self.column_width[column],
                self.layers.heights[key, column],
            )
            for key, column in self.column_of.items()
        }


def cell_of(ecu: Ecu, sketch: Sketch, depth: dict[str, int], *, downward: bool) -> EcuCell:
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
    box = EcuFrame(left, 0.0, right - left, 0.0)
    cell = EcuCell(ecu, downward, box, width, layers, column_of, column_x, widths, tracks=tracks)
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


def local_edges(sketch: Sketch, cell: EcuCell) -> list[SketchEdge]:
    """The streams that stay in the ECU."""
    return [e for e in sketch.edges if e.start in cell.column_of and e.end in cell.column_of]
