"""The earliest-deadline-first gate that soft micro-batches pass before they start.

Spark never takes a slot back from a task that runs, so the order must be right before a batch's
tasks are handed to it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from heapq import heappop, heappush
from itertools import count


class Gate:
    """Lets ``width`` batches through at a time, of those that wait the earliest deadline first;
    equal ones in the order they came."""

    def __init__(self, width: int = 1) -> None:
        self._free = width
        self._numbers = count()
        self._waiting: list[tuple[int, int]] = []
        self._changed = threading.Condition()
        self._open = True

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @contextmanager
    def passing(self, deadline: int) -> Iterator[None]:
        """Waits for its turn; the next one's comes when the block is left."""
        with self._changed:
            mine = (deadline, next(self._numbers))
            heappush(self._waiting, mine)
            self._changed.wait_for(lambda: not self._open or self._turn_of(mine))
            if self._open:
                heappop(self._waiting)
            else:
                self._waiting.remove(mine)
            self._free -= 1
        try:
            yield
        finally:
            with self._changed:
                self._free += 1
                self._changed.notify_all()

    def _turn_of(self, mine: tuple[int, int]) -> bool:
        return self._free > 0 and self._waiting[0] == mine

    def give_up(self) -> None:
        """Nobody waits any longer: the run is over."""
        with self._changed:
            self._open = False
            self._changed.notify_all()


class NoGate:
    """First come, first served: Spark's own order."""

    waiting = 0

    @contextmanager
    def passing(self, deadline: int) -> Iterator[None]:
        del deadline
        yield

    def give_up(self) -> None:
        """There is nothing to give up."""


Gates = Gate | NoGate
GATES: dict[str, Callable[[], Gates]] = {"edf": Gate, "fifo": NoGate}
