"""Layered layout inside an ECU: columns by depth, an order within each, heights without overlap.

A stream that skips columns gets a narrow slot in each of them, so that it never runs under a box
(Sugiyama, Tagawa and Toda 1981, DOI 10.1109/TSMC.1981.4308636). Order: barycentres, the sweep with
the fewest crossings wins. Heights: each column is moved as near to its neighbours as order and
spacing allow, by isotonic regression.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from headway.report.sketch import Edge, Item, Role, Sketch

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


def arrange(items: Sequence[Item], column_of: Mapping[str, int], edges: Iterable[Edge]) -> Layers:
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
