"""Collects the tuples of one execution of an operator with a timeout (UDO, fusion)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

from headway.model.operators import Gather
from headway.runtime.operators.base import Row, State


class Signal(Enum):
    """What a tuple does to the batch it joins."""

    NOTHING = auto()
    FIRST = auto()
    """It opens a batch: start the timer."""
    READY = auto()
    """Every input has a tuple: stop the timer if one runs, take the batch and run the operator."""


class Gathering:
    """The open batch of one operator. Its owner calls :meth:`take` at the release, that is when
    it is told READY or when the timer is over; tuples after that start a new batch."""

    def __init__(self, ports: Sequence[str], gather: Gather) -> None:
        self._ports = tuple(ports)
        self._all = gather is Gather.ALL
        self._batch: dict[str, list[Row]] = {}

    def offer(self, port: str, row: Row) -> Signal:
        batch = self._batch
        first = not batch
        rows = batch.get(port)
        if rows is not None:
            rows.append(row)
            return Signal.NOTHING
        batch[port] = [row]
        if self._all and len(batch) == len(self._ports):
            return Signal.READY
        return Signal.FIRST if first else Signal.NOTHING

    def take(self) -> dict[str, list[Row]]:
        """Closes the batch: its rows by port, in arrival order; ports without a tuple are empty."""
        batch, self._batch = self._batch, {}
        return {port: batch.get(port, []) for port in self._ports}

    def output_watermark(self, watermark_us: int) -> int:
        """No later batch has an older tuple than this."""
        waiting = [row[0] for rows in self._batch.values() for row in rows]
        return min(watermark_us, *waiting) if waiting else watermark_us

    def size(self) -> int:
        return sum(map(len, self._batch.values()))

    def snapshot(self) -> State:
        return {"batch": {port: [list(row) for row in rows] for port, rows in self._batch.items()}}

    def restore(self, state: State) -> None:
        self._batch = {port: [tuple(row) for row in rows] for port, rows in state["batch"].items()}
