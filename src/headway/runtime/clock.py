"""Clocks: where the wall-clock engine gets its time from, and how it waits.

A clock counts nanoseconds and never goes back. The engine's own time is that of the recording or,
live, of the world (nanoseconds since the epoch); :class:`Pace` ties the two together.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Protocol

from headway.model.quantities import SECOND
from headway.runtime.happenings import NEVER


class Clock(Protocol):
    """Monotonic nanoseconds. ``wait`` returns at ``until``, or earlier when ``wake`` is set."""

    def now(self) -> int: ...

    def wait(self, until: int, wake: threading.Event) -> None: ...


class MonotonicClock:
    """The machine's clock: the same for all processes of the machine, unmoved by the calendar."""

    def now(self) -> int:
        return time.monotonic_ns()

    def wait(self, until: int, wake: threading.Event) -> None:
        if until >= NEVER:
            wake.wait()
        elif (rest := until - time.monotonic_ns()) > 0:
            wake.wait(rest / SECOND)


class ManualClock:
    """For tests: time passes when somebody says so, and waiting takes none.

    Who waits for a time gets it at once; who waits for a wake-up only really waits.
    """

    def __init__(self, start: int = 0) -> None:
        self._now = start
        self._lock = threading.Lock()

    def now(self) -> int:
        return self._now

    def advance(self, duration: int) -> None:
        """Lets time pass: what an operator of a test calls that takes its time."""
        with self._lock:
            self._now += duration

    def wait(self, until: int, wake: threading.Event) -> None:
        if until >= NEVER:
            wake.wait()
        elif not wake.is_set():
            with self._lock:
                self._now = max(self._now, until)


@dataclass(frozen=True, slots=True)
class Pace:
    """The engine's time is ``epoch`` when the clock shows ``start``, and runs ``speed`` times as
    fast. At another speed than 1 an operator's own time counts that many times as much."""

    clock: Clock
    epoch: int
    start: int
    speed: float = 1.0

    def now(self) -> int:
        """The engine's time."""
        passed = self.clock.now() - self.start
        return self.epoch + (passed if self.speed == 1.0 else int(passed * self.speed))

    def clock_time(self, time: int) -> int:
        """What the clock shows at a time of the engine (rounded up)."""
        if time >= NEVER:
            return NEVER
        passed = time - self.epoch
        return self.start + (passed if self.speed == 1.0 else int(passed / self.speed) + 1)

    def clock_duration(self, duration: int) -> int:
        """How long a span of the engine's time really takes."""
        return duration if self.speed == 1.0 else int(duration / self.speed)
