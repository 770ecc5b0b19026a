"""Says loudly when a run in wall-clock time cannot keep up.

Two signs: a tuple is taken in later than ``tolerance`` after it was due, or the queue of ready jobs
has grown past ``backlog`` (and then past each doubling of it).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from headway.model.quantities import MILLISECOND, SECOND, milliseconds

LOG = logging.getLogger("headway.runtime")


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
