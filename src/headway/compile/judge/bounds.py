"""Arithmetic of bounds: None means that there is none."""

from __future__ import annotations


def plus(one: int | None, other: int | None) -> int | None:
    """Sum of bounds; None, no bound, is infectious."""
    return None if one is None or other is None else one + other


def most(values: list[int | None]) -> int | None:
    """The largest bound; None when any is missing."""
    largest = 0
    for value in values:
        if value is None:
            return None
        largest = max(largest, value)
    return largest
