"""The rules of a run that do not depend on the clock: entering, releasing, passing on, watermarks.

The virtual-time kernel and the wall-clock engine both derive from :class:`Core`; they differ in how
time passes and in what a ready job costs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.model.query import Output
from headway.runtime.happenings import ARRIVAL, TIMER
from headway.runtime.ingest import Ingest
from headway.runtime.operator_steps import OperatorSteps
from headway.runtime.operators.base import Dropped, Row
from headway.runtime.operators.fused import Fused
from headway.runtime.operators.gather import Signal
from headway.runtime.trace import EventKind, Trace
from headway.runtime.units import Flight, Program, Unit
from headway.runtime.wires import BulkSink, Sink, Wire

OUTPUT, MISS = int(EventKind.OUTPUT), int(EventKind.MISS)


class Core(OperatorSteps):
    """What happens to tuples, given a program. ``sinks`` take the outputs by name."""

    def __init__(
        self,
        plan: Plan,
        program: Program,
        *,
        sinks: dict[str, Sink],
        on_drop: Callable[[Dropped, int], None],
        trace: Trace,
        nodes: frozenset[str] | None = None,
    ) -> None:
        """``nodes``: those that run here; all of them if None."""
        self.now = 0
        self.program = program
        self.trace = trace
        self._record = trace.events.append if trace.kept else None
        self._on_drop = on_drop
        self._bulk: dict[str, BulkSink] = {}
        """for outputs that can take many tuples at once"""
        self._number = 0
        self._roots = 0
        self._timers: dict[int, int] = {}
        self._moves = 0
        self.timeouts = 0
        self.preemptions = 0
        self.decisions = 0
        self.arrived = 0
        self.refused = 0
        """jobs of hard paths that admission turned away"""
        graph = program.graph
        placement = dict(plan.placement)
        self.ingests = {
            name: Ingest(source)
            for name, source in graph.sources.items()
            if nodes is None or placement[name] in nodes
        }
        self._wires: dict[tuple[str, str], Wire] = {}
        crossing = {c.stream for c in plan.crossings}
        for stream in (*graph.sources, *graph.operators):
            wire = self._wires[stream, placement[stream]] = Wire(stream, placement[stream])
            wire.output_names = graph.outputs_of[stream]
            wire.outputs = tuple(
                self._traced(graph.outputs[name], wire.node, sinks[name])
                for name in graph.outputs_of[stream]
            )
            wire.sent = stream in crossing
        for (stream, node), units in program.entering.items():
            wire = self._wires.setdefault((stream, node), Wire(stream, node))
            wire.units = tuple(units)
        self._entrance = {name: self._wires[name, placement[name]] for name in graph.sources}
        self._exits = [self._wires[unit.stream, unit.node] for unit in program.units]
        self._closing = [
            (one, [self.ingests[n] for n in graph.sources_before(one.name) if n in self.ingests])
            for _, one in program.windows.aggregates
        ]
        """aggregates and the sources before them"""
        self.leaving: dict[str, int | None] = {}
        """the watermark of each stream up to the last window, when it was last looked at"""
        self.consumed = dict.fromkeys(graph.operators, 0)
        self.produced = dict.fromkeys((*graph.sources, *graph.operators), 0)

    def _traced(self, output: Output, node: str, sink: Sink) -> Sink:
        """The sink; if a trace is kept, one that also notes outputs and missed deadlines."""
        record, name, deadline = self._record, output.name, output.deadline or 0
        if record is None:
            return sink

        def take(row: Row, completed: int) -> None:
            sink(row, completed)
            record((OUTPUT, completed, completed, node, "", name, 0, 0, 0))
            if completed > row[0] * MICROSECOND + deadline:
                record((MISS, completed, completed, node, "", name, 0, 0, 0))

        return take

    def passed(self) -> dict[str, int]:
        """How many tuples each source let in and each train put out, by stream."""
        found: dict[str, int] = {}
        for wire in self._wires.values():
            found[wire.stream] = found.get(wire.stream, 0) + wire.passed
        return found

    # ---------------------------------------------------------------- to be given

    @abstractmethod
    def queue(
        self, unit: Unit, port: str, row: Row, key: Any, root: int, late: bool, given: Any,
        flight: Flight | None,
    ) -> None:  # fmt: skip
        """A job with a cost is ready."""

    @abstractmethod
    def send(self, wire: Wire, row: Row, root: int, late: bool) -> None:
        """A tuple leaves for other nodes."""

    # ---------------------------------------------------------------- entering

    def arrive(self, name: str, row: Any) -> None:
        """A tuple reaches a source."""
        ingest = self.ingests[name]
        shedder = ingest.shedder
        if shedder is None and ingest.fits(row):  # nearly always
            self.enter(name, row, ingest.mark(row[0]))
        else:
            entering = ingest.offer(row, self.now)
            if ingest.side:
                self.take_side(ingest.take_side())
            for entered, late in entering:
                self.enter(name, entered, late)
        if shedder is not None:
            if shedder.side:
                self.take_side(shedder.take_side())
            due = shedder.due()
            if due is not None and ingest.announced != due:
                ingest.announced = due
                self.at(due, ARRIVAL, self._release_shed, name)
        if self.program.windows:
            self._time_moved()

    def _release_shed(self, name: str) -> None:
        for row, late in self.ingests[name].release(self.now):
            self.enter(name, row, late)
        if self.program.windows:
            self._time_moved()

    def enter(self, source: str, row: Row, late: bool) -> None:
        """A tuple that passed the entrance goes into the query."""
        self._roots += 1
        self.pass_on(self._entrance[source], row, self._roots, late)

    def pass_on(self, wire: Wire, row: Row, root: int, late: bool) -> None:
        """A tuple appears on a stream: to outputs, to units on this node, to other nodes."""
        wire.passed += 1
        for sink in wire.outputs:
            sink(row, self.now)
        for unit, port in wire.units:  # as in `offer`, without a call: this is the hot path
            if unit.gathering is None:
                self.push(unit, port, row, row[0], root, late, None)
            else:
                self._gather(unit, port, row, root, late)
        if wire.sent:
            self.send(wire, row, root, late)

    def pass_on_many(self, wire: Wire, rows: list[Row], root: int) -> None:
        """Like :meth:`pass_on`, for the results of a batch, none of them late."""
        wire.passed += len(rows)
        for name, sink in zip(wire.output_names, wire.outputs, strict=True):
            many = self._bulk.get(name)
            if many is not None:
                many(rows, self.now)
            else:
                for row in rows:
                    sink(row, self.now)
        if wire.units or wire.sent:
            for row in rows:
                for unit, port in wire.units:
                    self.offer(unit, port, row, root, False)
                if wire.sent:
                    self.send(wire, row, root, False)

    def receive(self, stream: str, node: str, row: Row, root: int, late: bool) -> None:
        """A tuple of another node's stream has come."""
        if self._record:
            self._record((EventKind.RECEIVE, self.now, self.now, node, "", stream, root, 0, 0))
        for unit, port in self._wires[stream, node].units:
            self.offer(unit, port, row, root, late)

    def offer(self, unit: Unit, port: str, row: Row, root: int, late: bool) -> None:
        """A tuple comes to a unit."""
        if unit.gathering is None:
            self.push(unit, port, row, row[0], root, late, None)
        else:
            self._gather(unit, port, row, root, late)

    # ---------------------------------------------------------------- releasing

    def push(
        self, unit: Unit, port: str, row: Row, timestamp: int, root: int, late: bool, given: Any
    ) -> None:
        """A job becomes ready: at once if it costs nothing, else it queues.

        ``given`` is a gathered batch, or a result of the head to go on with.
        """
        if unit.free and unit.whole is not None and given is None:
            # Whatever holds this tuple back from windows does so until it is through.
            self._run_free(unit, unit.whole, row, root, late)
            return
        flight = None if unit.flights is None else self.take_off(unit.flights, timestamp)
        if unit.free:
            for _ in self.slots(unit, port, row, root, late, given):
                pass
            if flight is not None:
                # No time has passed: windows look when the whole arrival or timer is through, or
                # which consumer of a stream is served first would decide what closes before it.
                flight.landed = True
            return
        self.queue(
            unit, port, row, unit.key(timestamp * MICROSECOND, root), root, late, given, flight
        )

    def _run_free(self, unit: Unit, whole: Fused, row: Row, root: int, late: bool) -> None:
        """A train without cost and state: one call of its fused function."""
        result, ran = whole.count(row)
        unit.ran[ran] += 1
        if result is not None:
            self.pass_on(self._exits[unit.index], result, root, late)
        elif whole.side:
            self.take_side(whole.take_side())

    def _gather(self, unit: Unit, port: str, row: Row, root: int, late: bool) -> None:
        assert unit.gathering is not None
        self.consumed[unit.head.name] += 1
        if unit.oldest is None or (row[0], late) < unit.oldest:
            unit.oldest = (row[0], late)
        signal = unit.gathering.offer(port, row)
        if signal is Signal.FIRST:
            self._number += 1
            self._timers[unit.index] = self._number
            due = self.now + (unit.head.timeout or 0)
            self.at(due, TIMER, self._gather_timeout, (unit, self._number, root))
        elif signal is Signal.READY:
            self._timers.pop(unit.index, None)
            self._push_batch(unit, root, timed_out=False)

    def _gather_timeout(self, argument: tuple[Unit, int, int]) -> None:
        unit, number, root = argument
        if self._timers.get(unit.index) != number:
            return
        del self._timers[unit.index]
        self._timed_out(unit, root)
        self._push_batch(unit, root, timed_out=True)
        if self.program.windows.aggregates:
            self._time_moved()

    def _push_batch(self, unit: Unit, root: int, *, timed_out: bool) -> None:
        assert unit.gathering is not None
        assert unit.oldest is not None
        oldest, late = unit.oldest
        unit.oldest = None
        batch = unit.gathering.take()
        self.push(unit, "", (oldest,), oldest, root, late, (batch, timed_out))
