"""The rules of a run that do not depend on the clock: entering, releasing, passing on, watermarks.

The virtual-time kernel and the wall-clock engine both derive from :class:`Core`; they differ in how
time passes and in what a ready job costs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from headway.model.plan import Plan
from headway.model.query import Output
from headway.model.time import MICROSECOND
from headway.runtime.ingest import Ingest
from headway.runtime.operators.base import Dropped, Row, StatefulOperator
from headway.runtime.operators.fused import Fused
from headway.runtime.operators.gather import Signal
from headway.runtime.trace import EventKind, Trace
from headway.runtime.units import Flight, Program, Unit
from headway.runtime.watermarks import Watermarks
from headway.runtime.wires import BulkSink, Sink, Wire

FINISH, ARRIVAL, DELIVERY, TIMER, DECISION = range(5)
"""the order of happenings at one instant"""

OUTPUT, MISS = int(EventKind.OUTPUT), int(EventKind.MISS)

NEVER = 1 << 62
"""a time that does not come"""


class Arrival(NamedTuple):
    """A tuple reaches a source at ``time`` (ns)."""

    time: int
    source: str
    row: Row


class Core(Watermarks):
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
        self.consumed: dict[str, int] = dict.fromkeys(graph.operators, 0)
        self.produced: dict[str, int] = dict.fromkeys((*graph.sources, *graph.operators), 0)
        """results passed on inside a train; those that left it are counted by the wires"""

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
    def at(self, time: int, kind: int, function: Callable[[Any], None], argument: Any) -> None:
        """Calls the function when that time has come."""

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
        for unit, port in wire.units:
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
                    if unit.gathering is None:
                        self.push(unit, port, row, row[0], root, False, None)
                    else:
                        self._gather(unit, port, row, root, False)
                if wire.sent:
                    self.send(wire, row, root, False)

    def receive(self, stream: str, node: str, row: Row, root: int, late: bool) -> None:
        """A tuple of another node's stream has come."""
        if self._record:
            self._record((EventKind.RECEIVE, self.now, self.now, node, "", stream, root, 0, 0))
        for unit, port in self._wires[stream, node].units:
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

    def emit(self, unit: Unit, rows: list[Row]) -> None:
        """Results that a stateful head gives without a new tuple: closed windows, timeouts."""
        for row in rows:
            self._roots += 1
            self.push(unit, "", row, row[0], self._roots, False, (row,))

    def emit_windows(self, unit: Unit, aggregate: StatefulOperator, rows: list[Row]) -> None:
        """Results of windows that closed; those that failed go to the side."""
        if aggregate.side:
            self.take_side(aggregate.take_side())
        self.emit(unit, rows)

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

    def _timed_out(self, unit: Unit, root: int) -> None:
        self.timeouts += 1
        if self._record:
            now, name = self.now, unit.head.name
            self._record((EventKind.TIMEOUT, now, now, unit.node, "", name, root, 0, 0))

    # ---------------------------------------------------------------- running

    def slots(
        self, unit: Unit, port: str, row: Row, root: int, late: bool, given: Any
    ) -> Iterator[tuple[int, int]]:
        """Runs a job operator by operator: yields (operator, its time); what the operator does
        happens when the caller comes back, at the end of that time.

        Results go through the rest of the train depth first, each to its end before the next.
        """
        steps = unit.steps
        pending: list[tuple[int, Row, bool]] = []
        if given is None:
            pending.append((0, row, late))
        elif len(given) == 1:  # a result of the head: its time is still to be spent
            yield 0, unit.costs[0]
            pending.append((1, given[0], late))
        else:
            batch, timed_out = given
            items = sum(map(len, batch.values()))
            if unit.between_items:
                yield 0, unit.base_cost
                for _ in range(items):
                    yield 0, unit.item_cost
            else:
                yield 0, unit.base_cost + items * unit.item_cost
            assert unit.custom is not None
            rows = unit.custom.execute(batch, self.now, timed_out)
            self._after_stateful(unit, unit.custom)
            oldest = self._oldest_unmarked(unit, unit.custom, rows, row[0], late)
            pending += [(1, out, late or out[0] < oldest) for out in reversed(rows)]
        if given is not None and len(steps) > 1:
            self.produced[unit.operators[0]] += len(pending)
        exit_wire = self._exits[unit.index]
        while pending:
            index, row, late = pending.pop()
            if index == len(steps):
                self.pass_on(exit_wire, row, root, late)
                continue
            step = steps[index]
            name = unit.operators[step.first]
            self.consumed[name] += 1
            yield step.first, step.costs[0]
            if step.fused is None:
                operator = step.stateful
                assert operator is not None
                rows = operator.accept(port if index == 0 else step.port, row, self.now, late)
                self._after_stateful(unit, operator)
                if index + 1 < len(steps):
                    self.produced[name] += len(rows)
                oldest = self._oldest_unmarked(unit, operator, rows, row[0], late)
                pending += [(index + 1, out, late or out[0] < oldest) for out in reversed(rows)]
                continue
            out, ran = step.fused.count(row)
            if step.fused.side:
                self.take_side(step.fused.take_side())
            for offset in range(1, ran):
                self.produced[name] += 1
                name = unit.operators[step.first + offset]
                self.consumed[name] += 1
                yield step.first + offset, step.costs[offset]
            if out is not None:
                if index + 1 < len(steps):
                    self.produced[name] += 1
                pending.append((index + 1, out, late))

    def _oldest_unmarked(
        self, unit: Unit, operator: StatefulOperator, rows: list[Row], oldest: int, late: bool
    ) -> int:
        """What a user's class gives a timestamp older than all it was given may be older than the
        windows after it still wait for: then it is marked late here, as a source's would be, so
        that what becomes of it depends on nothing but the order of arrival."""
        if late or unit.flights is None or not operator.own_timestamps or not rows:
            return -NEVER
        if min(row[0] for row in rows) >= oldest:
            return -NEVER
        self.watermarks()
        mark = self.leaving.get(operator.name)
        return -NEVER if mark is None else mark

    def _after_stateful(self, unit: Unit, operator: Any) -> None:
        if operator.side:
            self.take_side(operator.take_side())
        for due, token in operator.take_timers():
            self.at(due, TIMER, self._expire, (unit, operator, token))

    def _expire(self, argument: tuple[Unit, Any, int]) -> None:
        unit, operator, token = argument
        if rows := operator.expire(token, self.now):
            self._timed_out(unit, 0)
            self.emit(unit, rows)
            if self.program.windows.aggregates:
                self._time_moved()

    # ---------------------------------------------------------------- side

    def take_side(self, dropped: list[Dropped]) -> None:
        """Hands out what left its way."""
        for one in dropped:
            if self._record:
                kind = EventKind[one.kind.name]
                self._record((kind, self.now, self.now, "", "", one.where, 0, 0, 0))
            self._on_drop(one, self.now)
