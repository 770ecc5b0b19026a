"""Ranges of α and the lower envelope of linear functions over them.

An end of a range is a *cut*: ``(n, d, 0)`` lies just below α = n/d and ``(n, d, 1)`` just above it.
A range runs from one cut to the next; so it holds its lower end if that is below it and its upper
end if that is above it. Exactly where two values are equal the lower processor number wins."""

from __future__ import annotations

from typing import NamedTuple

Cut = tuple[int, int, int]
"""(numerator and denominator of α, not reduced; 0: below, 1: above)"""
START: Cut = (0, 1, 0)


class Line(NamedTuple):
    """The value of a processor, intercept + slope · α, and the task's finish there."""

    intercept: int
    slope: int
    processor: int
    finish: int


class Piece(NamedTuple):
    """Where a line is the least; ``high`` None: without end."""

    low: Cut
    high: Cut | None
    line: Line


def envelope(lines: list[Line], low: Cut, high: Cut | None) -> list[Piece]:
    """Which line is the least where, between two cuts."""
    pieces = []
    while True:
        line = least_behind(lines, low)
        end = high
        intercept, slope, processor, _ = line
        for other in lines:
            if other.slope < slope:
                above = 0 if other.processor < processor else 1
                cut = (other.intercept - intercept, slope - other.slope, above)
                if comes_before(low, cut) and (end is None or comes_before(cut, end)):
                    end = cut
        pieces.append(Piece(low, end, line))
        if end is high or end is None:
            return pieces
        low = end


def comes_before(one: Cut, other: Cut) -> bool:
    """Whether a cut is the lower of two different ones."""
    here, there = one[0] * other[1], other[0] * one[1]
    return here < there or (here == there and one[2] < other[2])


def least_behind(lines: list[Line], cut: Cut) -> Line:
    """The least line just behind a cut."""
    n, d, above = cut
    if above:
        return min(lines, key=lambda x: (x.intercept * d + x.slope * n, x.slope, x.processor))
    return min(lines, key=lambda x: (x.intercept * d + x.slope * n, x.processor))
