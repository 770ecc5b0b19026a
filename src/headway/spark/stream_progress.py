"""Where the outputs of a live query stand. Knows nothing of Spark, so that it can be shown."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

RECENT_S = 10.0


@dataclass
class Pace:
    """Rows a second that came out lately. Spark's own rate counts files, not what is in them."""

    _seen: deque[tuple[float, int]] = field(default_factory=lambda: deque([(0.0, 0)]))

    def note(self, at_s: float, rows: int) -> None:
        """``rows`` in all by then; one moment before the time that counts is kept."""
        self._seen.append((at_s, rows))
        while len(self._seen) > 2 and self._seen[1][0] < at_s - RECENT_S:
            self._seen.popleft()

    def rows_per_second(self, at_s: float) -> float:
        first_at, first = self._seen[0]
        took = at_s - max(first_at, at_s - RECENT_S)
        return (self._seen[-1][1] - first) / took if took > 0 else 0.0


@dataclass(frozen=True, kw_only=True)
class OutputProgress:
    """``batch_ms`` is how long the last micro-batch took; ``lag_s`` is how far behind the clock the
    newest tuple was sensed."""

    output: str
    hard: bool
    batches: int
    rows_per_second: float
    batch_ms: int | None
    lag_s: float | None
    tuples: int
    judged: int
    """of them, tuples that could have been in time"""
    misses: int
