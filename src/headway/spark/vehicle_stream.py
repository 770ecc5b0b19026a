"""One vehicle's tuples as a stream brings them: put back into the order of arrival, then run.

A stream cuts its sources into micro-batches wherever it likes, so one source may be ahead of
another. A tuple is run only when nothing that arrived before it can still come: every other source
has been seen that far. Each source must keep its own order of arrival. The result then does not
depend on where the cuts fall.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Iterable
from typing import Any, NamedTuple

from headway.model.time import MICROSECOND
from headway.model.user_operator import Row, State
from headway.runtime.happenings import NEVER
from headway.runtime.operators.base import Dropped
from headway.runtime.stepwise import Result, Stepwise


class Held(NamedTuple):
    """A tuple that waits for other sources; ordered by arrival, source and place."""

    at: int
    """arrival, microseconds"""
    source: int
    position: int | None
    row: Row


class VehicleStream:
    """The engine of one vehicle after another: :meth:`restore` puts it into a vehicle's state."""

    def __init__(self, engine: Stepwise, sources: list[str]) -> None:
        self._engine = engine
        self._sources = sources
        self._held: list[Held] = []
        self._seen: list[int | None] = [None] * len(sources)
        """the last arrival of each source"""

    def offer(self, tuples: Iterable[Held]) -> list[Result]:
        """Tuples of any sources in any order; gives the results of what can be run now."""
        seen = self._seen
        for one in tuples:
            insort(self._held, one, key=_order)
            last = seen[one.source]
            if last is None or one.at > last:
                seen[one.source] = one.at
        ready = 0
        while ready < len(self._held) and self._complete_before(self._held[ready]):
            ready += 1
        self._take(ready)
        known = [last for last in seen if last is not None]
        if len(known) == len(seen):
            self._engine.run_until(min(known) * MICROSECOND)
        return self._engine.take_results()

    def _complete_before(self, first: Held) -> bool:
        """Whether all that comes before this tuple is there. Of one instant, the sources declared
        first come first, so those must be seen beyond it."""
        for source, last in enumerate(self._seen):
            if source == first.source:
                continue
            if last is None or last < first.at or (last == first.at and source < first.source):
                return False
        return True

    def _take(self, count: int) -> None:
        for one in self._held[:count]:
            self._engine.take(one.at * MICROSECOND, self._sources[one.source], one.row)
        del self._held[:count]

    def go_on(self, idle_us: int) -> list[Result]:
        """Nothing has come for that long: silent sources are not waited for any longer, and time
        goes on."""
        self._take(len(self._held))
        known = [last for last in self._seen if last is not None]
        if known:
            self._engine.run_until((max(known) + idle_us) * MICROSECOND)
        return self._engine.take_results()

    def finish(self) -> list[Result]:
        """The input has ended."""
        self._take(len(self._held))
        self._engine.finish()
        return self._engine.take_results()

    def take_dropped(self) -> list[tuple[int, Dropped]]:
        """What left its way since the last call, and when (ns)."""
        return self._engine.take_dropped()

    @property
    def waits(self) -> bool:
        """Whether going on could give something: tuples are held, or timers run."""
        return bool(self._held) or self._engine.next_timer < NEVER

    def snapshot(self) -> State:
        return {
            "engine": self._engine.snapshot(),
            "held": [[one.at, one.source, one.position, list(one.row)] for one in self._held],
            "seen": self._seen,
        }

    def restore(self, state: State | None) -> None:
        """A vehicle's state, or None for one that is new."""
        self._engine.restore(None if state is None else state["engine"])
        held = [] if state is None else state["held"]
        self._held = [Held(at, source, place, tuple(row)) for at, source, place, row in held]
        self._seen = [None] * len(self._sources) if state is None else list(state["seen"])


def _order(one: Held) -> tuple[Any, ...]:
    """Without positions the tuple itself breaks ties, as it does in batch."""
    if one.position is not None:
        return one.at, one.source, 1, one.position
    return one.at, one.source, 0, *map(_rank, one.row)


def _rank(value: Any) -> tuple[int, Any]:
    """Spark's order: NULL, values, NaN."""
    if value is None:
        return 0, 0
    return (2, 0) if isinstance(value, float) and math.isnan(value) else (1, value)
