"""The native engine: runs a plan in virtual time as the vehicle engine does, compiled to C++.

The program is compiled once for a plan, a policy and a compiler, and kept
(:mod:`headway.native.build_cache`). Tuples come one by one, as for the vehicle engine, or as whole
Arrow tables. The result is the vehicle engine's: the same tuples at the same times, the same side
outputs, the same trace, the same counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter

from headway.engine.engine import DropCallback, OutputCallback
from headway.engine.jobs import Arrival
from headway.engine.operators.operator_base import Dropped
from headway.engine.results import RunResult, SideOutput, records_of
from headway.engine.trace import Trace
from headway.model.plan import Plan
from headway.model.user_operator import Row
from headway.native.arriving_rows import ArrivingTable, Entrances
from headway.native.arrow_rows import tuples_of_rows
from headway.native.compiled_program import CompiledProgram, vehicle_program
from headway.native.library import Keeps, NativeArrivals, NativeLibrary
from headway.native.native_results import DropReader, native_counts, trace_events
from headway.native.toolchain import BuildMode
from headway.schedule.online import Policy


@dataclass(kw_only=True)
class NativeEngine:
    """One vehicle. The options are those of :class:`~headway.engine.engine.Engine`; compiled code
    takes no batches. ``on_output`` and ``on_drop`` are told piece by piece as the run goes on,
    each in order. Unlike there one engine may run many times: every run begins anew. ``mode`` says
    how the program is compiled: quickly (DEBUG), or so that it is quick."""

    plan: Plan
    policy: str | Policy = "s-edf"
    charged: bool = True
    partitioned: bool = False
    mode: BuildMode = BuildMode.RELEASE
    keep_trace: bool = True
    keep_outputs: bool = True
    on_output: OutputCallback | None = None
    on_drop: DropCallback | None = None
    _program: CompiledProgram = field(init=False)

    def __post_init__(self) -> None:
        self._program = vehicle_program(
            self.plan,
            self.policy,
            charged=self.charged,
            partitioned=self.partitioned,
            mode=self.mode,
        )

    def run(self, arrivals: Iterable[Arrival]) -> RunResult:
        """Runs all arrivals, given in order of time, to the end."""
        with self._program.load() as library:
            run = _Run(self, self._program, library)
            return run.result(run.entrances.chunks(arrivals))

    def run_tables(self, tables: Mapping[str, ArrivingTable]) -> RunResult:
        """The same for the tables of all sources: no tuple of theirs becomes an object of Python
        on its way in."""
        with self._program.load() as library:
            run = _Run(self, self._program, library)
            return run.result(iter([run.entrances.of_tables(tables)]))


class _Run:
    """One run of an engine: takes what the library gives, between two pieces of its input."""

    def __init__(
        self, engine: NativeEngine, program: CompiledProgram, library: NativeLibrary
    ) -> None:
        self._engine, self._program, self._library = engine, program, library
        self.entrances = Entrances(program.graph.sources.values(), library.layouts)
        self._drops = DropReader(program.graph, library.layouts, self.entrances)
        self._outputs = records_of(engine.plan.query)
        self._side = SideOutput()
        self._trace = Trace(kept=engine.keep_trace)

    def result(self, pieces: Iterator[NativeArrivals]) -> RunResult:
        engine, library, program = self._engine, self._library, self._program
        keeps = Keeps(0)
        if engine.keep_outputs or engine.on_output is not None:
            keeps |= Keeps.OUTPUTS
        if engine.keep_trace:
            keeps |= Keeps.TRACE
        library.start(keeps)
        told = engine.on_output is not None or engine.on_drop is not None
        library.run(self._telling(pieces) if told else pieces)
        self._take()
        counts = native_counts(library, program.graph, program.stateful, program.units)
        return RunResult(self._outputs, self._side, self._trace, counts)

    def _telling(self, pieces: Iterator[NativeArrivals]) -> Iterator[NativeArrivals]:
        """Whoever is told of results is told before the next piece is taken in."""
        for piece in pieces:
            self._take()
            self._library.clear()
            yield piece

    def _take(self) -> None:
        for one in self._drops.take(self._library):
            self._take_drop(*one)
        if self._engine.keep_trace:
            self._trace.events += trace_events(self._library)
        self._take_outputs()

    def _take_drop(self, now: int, dropped: Dropped) -> None:
        if self._engine.on_drop is not None:
            self._engine.on_drop(dropped, now)
        else:
            self._side.take(dropped, now)

    def _take_outputs(self) -> None:
        library, follow = self._library, self._engine.on_output
        told: list[tuple[int, str, Row, int]] = []
        for place, (name, stream) in enumerate(library.outputs):
            found = library.output_rows(place)
            if not len(found.rows):
                continue
            rows = tuples_of_rows(found.rows, library.layouts[stream])
            completed = found.completed.tolist()
            if self._engine.keep_outputs:
                self._outputs[name].rows += rows
                self._outputs[name].completed += completed
            if follow is not None:
                numbers = found.numbers.tolist()
                told += [
                    (number, name, row, time)
                    for number, row, time in zip(numbers, rows, completed, strict=True)
                ]
        if follow is not None:
            for _, name, row, time in sorted(told, key=itemgetter(0)):
                follow(name, row, time)
