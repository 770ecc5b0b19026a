"""How far time has come at each operator, and what that closes.

A watermark says that no unmarked tuple older than it comes any more. It starts at the sources,
follows the operators, and never runs ahead of jobs and messages that are still under way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from heapq import heappop, heappush

from headway.runtime.ingest import Ingest
from headway.runtime.operators.base import Row, StatefulOperator
from headway.runtime.units import Flight, Program, Unit

JOIN_TOLD_EVERY = 64
"""arrivals between two sweeps of the joins' memory"""


def earliest(flights: list[tuple[int, int, Flight]]) -> list[int]:
    """The oldest timestamp under way, if any is; forgets what has landed."""
    while flights and flights[0][2].landed:
        heappop(flights)
    return [flights[0][0]] if flights else []


class Watermarks(ABC):
    """The part of a run that moves watermarks on and closes windows."""

    program: Program
    ingests: dict[str, Ingest]
    leaving: dict[str, int | None]
    _number: int
    _moves: int
    _closing: list[tuple[StatefulOperator, list[Ingest]]]

    @abstractmethod
    def emit_windows(self, unit: Unit, aggregate: StatefulOperator, rows: list[Row]) -> None:
        """Results of windows that have closed."""

    def take_off(self, flights: list[tuple[int, int, Flight]], timestamp: int) -> Flight:
        """Notes that a job or message is under way: windows after it must wait for it."""
        flight = Flight()
        self._number += 1
        heappush(flights, (timestamp, self._number, flight))
        return flight

    def land(self, flight: Flight) -> None:
        """A job or message is done; windows may have waited for it only."""
        flight.landed = True
        if self.program.windows.aggregates:
            self._time_moved()

    def _time_moved(self) -> None:
        """Aggregates close the windows that nothing can reach any more; joins, for which it only
        frees memory, are told now and then."""
        windows = self.program.windows
        self._moves += 1
        told_joins = self._moves % JOIN_TOLD_EVERY == 0
        if not told_joins and not self.windows_due():
            return
        marks = self.watermarks()
        for unit, aggregate in windows.aggregates:
            mark = marks[aggregate.name]
            rows = [] if mark is None else aggregate.advance(mark)
            if rows or aggregate.side:
                self.emit_windows(unit, aggregate, rows)
                # What went out may wait on its way now, and holds the later windows back.
                marks = self.watermarks()
        if told_joins:  # last: windows that just closed may have gone to them
            for join in windows.joins:
                mark = marks[join.name]
                if mark is not None:
                    join.advance(mark)

    def windows_due(self) -> bool:
        """Whether an aggregate may have a window to close: the time of every source before it has
        come far enough. What is under way can only hold it back."""
        for aggregate, ingests in self._closing:
            due = aggregate.next_due()
            if due is None:
                return True
            for ingest in ingests:
                mark = ingest.watermark
                if mark is None or mark < due:
                    break
            else:
                return True
        return False

    def watermarks(self) -> dict[str, int | None]:
        """For each operator up to the last window: no unmarked tuple older than this comes to it
        any more. None as long as a source has not begun."""
        windows, operators = self.program.windows, self.program.graph.operators
        stateful = self.program.stateful
        self.leaving = leaving = self.source_marks()
        entering: dict[str, int | None] = {}
        for name in windows.order:
            marks = [self.mark_between(s, name, leaving.get(s)) for s in operators[name].streams]
            for unit in windows.units[name]:
                assert unit.flights is not None
                marks += earliest(unit.flights)
            known = [mark for mark in marks if mark is not None]
            mark = min(known) if len(known) == len(marks) else None
            entering[name] = mark
            if mark is not None and name in stateful:
                mark = stateful[name].output_watermark(mark)
                gathering = windows.units[name][0].gathering
                if gathering is not None:
                    mark = gathering.output_watermark(mark)
            leaving[name] = mark
        return entering

    def source_marks(self) -> dict[str, int | None]:
        """For each source: no unmarked tuple older than this enters any more."""
        return {name: ingest.watermark for name, ingest in self.ingests.items()}

    def mark_between(self, stream: str, operator: str, mark: int | None) -> int | None:
        """The watermark of a stream where an operator reads it; messages under way hold it back."""
        return mark
