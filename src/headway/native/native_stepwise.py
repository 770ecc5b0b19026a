"""The meaning of a query, tuple by tuple, compiled: the run in which nothing takes time, and which
can stop after any tuple and go on elsewhere.

The twin of :class:`headway.engine.stepwise.Stepwise`. Its state is a string of bytes, much smaller
than the plain data of that class, and tells nobody but the same program anything: it begins with
the program's fingerprint. Tuples are gathered and handed to the program many at a time; whoever
asks for anything that depends on them has them run first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from operator import itemgetter
from types import TracebackType
from typing import Any

import numpy as np

from headway.engine.jobs import Arrival
from headway.engine.operators.operator_base import Dropped
from headway.engine.stepwise import StepResult
from headway.errors import DataError
from headway.model.plan import Plan
from headway.native.arriving_rows import CHUNK, ArrivingTable, Entrances
from headway.native.arrow_rows import table_of_rows, tuples_of_rows
from headway.native.compiled_program import meaning_program
from headway.native.library import Keeps
from headway.native.native_results import DropReader
from headway.native.toolchain import BuildMode


@dataclass(frozen=True, slots=True)
class ResultTable:
    """Tuples of an output in order of appearance: an Arrow table with the output's columns, when
    each appeared (ns), and whether it is marked late."""

    rows: Any
    completed: np.ndarray[Any, np.dtype[np.int64]]
    late: np.ndarray[Any, np.dtype[np.bool_]]


class NativeStepwise:
    """One vehicle at a time. Close it, or use it in a ``with`` statement.

    ``watched``: streams whose marks somebody outside asks for, because joins or windows follow;
    ``mode``: how the program is compiled.
    """

    def __init__(
        self, plan: Plan, watched: Collection[str] = (), *, mode: BuildMode = BuildMode.RELEASE
    ) -> None:
        self._program = meaning_program(plan, frozenset(watched), mode)
        self._library = self._program.load()
        self.entrances = Entrances(self._program.graph.sources.values(), self._library.layouts)
        self._drops = DropReader(self._program.graph, self._library.layouts, self.entrances)
        streams = dict(plan.schemas)
        self._schemas = {one.name: streams[one.stream] for one in plan.query.outputs}
        self._waiting: list[Arrival] = []
        self._results: list[StepResult] = []
        self._dropped: list[tuple[int, Dropped]] = []
        self._library.start(Keeps.OUTPUTS)
        self._mark = self._program.fingerprint
        self._blank = self.snapshot()

    def close(self) -> None:
        self._library.close()

    def __enter__(self) -> NativeStepwise:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # ---------------------------------------------------------------- time

    @property
    def now(self) -> int:
        """The time of the last arrival or timer (ns)."""
        self._catch_up()
        return int(self._library.counts().now)

    @property
    def next_timer(self) -> int:
        """When the next timer is over (ns); NEVER if none runs."""
        self._catch_up()
        return int(self._library.counts().next_timer)

    def take(self, time: int, source: str, row: Any) -> None:
        """A tuple arrives (ns); timers before it go first. One that should have come earlier
        arrives now."""
        self._waiting.append(Arrival(time, source, row))
        if len(self._waiting) >= CHUNK:
            self._catch_up()

    def take_tables(self, tables: Mapping[str, ArrivingTable]) -> None:
        """The tuples of a table for each source, merged by arrival: none of them becomes an object
        of Python."""
        self._catch_up()
        self._library.take(self.entrances.of_tables(tables))

    def run_until(self, time: int) -> None:
        """Timers that are over before that time: nothing else comes before it."""
        self._catch_up()
        self._library.run_until(time)

    def finish(self) -> None:
        """The input has ended: all timers run out and all windows close."""
        self._catch_up()
        self._library.finish()

    def _catch_up(self) -> None:
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            self._library.take(self.entrances.laid_out(waiting))

    # ---------------------------------------------------------------- results

    def take_results(self) -> list[StepResult]:
        """In the order in which they appeared, over all outputs."""
        self._collect()
        taken, self._results = self._results, []
        return taken

    def take_result_tables(self) -> dict[str, ResultTable]:
        """The same as Arrow tables, by output: what has come since results were last taken."""
        self._catch_up()
        library, schemas = self._library, self._schemas
        self._dropped += self._drops.take(library)
        found: dict[str, ResultTable] = {}
        for place, (name, stream) in enumerate(library.outputs):
            output = library.output_rows(place)
            rows = table_of_rows(output.rows, schemas[name], library.layouts[stream])
            found[name] = ResultTable(rows, output.completed.copy(), output.late.copy())
        library.clear()
        return found

    def take_dropped(self) -> list[tuple[int, Dropped]]:
        """What left its way, and when (ns)."""
        self._collect()
        taken, self._dropped = self._dropped, []
        return taken

    def _collect(self) -> None:
        self._catch_up()
        library = self._library
        self._dropped += self._drops.take(library)
        found: list[tuple[int, StepResult]] = []
        for place, (_, stream) in enumerate(library.outputs):
            output = library.output_rows(place)
            if len(output.rows):
                parts = zip(
                    output.numbers.tolist(),
                    tuples_of_rows(output.rows, library.layouts[stream]),
                    output.late.tolist(),
                    output.completed.tolist(),
                    strict=True,
                )
                found += [(number, StepResult(place, *rest)) for number, *rest in parts]
        self._results += [result for _, result in sorted(found, key=itemgetter(0))]
        library.clear()

    # ---------------------------------------------------------------- state

    def snapshot(self) -> bytes:
        """All that the future depends on (between two arrivals)."""
        self._catch_up()
        return self._mark + self._library.save()

    def restore(self, state: bytes | None) -> None:
        """Takes up a state that :meth:`snapshot` gave; None: the beginning. DataError when it is
        not one of this program; then the state is that of the beginning."""
        self._waiting, self._results, self._dropped = [], [], []
        for entrance in self.entrances.all:
            entrance.rejected.clear()
        self._library.clear()
        given = self._blank if state is None else state
        size = len(self._mark)
        if given[:size] == self._mark and self._library.load(given[size:]):
            return
        if not self._library.load(self._blank[size:]):
            raise AssertionError("the state of the beginning cannot be loaded")
        what = "a state of another program" if given[:size] != self._mark else "a damaged state"
        raise DataError(what, got=f"{len(given)} bytes", want="a state that this plan's run gave")
