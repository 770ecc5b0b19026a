"""Where tuples enter the query: checked, shed, and marked if they are late.

In this order, because each needs the one before: a value can only be computed of a row that has
its form, and only tuples that enter the query move its time. Whether a tuple is late is decided
here, once: it is if its timestamp lies more than the source's lateness behind the newest that
entered before it. The mark goes with the tuple; what looks at one tuple at a time ignores it,
windows and joins drop by it.

The load shedder lets at most N tuples pass per window of arrival time, the best by value. Windows
are ``[k * per, (k + 1) * per)`` of the engine's time. Values are ordered as Spark orders them: NULL
is the least, NaN the greatest; equal values go by arrival, the earlier first.

- Deciding on ARRIVAL, a tuple passes if fewer than N have passed in its window and its value is
  at least the threshold: the N-th largest value of the window just before, if that had more than
  N tuples; otherwise there is none.
- Deciding at WINDOW_END, exactly the best N pass, in arrival order, at the window's end.

Either way no more than N tuples or values are kept.
"""

from __future__ import annotations

from heapq import heappush, heappushpop
from typing import Any, NamedTuple

from headway.engine.declared_limits import PhaseWatch, RateWatch
from headway.engine.operators.conform import conform_function, fits_function
from headway.engine.operators.operator_base import DropKind, Dropped, SideList, failure
from headway.errors import DataError
from headway.expressions.rows import compile_value
from headway.expressions.scope import Scope
from headway.model.expression import typed
from headway.model.quantities import MICROSECOND
from headway.model.query import Decide, LoadShedder, Source
from headway.model.schema import Schema
from headway.model.user_operator import Row, State

Rank = tuple[int, Any]
Held = tuple[Rank, int, Any, Row]
"""(rank of the value, minus its place in the window, value, row): the least is shed first"""


def rank(value: Any) -> Rank:
    """A key that orders values: NULL, numbers, NaN."""
    if value is None:
        return (0, 0)
    return (1, value) if value == value else (2, 0)


class Shedder(SideList):
    """Shed rows go to the side list with their value."""

    def __init__(self, source: str, shedder: LoadShedder, schema: Schema) -> None:
        super().__init__(source)
        self._value = compile_value(typed(shedder.value), Scope.row(schema)).function
        self._at_most = shedder.at_most
        self._per = shedder.per
        self._on_arrival = shedder.decide is Decide.ARRIVAL
        self._window = 0
        self._seen = 0
        self._passed = 0
        self._threshold: Rank | None = None
        self._best: list[Rank] = []
        self._held: list[Held] = []

    def offer(self, row: Row, now: int) -> list[Row]:
        """A tuple arrives; gives the tuples that enter the query now, in order."""
        entering = self.release(now)
        try:
            value = self._value(row)
        except Exception as error:  # noqa: BLE001 - a function of the user may raise anything
            self.drop(DropKind.FAILED, row, str(failure(f"{self.name}.shed", row, error)))
            return entering
        window = now // self._per
        if window != self._window:
            self._turn(window)
        self._seen += 1
        if self._on_arrival:
            entering += self._decide(row, value)
        else:
            self._hold(row, value)
        return entering

    def due(self) -> int | None:
        """When :meth:`release` is to be called: the end of the window of the tuples held."""
        return (self._window + 1) * self._per if self._held else None

    def release(self, now: int) -> list[Row]:
        """The tuples held whose window has ended, in arrival order."""
        due = self.due()
        if due is None or now < due:
            return []
        held, self._held = self._held, []
        return [row for _, _, _, row in sorted(held, key=lambda entry: -entry[1])]

    def _turn(self, window: int) -> None:
        """A new window begins: learns the threshold, if the window before it is the last one
        seen."""
        learnt = window == self._window + 1 and self._seen > self._at_most and self._best
        self._threshold = self._best[0] if learnt else None
        self._window, self._seen, self._passed, self._best = window, 0, 0, []

    def _decide(self, row: Row, value: Any) -> list[Row]:
        ranked = rank(value)
        if len(self._best) < self._at_most:
            heappush(self._best, ranked)
        elif self._at_most:
            heappushpop(self._best, ranked)
        if self._passed >= self._at_most:
            self._shed(row, value, f"{self._at_most} have passed in this window")
        elif self._threshold is not None and ranked < self._threshold:
            self._shed(row, value, "its value is below the threshold")
        else:
            self._passed += 1
            return [row]
        return []

    def _hold(self, row: Row, value: Any) -> None:
        entry = (rank(value), -self._seen, value, row)
        if len(self._held) < self._at_most:
            heappush(self._held, entry)
            return
        worst = heappushpop(self._held, entry)
        self._shed(worst[3], worst[2], f"{self._at_most} of its window are more valuable")

    def _shed(self, row: Row, value: Any, reason: str) -> None:
        self.side.append(Dropped(self.name, DropKind.SHED, row, reason, value=value))

    def size(self) -> int:
        return len(self._held)

    def snapshot(self) -> State:
        return {
            "window": self._window,
            "seen": self._seen,
            "passed": self._passed,
            "threshold": None if self._threshold is None else list(self._threshold),
            "best": [list(ranked) for ranked in self._best],
            "held": [[-place, value, list(row)] for _, place, value, row in self._held],
        }

    def restore(self, state: State) -> None:
        self._window, self._seen, self._passed = state["window"], state["seen"], state["passed"]
        threshold = state["threshold"]
        self._threshold = None if threshold is None else (threshold[0], threshold[1])
        self._best = [(kind, value) for kind, value in state["best"]]
        self._held = [(rank(value), -n, value, tuple(row)) for n, value, row in state["held"]]


# -------------------------------------------------------------------- the entrance of a source


class Entering(NamedTuple):
    """A tuple that enters the query, and its mark."""

    row: Row
    late: bool


class Ingest(SideList):
    """The entrance of one source in one vehicle; tuples are offered in the order they arrive."""

    def __init__(self, source: Source) -> None:
        super().__init__(source.name)
        self._conform = conform_function(source.schema)
        self.fits = fits_function(source.schema)
        self._lateness = source.lateness // MICROSECOND
        self._newest: int | None = None
        self.watch: RateWatch | PhaseWatch | None = None
        """counts what comes beyond the declared rate, where somebody wants to know"""
        self.announced: int | None = None
        """the release that the engine has been told of"""
        self.shedder = (
            Shedder(source.name, source.shedder, source.schema)
            if source.shedder is not None
            else None
        )

    def offer(self, row: Any, now: int) -> list[Entering]:
        """A tuple arrives; gives what enters the query now, in order (a shedder may hold it
        back)."""
        try:
            row = self._conform(row)
        except DataError as error:
            kept = tuple(row) if isinstance(row, (tuple, list)) else (row,)
            self.drop(DropKind.REJECTED, kept, str(error))
            return []
        if self.shedder is None:
            return [Entering(row, self.mark(row[0]))]
        return [Entering(one, self.mark(one[0])) for one in self.shedder.offer(row, now)]

    def due(self) -> int | None:
        """When :meth:`release` is to be called; None if nothing is held."""
        return None if self.shedder is None else self.shedder.due()

    def release(self, now: int) -> list[Entering]:
        """What the shedder held back until now."""
        if self.shedder is None:
            return []
        return [Entering(row, self.mark(row[0])) for row in self.shedder.release(now)]

    def mark(self, timestamp: int) -> bool:
        """Whether a tuple that enters now is late; moves the source's time."""
        newest = self._newest
        if newest is None or timestamp > newest:
            self._newest = timestamp
            return False
        late: bool = timestamp < newest - self._lateness
        return late

    @property
    def watermark(self) -> int | None:
        """No tuple older than this enters unmarked any more; None before the first."""
        return None if self._newest is None else self._newest - self._lateness

    def take_side(self) -> list[Dropped]:
        """The rejected and the shed tuples since the last call."""
        return super().take_side() + (self.shedder.take_side() if self.shedder else [])

    def size(self) -> int:
        return self.shedder.size() if self.shedder else 0

    def snapshot(self) -> State:
        return {
            "newest": self._newest,
            "shedder": self.shedder.snapshot() if self.shedder else None,
        }

    def restore(self, state: State) -> None:
        self._newest = state["newest"]
        if self.shedder is not None:
            self.shedder.restore(state["shedder"])
