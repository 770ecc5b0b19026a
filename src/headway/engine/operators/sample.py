"""Sample: the last value of each input at the instants of a clock.

What is held stands in :class:`Sampling`, which the kernel asks at each instant; the operator itself
lays what was read into one row and keeps nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from headway.engine.operators.operator_base import BatchOperator
from headway.model.operators import Clock, Sample
from headway.model.schema import Schema
from headway.model.user_operator import Row, State


class HeldValue(NamedTuple):
    """The last tuple that came by a port: when (ns), its mark, and the arrival it goes back to."""

    row: Row
    came: int
    late: bool
    root: int


class Reading(NamedTuple):
    """What is read at an instant: a row for each port that has one, with the arrivals they go back
    to; the oldest timestamp and the mark of its tuple."""

    rows: dict[str, list[Row]]
    roots: dict[str, int]
    oldest: int
    late: bool


class Sampling:
    """The last values of one operator's inputs. ``next`` is the number of the clock's next instant;
    None while nothing is held."""

    def __init__(self, ports: Sequence[str], clock: Clock) -> None:
        self.clock = clock
        self.next: int | None = None
        self._ports = tuple(ports)
        self._held: dict[str, HeldValue] = {}

    def hold(self, port: str, row: Row, now: int, late: bool, root: int) -> bool:
        """Takes up a tuple in place of the one before it; whether the clock is to start."""
        self._held[port] = HeldValue(row, now, late, root)
        if self.next is not None:
            return False
        self.next = self.clock.first_from(now)
        return True

    def read(self) -> Reading | None:
        """What is read at the next instant; None if all that was held is too old then. Where time
        passes by itself the instant may be over a little, which makes nothing older."""
        assert self.next is not None
        instant, held = self.clock.instant(self.next), self.clock.held
        self._held = {
            port: one for port, one in self._held.items() if one.came + held(port) >= instant
        }
        if not self._held:
            self.next = None
            return None
        self.next += 1
        oldest, late = min((one.row[0], one.late) for one in self._held.values())
        rows = {port: [self._held[port].row] if port in self._held else [] for port in self._ports}
        roots = {port: one.root for port, one in self._held.items()}
        return Reading(rows, roots, oldest, late)

    def output_watermark(self, watermark_us: int) -> int:
        """What is held may be read again: no result is older than the oldest of it."""
        oldest: int = min([watermark_us, *(one.row[0] for one in self._held.values())])
        return oldest

    def size(self) -> int:
        return len(self._held)

    def snapshot(self) -> State:
        held = {port: [list(one.row), *one[1:]] for port, one in self._held.items()}
        return {"held": held, "next": self.next}

    def restore(self, state: State) -> None:
        self.next = state.get("next")
        self._held = {
            port: HeldValue(tuple(row), came, late, root)
            for port, (row, came, late, root) in state.get("held", {}).items()
        }


class SampleOperator(BatchOperator):
    """Lays the rows of the ports side by side; NULL where a port has none."""

    def __init__(self, operator: Sample, inputs: Mapping[str, Schema], output: Schema) -> None:
        super().__init__(operator.name)
        self._widths = {port: len(schema.fields) for port, schema in inputs.items()}

    def accept(self, port: str, row: Row, now: int, late: bool = False) -> list[Row]:
        """What an instant would give at which nothing else is held."""
        return self.execute({port: [row]}, now)

    def execute(
        self, inputs: Mapping[str, Sequence[Row]], now: int, timed_out: bool = False
    ) -> list[Row]:
        """One row: the oldest timestamp, then the columns of each port."""
        values: list[object] = [min(row[0] for rows in inputs.values() for row in rows)]
        for port, width in self._widths.items():
            rows = inputs.get(port)
            values += rows[0][1:] if rows else [None] * width
        return [tuple(values)]

    def snapshot(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        """It keeps nothing."""
