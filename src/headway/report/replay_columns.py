"""Columns of numbers as few bytes: rounded to steps, then differences, byte planes and deflate.

Neighbours in a column are close (a car moves steadily, times grow), so their differences are small
whole numbers. Signs are folded in (0, -1, 1, -2, … become 0, 1, 2, 3, …) and the first bytes of
all numbers stand together, then all second bytes, and so on: long runs of zeros, which deflate
takes away. ``assets/replay_data.js`` undoes it.
"""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.errors import DataError, Problem

ABSENT = -(2**31)
"""Stands for NaN."""
LARGEST = 2**31 - 1


class ColumnStore:
    """Collects columns; each is told by its place in the bytes, its length and its step."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, values: NDArray[Any], step: float = 1.0) -> dict[str, float]:
        """Rounds to whole steps; DataError when that needs more than 31 bits."""
        flat = np.asarray(values, dtype=np.float64).ravel()
        absent = np.isnan(flat)
        steps = np.rint(np.where(absent, 0.0, flat) / step)
        if steps.size and np.abs(steps).max() > LARGEST:
            got, want = f"{np.abs(flat[~absent]).max():g}", f"at most {LARGEST * step:g} fits"
            raise DataError(Problem("a number is too large for a replay", got=got, want=want))
        whole = np.where(absent, ABSENT, steps).astype(np.int64)
        part = _planes(whole)
        told = {"at": self._size, "count": len(flat), "step": step}
        self._parts.append(part)
        self._size += len(part)
        return told

    def base64(self) -> str:
        """All columns, deflated, as text."""
        return base64.b64encode(zlib.compress(b"".join(self._parts), 9)).decode("ascii")


def _planes(whole: NDArray[np.int64]) -> bytes:
    """Differences modulo 2³², signs folded in, the lowest bytes of all first."""
    differences = np.diff(whole, prepend=np.int64(0)).astype(np.uint32).astype(np.int32)
    folded = ((differences << 1) ^ (differences >> 31)).astype(np.uint32)
    return folded.astype("<u4").view(np.uint8).reshape(-1, 4).T.tobytes()
