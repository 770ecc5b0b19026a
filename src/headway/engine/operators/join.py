"""Join of two streams on sensing time and keys, tuple by tuple.

A tuple is matched on arrival with the tuples kept of the other side, then kept itself. Kept
tuples are indexed by key and ordered by time inside a key, so that a match touches only its time
window.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping
from dataclasses import dataclass

from headway.engine.operators.operator_base import (
    MARKED_LATE,
    DropKind,
    Key,
    StatefulOperator,
    Timer,
    failure,
    key_function,
)
from headway.expressions.rows import compile_condition, compile_values
from headway.expressions.scope import Scope
from headway.model.expression import typed
from headway.model.operators import Join
from headway.model.quantities import MICROSECOND
from headway.model.schema import Schema
from headway.model.user_operator import Row, State

Kept = tuple[int, int, Row]
"""(timestamp, arrival number, row): ordered by the first two"""
_SLACK = 64
"""Kept tuples below which forgetting is not worth a sweep."""


@dataclass(slots=True)
class _Waiting:
    """A tuple without a partner so far; ``at`` is when it goes out alone."""

    at: int
    side: int
    row: Row


class JoinOperator(StatefulOperator):
    """Emits one row per pair, in the order of (the partner's timestamp, the partner's arrival).

    With a timeout every tuple that finds no partner at once gets a timer, whose token is its
    arrival number. When it is over and there still is none, the tuple goes out alone, the other
    side NULL, and leaves the window; a tuple that found one stays.
    """

    def __init__(self, operator: Join, inputs: Mapping[str, Schema], output: Schema) -> None:
        super().__init__(operator.name)
        scope = Scope.join(inputs)
        self._side_of = {port: side for side, port in enumerate(inputs)}
        self._ports = tuple(inputs)
        self._within = operator.within // MICROSECOND
        self._timeout = operator.timeout
        self._has_keys = bool(operator.keys)
        self._key_of = tuple(
            key_function(schema, [pair[side] for pair in operator.keys])
            for side, schema in enumerate(inputs.values())
        )
        limit = operator.partners
        self._limited = None if limit is None else self._side_of[limit[0]]
        self._most = operator.most_outputs if limit is None else limit[1]
        self._paired: dict[int, int] = {}
        """arrival number -> partners so far, for tuples of the side whose partners are limited"""
        self._nothing = tuple((None,) * len(schema.columns) for schema in inputs.values())
        self._where = None
        if operator.where is not None:
            self._where = compile_condition(typed(operator.where), scope).function
        columns = [typed(column.value) for column in operator.columns] or [
            scope.column(name, port) for port, schema in inputs.items() for name in schema.names
        ]
        self._values = compile_values(columns, scope).function
        self._kept: tuple[dict[Key, list[Kept]], dict[Key, list[Kept]]] = ({}, {})
        self._waiting: dict[int, _Waiting] = {}
        self._new_timers: list[Timer] = []
        self._arrivals = 0
        self._size = 0
        self._sweep_at = _SLACK
        self._watermark: int | None = None

    def accept(self, port: str, row: Row, now: int, late: bool = False) -> list[Row]:
        timestamp = row[0]
        if late or (self._watermark is not None and timestamp < self._watermark):
            reason = MARKED_LATE if late else f"older than the watermark {self._watermark}"
            self.drop(DropKind.LATE, row, reason, port)
            return []
        side = self._side_of[port]
        number = self._arrivals
        self._arrivals += 1
        key = self._key_of[side](row)
        comparable = not self._has_keys or None not in key
        results: list[Row] = []
        found = False
        if comparable and (others := self._kept[1 - side].get(key)):
            start = bisect_left(others, (timestamp - self._within,))
            end = bisect_left(others, (timestamp + self._within + 1,), start)
            for partner in others[start:end]:
                pair = (row, partner[2]) if side == 0 else (partner[2], row)
                if self._pair(pair, min(timestamp, partner[0]), results, port):
                    found = True
                    self._waiting.pop(partner[1], None)
                    if self._limited is not None:
                        self._count(number if side == self._limited else partner[1])
            if self._limited is None and self._most is not None and len(results) > self._most:
                self.beyond += len(results) - self._most
        if comparable:
            self._keep(side, key, (timestamp, number, row))
        if self._timeout is not None and not found:
            self._waiting[number] = _Waiting(now + self._timeout, side, row)
            self._new_timers.append(Timer(now + self._timeout, number))
        return results

    def _pair(self, pair: tuple[Row, Row], timestamp: int, results: list[Row], port: str) -> bool:
        """Whether the two belong together; their row, if its columns can be computed, goes out.

        A pair whose condition fails is none; one whose columns fail is a pair without a row.
        """
        matched = False
        try:
            if self._where is None or self._where(*pair):
                matched = True
                results.append((timestamp, *self._values(*pair)))
        except Exception as error:  # noqa: BLE001 - functions of the user may raise anything
            row = pair[self._side_of[port]]
            self.drop(DropKind.FAILED, row, str(failure(self.name, pair, error)), port)
        return matched

    def _count(self, number: int) -> None:
        """A tuple whose partners are limited has found another one."""
        paired = self._paired[number] = self._paired.get(number, 0) + 1
        if self._most is not None and paired > self._most:
            self.beyond += 1

    def _keep(self, side: int, key: Key, entry: Kept) -> None:
        entries = self._kept[side].setdefault(key, [])
        if not entries or entries[-1] < entry:
            entries.append(entry)
        else:
            insort(entries, entry)
        self._size += 1
        if self._size > self._sweep_at:
            self._forget()

    def advance(self, watermark_us: int) -> list[Row]:
        """Nothing goes out. What is too old is forgotten in sweeps, when the state has doubled."""
        if self._watermark is None or watermark_us > self._watermark:
            self._watermark = watermark_us
        return []

    def _forget(self) -> None:
        """Drops what no tuple at or after the watermark can match."""
        if self._watermark is not None:
            oldest = (self._watermark - self._within,)
            for kept in self._kept:
                for key, entries in list(kept.items()):
                    if entries[-1] < oldest:
                        del kept[key]
                    elif entries[0] < oldest:
                        del entries[: bisect_left(entries, oldest)]
        if self._paired and self._limited is not None:
            limited = self._kept[self._limited].values()
            kept_numbers = (number for entries in limited for _, number, _ in entries)
            self._paired = {n: self._paired[n] for n in kept_numbers if n in self._paired}
        self._size = sum(len(entries) for kept in self._kept for entries in kept.values())
        self._sweep_at = 2 * self._size + _SLACK

    def output_watermark(self, watermark_us: int) -> int:
        oldest = watermark_us - self._within
        for waiting in self._waiting.values():
            oldest = min(oldest, waiting.row[0])
        return oldest

    def take_timers(self) -> list[Timer]:
        taken, self._new_timers = self._new_timers, []
        return taken

    def expire(self, token: int, now: int) -> list[Row]:
        waiting = self._waiting.pop(token, None)
        if waiting is None:
            return []
        row, side = waiting.row, waiting.side
        self._remove(side, self._key_of[side](row), (row[0], token, row))
        pair = (row, self._nothing[1]) if side == 0 else (self._nothing[0], row)
        try:
            return [(row[0], *self._values(*pair))]
        except Exception as error:  # noqa: BLE001 - functions of the user may raise anything
            reason = str(failure(self.name, pair, error))
            self.drop(DropKind.FAILED, row, reason, self._ports[side])
            return []

    def _remove(self, side: int, key: Key, entry: Kept) -> None:
        entries = self._kept[side].get(key, [])
        place = bisect_left(entries, entry[:2])
        if place == len(entries) or entries[place][1] != entry[1]:
            return
        del entries[place]
        self._size -= 1
        if not entries:
            del self._kept[side][key]

    def size(self) -> int:
        return self._size

    def snapshot(self) -> State:
        self._forget()
        return {
            "arrivals": self._arrivals,
            "watermark": self._watermark,
            "paired": [[number, count] for number, count in self._paired.items()],
            "kept": [
                [[number, list(row)] for entries in kept.values() for _, number, row in entries]
                for kept in self._kept
            ],
            "waiting": [
                [token, waiting.at, waiting.side, list(waiting.row)]
                for token, waiting in self._waiting.items()
            ],
        }

    def restore(self, state: State) -> None:
        self._arrivals, self._watermark = state["arrivals"], state["watermark"]
        self._kept, self._size, self._sweep_at = ({}, {}), 0, _SLACK
        self._waiting, self._new_timers = {}, []
        self._paired = dict(state["paired"])
        for side, entries in enumerate(state["kept"]):
            for number, values in entries:
                row = tuple(values)
                self._keep(side, self._key_of[side](row), (row[0], number, row))
        for token, at, side, values in state["waiting"]:
            self._waiting[token] = _Waiting(at, side, tuple(values))
