"""Tuples of a train that wait to run as batches, the oldest first."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from operator import itemgetter
from typing import Any

from headway.runtime.operators.base import Row

_timestamp = itemgetter(0)


class Backlog:
    """One entry in the processor's queue stands for all of it, as urgent as its oldest tuple; so
    a tuple older than that must not be added."""

    __slots__ = ("_begin", "_disordered", "_rows")

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._begin = 0
        self._disordered = False

    def __len__(self) -> int:
        return len(self._rows) - self._begin

    @property
    def oldest(self) -> int:
        timestamp: int = self._rows[self._begin][0]
        return timestamp

    def add(self, rows: list[Row]) -> list[Row]:
        """Takes up rows in order of time; gives back those that are older than its oldest."""
        kept = self._rows
        if not kept:
            self._rows = rows
            return []
        older: list[Row] = []
        if rows[0][0] < kept[-1][0]:
            place = bisect_right(rows, self.oldest - 1, key=_timestamp)
            older, rows = rows[:place], rows[place:]
            self._disordered = self._disordered or bool(rows)
        kept += rows
        return older

    def take(self, most: int, key: Callable[[Row], Any], limit: Any) -> list[Row]:
        """The next tuples: at least one, and of the others those not less urgent than ``limit``
        (None: no limit)."""
        rows, begin = self._rows, self._begin
        if self._disordered:
            rows = self._rows = sorted(rows[begin:], key=_timestamp)
            begin, self._disordered = 0, False
        end = min(begin + most, len(rows))
        if limit is not None:
            end = bisect_right(rows, limit, begin + 1, end, key=key)
        taken = rows[begin:end]
        if end == len(rows):
            self._rows, self._begin = [], 0
        elif 2 * end > len(rows):
            self._rows, self._begin = rows[end:], 0
        else:
            self._begin = end
        return taken
