"""Axes of charts: round numbers on them, and where a value lies on the paper."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from headway.report.svg import element, label, number

WIDTH, HEIGHT = 560.0, 230.0
LEFT, RIGHT, TOP, BOTTOM = 64.0, 16.0, 34.0, 48.0
TICKS = 5


@dataclass(frozen=True)
class Scale:
    """Values from ``low`` to ``high`` on ``start`` to ``end`` of the paper."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        span = self.high - self.low
        share = (value - self.low) / span if span else 0.5
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        step = round_step((self.high - self.low) / TICKS)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [place * step for place in range(first, last + 1)]


def round_step(size: float) -> float:
    """1, 2 or 5 times a power of ten, at least ``size``."""
    if size <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(size))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= size * (1 - 1e-9))


def horizontal(values: Iterable[float]) -> Scale:
    """From the least to the greatest value."""
    low, high = _ends(values)
    return Scale(low, high, LEFT, LEFT + WIDTH)


def vertical(values: Iterable[float]) -> Scale:
    """From zero, or below, to a round number above the greatest. Lengths must be seen from zero."""
    low, high = _ends(values)
    low, high = min(0.0, low), max(0.0, high)
    step = round_step((high - low) / TICKS)
    top = math.ceil(high / step - 1e-9) * step
    return Scale(math.floor(low / step + 1e-9) * step, top or step, TOP + HEIGHT, TOP)


def _ends(values: Iterable[float]) -> tuple[float, float]:
    known = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    return min(known), max(known)


def plain_number(value: float) -> str:
    """As short as it can be said."""
    return f"{value:.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


def y_axis(scale: Scale, title: str) -> str:
    lines = []
    for tick in scale.ticks():
        at = scale.at(tick)
        lines += [
            element("path", class_="grid", d=f"M{number(LEFT)} {number(at)}h{number(WIDTH)}"),
            label(plain_number(tick), LEFT - 7, at + 4, LEFT, anchor="end", class_="muted"),
        ]
    return "".join(lines) + label(title, 8, TOP - 14, WIDTH, class_="muted")


def x_axis(scale: Scale, title: str, height: float = HEIGHT) -> str:
    base = TOP + height
    ticks = [
        element("path", class_="axis", d=f"M{number(scale.at(tick))} {number(base)}v4")
        + label(plain_number(tick), scale.at(tick), base + 17, 70, anchor="middle", class_="muted")
        for tick in scale.ticks()
    ]
    line = element("path", class_="axis", d=f"M{number(LEFT)} {number(base)}h{number(WIDTH)}")
    middle = LEFT + WIDTH / 2
    named = label(title, middle, base + 36, WIDTH, anchor="middle", class_="muted")
    return line + "".join(ticks) + named
