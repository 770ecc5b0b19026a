"""How far time has come at each operator, and what that closes.

A watermark says that no unmarked tuple older than it comes any more. It starts at the sources,
follows the operators, and never runs ahead of jobs and messages that are still under way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from heapq import heappop

from headway.engine.ingest import Ingest
from headway.engine.operators.operator_base import StatefulOperator
from headway.engine.program import Flights, RunProgram, Unit
from headway.model.user_operator import Row

JOIN_TOLD_EVERY = 64
"""times that time moves between two sweeps of the joins' memory"""

EmitWindows = Callable[[Unit, StatefulOperator, list[Row]], None]
"""takes the results of windows that have closed"""

SourceMarks = Callable[[], dict[str, int | None]]
"""for each source: no unmarked tuple older than this enters any more"""


class Watermarks:
    """Moves watermarks on and closes windows. ``source_marks``: where time does not come from the
    entrances alone. ``eager`` looks every time, whether or not a window may be due."""

    def __init__(
        self,
        program: RunProgram,
        ingests: Mapping[str, Ingest],
        emit: EmitWindows,
        *,
        source_marks: SourceMarks | None = None,
        eager: bool = False,
    ) -> None:
        self._program = program
        self._emit = emit
        self._source_marks = source_marks or (
            lambda: {name: ingest.watermark for name, ingest in ingests.items()}
        )
        self._eager = eager
        graph = program.graph
        self._closing = [
            (one, [ingests[name] for name in graph.sources_before(one.name) if name in ingests])
            for _, one in program.windows.aggregates
        ]
        """aggregates and the sources before them"""
        self.messages: dict[str, Flights] = {}
        """stream -> messages under way, where windows must wait for them"""
        self.leaving: dict[str, int | None] = {}
        """the watermark of each stream up to the last window, when it was last looked at"""
        self.moves = 0
        """how often time has moved: when joins are told, and so what they drop, hangs on it"""

    def look(self) -> None:
        """Time has moved. Aggregates close the windows that nothing can reach any more; joins, for
        which it only frees memory, are told now and then."""
        windows = self._program.windows
        self.moves += 1
        told_joins = self.moves % JOIN_TOLD_EVERY == 0
        if not told_joins and not self._may_close():
            return
        marks = self.entering()
        for unit, aggregate in windows.aggregates:
            mark = marks[aggregate.name]
            rows = [] if mark is None else aggregate.advance(mark)
            if rows or aggregate.side:
                self._emit(unit, aggregate, rows)
                # What went out may wait on its way now, and holds the later windows back.
                marks = self.entering()
        if told_joins:  # last: windows that just closed may have gone to them
            for join in windows.joins:
                mark = marks[join.name]
                if mark is not None:
                    join.advance(mark)

    def _may_close(self) -> bool:
        """Whether an aggregate may have a window to close: the time of every source before it has
        come far enough. What is under way can only hold it back."""
        if self._eager:
            return bool(self._closing)
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

    def entering(self) -> dict[str, int | None]:
        """For each operator up to the last window: no unmarked tuple older than this comes to it
        any more. None as long as a source has not begun."""
        windows, operators = self._program.windows, self._program.graph.operators
        stateful = self._program.stateful
        self.leaving = leaving = self._source_marks()
        entering: dict[str, int | None] = {}
        for name in windows.order:
            marks = [self._received(stream) for stream in operators[name].streams]
            for unit in windows.units[name]:
                assert unit.flights is not None
                marks += _oldest(unit.flights)
            known = [mark for mark in marks if mark is not None]
            mark = min(known) if len(known) == len(marks) else None
            entering[name] = mark
            if mark is not None and name in stateful:
                mark = stateful[name].output_watermark(mark)
                gathering = windows.units[name][0].gathering
                if gathering is not None:
                    mark = gathering.output_watermark(mark)
                sampling = windows.units[name][0].sampling
                if sampling is not None:
                    mark = sampling.output_watermark(mark)
            leaving[name] = mark
        return entering

    def _received(self, stream: str) -> int | None:
        """The watermark of a stream where it is read; messages under way hold it back."""
        mark = self.leaving.get(stream)
        messages = self.messages.get(stream)
        oldest = _oldest(messages) if messages else []
        return mark if mark is None or not oldest else min(mark, *oldest)

    def of_stream(self, stream: str) -> int | None:
        """The watermark of what an operator gives out, looked at now."""
        self.entering()
        return self.leaving.get(stream)


def _oldest(flights: Flights) -> list[int]:
    """The oldest timestamp under way, if any is; forgets what has landed."""
    while flights and flights[0][2].landed:
        heappop(flights)
    return [flights[0][0]] if flights else []
