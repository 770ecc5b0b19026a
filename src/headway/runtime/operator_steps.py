"""Running a job operator by operator, and what operators bring about without a new tuple."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from headway.runtime.happenings import NEVER, TIMER
from headway.runtime.operators.base import Dropped, Row, StatefulOperator
from headway.runtime.trace import EventKind
from headway.runtime.units import Unit
from headway.runtime.watermarks import Watermarks
from headway.runtime.wires import Wire


class OperatorSteps(Watermarks):
    """The part of a run that is inside trains."""

    now: int
    timeouts: int
    consumed: dict[str, int]
    produced: dict[str, int]
    """results passed on inside a train; those that left it are counted by the wires"""
    _exits: list[Wire]
    _roots: int
    _record: Callable[[Any], None] | None
    _on_drop: Callable[[Dropped, int], None]

    @abstractmethod
    def at(self, time: int, kind: int, function: Callable[[Any], None], argument: Any) -> None:
        """Calls the function when that time has come."""

    @abstractmethod
    def pass_on(self, wire: Wire, row: Row, root: int, late: bool) -> None:
        """A tuple appears on a stream."""

    @abstractmethod
    def push(
        self, unit: Unit, port: str, row: Row, timestamp: int, root: int, late: bool, given: Any
    ) -> None:
        """A job becomes ready."""

    def slots(
        self, unit: Unit, port: str, row: Row, root: int, late: bool, given: Any
    ) -> Iterator[tuple[int, int]]:
        """Runs a job operator by operator: yields (operator, its time); what the operator does
        happens when the caller comes back, at the end of that time.

        Results go through the rest of the train depth first, each to its end before the next.
        """
        steps = unit.steps
        pending: list[tuple[int, Row, bool]] = []
        if given is None:
            pending.append((0, row, late))
        elif len(given) == 1:  # a result of the head: its time is still to be spent
            yield 0, unit.costs[0]
            pending.append((1, given[0], late))
        else:
            batch, timed_out = given
            items = sum(map(len, batch.values()))
            if unit.between_items:
                yield 0, unit.base_cost
                for _ in range(items):
                    yield 0, unit.item_cost
            else:
                yield 0, unit.base_cost + items * unit.item_cost
            assert unit.custom is not None
            rows = unit.custom.execute(batch, self.now, timed_out)
            self._after_stateful(unit, unit.custom)
            oldest = self._oldest_unmarked(unit, unit.custom, rows, row[0], late)
            pending += [(1, out, late or out[0] < oldest) for out in reversed(rows)]
        if given is not None and len(steps) > 1:
            self.produced[unit.operators[0]] += len(pending)
        exit_wire = self._exits[unit.index]
        while pending:
            index, row, late = pending.pop()
            if index == len(steps):
                self.pass_on(exit_wire, row, root, late)
                continue
            step = steps[index]
            name = unit.operators[step.first]
            self.consumed[name] += 1
            yield step.first, step.costs[0]
            if step.fused is None:
                operator = step.stateful
                assert operator is not None
                rows = operator.accept(port if index == 0 else step.port, row, self.now, late)
                self._after_stateful(unit, operator)
                if index + 1 < len(steps):
                    self.produced[name] += len(rows)
                oldest = self._oldest_unmarked(unit, operator, rows, row[0], late)
                pending += [(index + 1, out, late or out[0] < oldest) for out in reversed(rows)]
                continue
            out, ran = step.fused.count(row)
            if step.fused.side:
                self.take_side(step.fused.take_side())
            for offset in range(1, ran):
                self.produced[name] += 1
                name = unit.operators[step.first + offset]
                self.consumed[name] += 1
                yield step.first + offset, step.costs[offset]
            if out is not None:
                if index + 1 < len(steps):
                    self.produced[name] += 1
                pending.append((index + 1, out, late))

    def _oldest_unmarked(
        self, unit: Unit, operator: StatefulOperator, rows: list[Row], oldest: int, late: bool
    ) -> int:
        """What a user's class gives a timestamp older than all it was given may be older than the
        windows after it still wait for: then it is marked late here, as a source's would be, so
        that what becomes of it depends on nothing but the order of arrival."""
        if late or unit.flights is None or not operator.own_timestamps or not rows:
            return -NEVER
        if min(row[0] for row in rows) >= oldest:
            return -NEVER
        self.watermarks()
        mark = self.leaving.get(operator.name)
        return -NEVER if mark is None else mark

    def _after_stateful(self, unit: Unit, operator: Any) -> None:
        if operator.side:
            self.take_side(operator.take_side())
        for due, token in operator.take_timers():
            self.at(due, TIMER, self._expire, (unit, operator, token))

    def _expire(self, argument: tuple[Unit, Any, int]) -> None:
        unit, operator, token = argument
        if rows := operator.expire(token, self.now):
            self._timed_out(unit, 0)
            self.emit(unit, rows)
            if self.program.windows.aggregates:
                self._time_moved()

    def emit(self, unit: Unit, rows: list[Row]) -> None:
        """Results that a stateful head gives without a new tuple: closed windows, timeouts."""
        for row in rows:
            self._roots += 1
            self.push(unit, "", row, row[0], self._roots, False, (row,))

    def emit_windows(self, unit: Unit, aggregate: StatefulOperator, rows: list[Row]) -> None:
        """Results of windows that closed; those that failed go to the side."""
        if aggregate.side:
            self.take_side(aggregate.take_side())
        self.emit(unit, rows)

    def _timed_out(self, unit: Unit, root: int) -> None:
        self.timeouts += 1
        if self._record:
            now, name = self.now, unit.head.name
            self._record((EventKind.TIMEOUT, now, now, unit.node, "", name, root, 0, 0))

    def take_side(self, dropped: list[Dropped]) -> None:
        """Hands out what left its way."""
        for one in dropped:
            if self._record:
                kind = EventKind[one.kind.name]
                self._record((kind, self.now, self.now, "", "", one.where, 0, 0, 0))
            self._on_drop(one, self.now)
