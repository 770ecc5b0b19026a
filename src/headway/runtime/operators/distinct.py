"""Distinct: of the tuples with equal keys close in sensing time, the first to arrive."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

from headway.model.operators import Distinct
from headway.model.quantities import MICROSECOND
from headway.model.schema import Schema
from headway.runtime.operators.base import MARKED_LATE, DropKind, Row, State, StatefulOperator
from headway.runtime.operators.keys import Key, key_function, restored_key

_SLACK = 64
"""Kept times below which forgetting is not worth a sweep."""


class DistinctOperator(StatefulOperator):
    """Keeps the sensing times of its results, by key, each key's in order: they lie more than
    ``within`` apart, so the first at or after ``timestamp - within`` tells."""

    def __init__(self, operator: Distinct, inputs: Mapping[str, Schema], output: Schema) -> None:
        super().__init__(operator.name)
        (schema,) = inputs.values()
        self._key_of = key_function(schema, operator.keys)
        self._within = operator.within // MICROSECOND
        self._passed: dict[Key, list[int]] = {}
        self._size = 0
        self._sweep_at = _SLACK
        self._watermark: int | None = None

    def accept(self, port: str, row: Row, now: int, late: bool = False) -> list[Row]:
        timestamp = row[0]
        if late or (self._watermark is not None and timestamp < self._watermark):
            reason = MARKED_LATE if late else f"older than the watermark {self._watermark}"
            self.drop(DropKind.LATE, row, reason, port)
            return []
        times = self._passed.setdefault(self._key_of(row), [])
        place = bisect_left(times, timestamp - self._within)
        if place < len(times) and times[place] <= timestamp + self._within:
            return []
        times.insert(place, timestamp)
        self._size += 1
        if self._size > self._sweep_at:
            self._forget()
        return [row]

    def advance(self, watermark_us: int) -> list[Row]:
        """Nothing goes out. What is too old is forgotten in sweeps, when the state has doubled."""
        if self._watermark is None or watermark_us > self._watermark:
            self._watermark = watermark_us
        return []

    def _forget(self) -> None:
        """Drops the times that no tuple at or after the watermark can come near to."""
        if self._watermark is not None:
            oldest = self._watermark - self._within
            for key, times in list(self._passed.items()):
                if times[-1] < oldest:
                    del self._passed[key]
                elif times[0] < oldest:
                    del times[: bisect_left(times, oldest)]
        self._size = sum(map(len, self._passed.values()))
        self._sweep_at = 2 * self._size + _SLACK

    def size(self) -> int:
        return self._size

    def snapshot(self) -> State:
        self._forget()
        return {
            "watermark": self._watermark,
            "passed": [[list(key), list(times)] for key, times in self._passed.items()],
        }

    def restore(self, state: State) -> None:
        self._watermark = state["watermark"]
        self._passed = {restored_key(key): list(times) for key, times in state["passed"]}
        self._size, self._sweep_at = 0, _SLACK
        self._forget()
