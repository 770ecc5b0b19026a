"""Where tuples enter the query: checked, shed, and marked if they are late.

In this order, because each needs the one before: a value can only be computed of a row that has
its form, and only tuples that enter the query move its time. Whether a tuple is late is decided
here, once: it is if its timestamp lies more than the source's lateness behind the newest that
entered before it. The mark goes with the tuple; what looks at one tuple at a time ignores it,
windows and joins drop by it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from headway.errors import DataError
from headway.model.quantities import MICROSECOND
from headway.model.query import Source
from headway.runtime.operators.base import DropKind, Dropped, Row, SideList, State
from headway.runtime.operators.conform import conform_function, fits_function
from headway.runtime.shedder import Shedder


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
