"""Aggregate: groups in windows of sensing time, aligned to the epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway.engine.operators.operator_base import (
    MARKED_LATE,
    DropKind,
    Key,
    StatefulOperator,
    failure,
    key_function,
    restored_key,
)
from headway.expressions.aggregates import compile_aggregates
from headway.expressions.scope import Scope
from headway.model.expression import typed
from headway.model.operators import Aggregate
from headway.model.quantities import MICROSECOND
from headway.model.schema import Schema
from headway.model.user_operator import Row, State


@dataclass(slots=True)
class _Group:
    oldest: int
    state: list[Any]


class AggregateOperator(StatefulOperator):
    """Keeps one state per group and open window ``[start, start + window)``.

    Closed windows go out by their end, their groups in the order of first arrival. A tuple that
    is not marked late but lies in windows that are closed counts only in those still open; if
    there is none it is late.
    """

    def __init__(self, operator: Aggregate, inputs: Mapping[str, Schema], output: Schema) -> None:
        super().__init__(operator.name)
        (schema,) = inputs.values()
        scope = Scope.aggregate(schema)
        columns = [typed(column.value) for column in operator.columns]
        self._functions = compile_aggregates(columns, scope, operator.by)
        self._key_of = key_function(schema, operator.by)
        self._window = operator.window // MICROSECOND
        self._every = operator.every // MICROSECOND
        self._windows: dict[int, dict[Key, _Group]] = {}
        self._oldest_open: int | None = None
        """no window that starts before this is open any more"""

    def accept(self, port: str, row: Row, now: int, late: bool = False) -> list[Row]:
        timestamp = row[0]
        first, last = self._first_open(timestamp), timestamp // self._every * self._every
        if self._oldest_open is not None and first < self._oldest_open:
            first = self._oldest_open
        if late or first > last:
            reason = MARKED_LATE if late else "its windows are closed"
            self.drop(DropKind.LATE, row, reason, port)
            return []
        key = self._key_of(row)
        add = self._functions.add
        try:
            for start in range(first, last + 1, self._every):
                groups = self._windows.get(start)
                if groups is None:
                    groups = self._windows[start] = {}
                group = groups.get(key)
                if group is None:
                    group = groups[key] = _Group(timestamp, self._functions.new())
                elif timestamp < group.oldest:
                    group.oldest = timestamp
                add(group.state, row)
        except Exception as error:  # noqa: BLE001 - one tuple must not end the engine
            self.drop(DropKind.FAILED, row, str(failure(self.name, row, error)), port)
        return []

    def _first_open(self, time: int) -> int:
        """The start of the first window that ends after ``time``."""
        return (time - self._window) // self._every * self._every + self._every

    def advance(self, watermark_us: int) -> list[Row]:
        oldest = self._first_open(watermark_us)
        if self._oldest_open is not None and oldest <= self._oldest_open:
            return []
        self._oldest_open = oldest
        return self._close(sorted(start for start in self._windows if start < oldest))

    def next_due(self) -> int | None:
        return None if self._oldest_open is None else self._oldest_open + self._window

    def finish(self) -> list[Row]:
        return self._close(sorted(self._windows))

    def _close(self, starts: list[int]) -> list[Row]:
        rows: list[Row] = []
        for start in starts:
            end = start + self._window
            for key, group in self._windows.pop(start).items():
                try:
                    values = self._functions.result(group.state, key, start, end)
                except Exception as error:  # noqa: BLE001 - one group must not end the engine
                    row = (group.oldest, *key)
                    self.drop(DropKind.FAILED, row, str(failure(self.name, row, error)))
                    continue
                rows.append((group.oldest, *key, *values))
        return rows

    def output_watermark(self, watermark_us: int) -> int:
        return self._first_open(watermark_us)

    def size(self) -> int:
        return sum(map(len, self._windows.values()))

    def snapshot(self) -> State:
        return {
            "oldest_open": self._oldest_open,
            "windows": [
                [start, [[list(key), one.oldest, list(one.state)] for key, one in groups.items()]]
                for start, groups in self._windows.items()
            ],
        }

    def restore(self, state: State) -> None:
        self._oldest_open = state["oldest_open"]
        self._windows = {
            start: {
                restored_key(key): _Group(oldest, list(values)) for key, oldest, values in groups
            }
            for start, groups in state["windows"]
        }
