"""Clocks: where a run in wall-clock time gets its time from, how it waits, and whether it keeps up.

A clock counts nanoseconds and never goes back. The engine's own time is that of the recording or,
live, of the world (nanoseconds since the epoch); :class:`PacedClock` ties the two together.

Two signs say that a run cannot keep up: a tuple is taken in later than ``tolerance`` after it was
due, or the queue of ready jobs has grown past ``backlog`` (and then past each doubling of it).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from headway.engine.jobs import NEVER
from headway.model.quantities import MILLISECOND, SECOND, milliseconds


class WallClock(Protocol):
    """Monotonic nanoseconds. ``wait`` returns at ``until``, or earlier when ``wake`` is set.
    ``work``: an operator begins that declares so long a time; where it really takes its time
    nothing is to do."""

    def now(self) -> int: ...

    def wait(self, until: int, wake: threading.Event) -> None: ...

    def work(self, duration: int) -> None: ...


class MonotonicClock:
    """The machine's clock: the same for all processes of the machine, unmoved by the calendar."""

    def now(self) -> int:
        return time.monotonic_ns()

    def wait(self, until: int, wake: threading.Event) -> None:
        if until >= NEVER:
            wake.wait()
        elif (rest := until - time.monotonic_ns()) > 0:
            wake.wait(rest / SECOND)

    def work(self, duration: int) -> None:
        """It passes by itself."""


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

    def work(self, duration: int) -> None:
        """Operators of tests say themselves what time they take."""


@dataclass(frozen=True, slots=True)
class PacedClock:
    """The engine's time is ``epoch`` when the clock shows ``start``, and runs ``speed`` times as
    fast. At another speed than 1 an operator's own time counts that many times as much."""

    clock: WallClock
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

    def work(self, duration: int) -> None:
        """An operator begins that declares so long a time of the engine."""
        self.clock.work(self.clock_duration(duration))

    def clock_duration(self, duration: int) -> int:
        """How long a span of the engine's time really takes."""
        return duration if self.speed == 1.0 else int(duration / self.speed)


# -------------------------------------------------------------------- keeping up


LOG = logging.getLogger("headway.engine")


@dataclass(frozen=True, slots=True)
class Behind:
    """The engine is late: by so much (ns of the clock), at that time of the engine."""

    at: int
    lag: int
    backlog: int
    source: str

    def __str__(self) -> str:
        what = f"a tuple of {self.source!r} was taken in" if self.source else "the oldest work is"
        return (
            f"the engine cannot keep up: {what} {milliseconds(self.lag)} ms late,"
            f" {self.backlog} jobs wait"
        )


@dataclass(slots=True, kw_only=True)
class KeepingUp:
    """Counts, and tells ``on_behind`` of every late tuple and every doubling of the backlog; the
    log gets at most one warning in ``quiet`` nanoseconds."""

    tolerance: int = 10 * MILLISECOND
    backlog: int = 1000
    quiet: int = SECOND
    on_behind: Callable[[Behind], None] | None = None
    late_arrivals: int = 0
    worst_lag: int = 0
    worst_backlog: int = 0
    warnings: int = field(default=0)
    _said: int | None = None
    _limit: int = 0

    def arrived(self, source: str, at: int, lag: int, waiting: int) -> Behind | None:
        """A tuple was taken in ``lag`` after it was due."""
        self.worst_lag = max(self.worst_lag, lag)
        if lag <= self.tolerance:
            return None
        self.late_arrivals += 1
        return self._tell(Behind(at, lag, waiting, source))

    def queued(self, at: int, waiting: int) -> Behind | None:
        """So many jobs are ready."""
        self.worst_backlog = max(self.worst_backlog, waiting)
        if waiting <= max(self.backlog, self._limit):
            return None
        self._limit = 2 * waiting
        return self._tell(Behind(at, 0, waiting, ""))

    def snapshot(self) -> list[int]:
        """The counts so far."""
        return [
            self.late_arrivals,
            self.worst_lag,
            self.worst_backlog,
            self.warnings,
            self._limit,
        ]

    def restore(self, counts: list[int]) -> None:
        self.late_arrivals, self.worst_lag, self.worst_backlog, self.warnings, self._limit = counts

    @property
    def kept_up(self) -> bool:
        return not self.warnings

    def _tell(self, behind: Behind) -> Behind:
        self.warnings += 1
        if self._said is None or behind.at - self._said >= self.quiet:
            self._said = behind.at
            LOG.warning("%s", behind)
        if self.on_behind is not None:
            self.on_behind(behind)
        return behind
