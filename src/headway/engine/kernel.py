"""The kernel: what happens to tuples, whatever clock they are run by.

From top to bottom: a tuple *arrives* at a source, is checked and *enters*; it is *passed on* to
outputs, to units on its node and to other nodes; a unit that has what it needs is *released* as a
job; a job runs *operator by operator*, and its results are passed on. Timers and closed windows
release jobs too.

How time passes, and who runs next, is not decided here but by a :class:`TimeKeeper`: virtual time
with processors and buses (:mod:`headway.engine.virtual_time`), wall-clock time
(:mod:`headway.engine.wall_time`), or a run in which nothing costs anything
(:mod:`headway.engine.stepwise`).

A unit without cost needs no processor: its job runs at once, where it is released, so a run in
which nothing costs anything is the meaning of the query, whatever the policy.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from heapq import heappush
from typing import Any, Protocol

from headway.engine.declared_limits import Beyond, declared_arrivals, declared_results, watch_of
from headway.engine.ingest import Ingest
from headway.engine.jobs import (
    ARRIVAL,
    CLOCK,
    FRESH_TUPLE,
    HEAD_RESULT,
    MANDATORY,
    NEVER,
    TIMER,
    FreshTuple,
    GatheredBatch,
    HeadResult,
    ReadyJob,
    Slot,
    Slots,
    WaitingTuples,
    Work,
    make_job,
)
from headway.engine.operators.operator_base import DropKind, Dropped, StatefulOperator
from headway.engine.operators.user_defined import CustomOperator, Signal
from headway.engine.program import Flight, Flights, RunProgram, Unit
from headway.engine.trace import Event, EventKind, Trace
from headway.engine.watermarks import SourceMarks, Watermarks
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.model.query import Output
from headway.model.user_operator import Row

OUTPUT, MISS = int(EventKind.OUTPUT), int(EventKind.MISS)

Sink = Callable[[Row, int], None]
"""takes a tuple of an output and the time of its completion (ns)"""

BulkSink = Callable[[list[Row], int], None]
"""takes many tuples of an output that were completed at one time"""


class Outlet:
    """Where the tuples of a stream go from one node: outputs, units there, other nodes."""

    __slots__ = ("node", "output_names", "outputs", "passed", "sent", "stream", "units")

    def __init__(self, stream: str, node: str) -> None:
        self.stream, self.node = stream, node
        self.outputs: tuple[Sink, ...] = ()
        self.output_names: tuple[str, ...] = ()
        self.units: tuple[tuple[Unit, str], ...] = ()
        self.sent = False
        self.passed = 0
        """tuples so far"""


@dataclass(slots=True)
class Precision:
    """Pieces of optional parts that were done, of those asked for (HVLB_CC section 4.4)."""

    done: int = 0
    asked: int = 0


class TimeKeeper(Protocol):
    """How time passes: calls when a time has come, runs jobs, carries tuples between nodes."""

    def at(self, time: int, kind: int, function: Callable[[Any], None], argument: Any) -> None:
        """Calls the function when that time has come; ``kind`` orders what comes at one time."""

    def queue(self, job: ReadyJob) -> None:
        """A job with a cost is ready. Its number counts as taken once the job is queued."""

    def send(self, outlet: Outlet, row: Row, root: int, late: bool) -> None:
        """A tuple leaves for other nodes."""


class Gatekeeper(Protocol):
    """Looks at what enters the query."""

    def lets_in(self, source: str, row: Row, root: int, late: bool) -> bool:
        """Whether a tuple may enter; what becomes of one that may not is the gatekeeper's task."""


class Witness(Protocol):
    """Is told where values come from and where they go (:mod:`headway.engine.chain_watch`)."""

    def entered(self, source: str, timestamp: int, root: int) -> None: ...
    def read(self, sample: str, roots: Mapping[str, int], root: int, now: int) -> None: ...
    def completed(self, outlet: Outlet, root: int, now: int) -> None: ...


class Kernel:
    """Runs a program under a time keeper. ``sinks`` take the outputs by name, ``bulk`` many tuples
    at once where an output can take them so.

    ``eager`` looks whether windows can close every time that time moves. ``clock``, where time
    passes by itself, is read when a tuple is handed to an output. ``on_time_moved`` is called
    instead of closing windows at once, and ``source_marks`` tells how far the sources' time has
    come. ``watched`` counts what comes beyond the declared rates. ``in_items`` runs operators that
    allow it item by item; otherwise they are one call at the end of the items' time.
    """

    def __init__(
        self,
        plan: Plan,
        program: RunProgram,
        time: TimeKeeper,
        *,
        sinks: dict[str, Sink],
        on_drop: Callable[[Dropped, int], None],
        trace: Trace,
        bulk: dict[str, BulkSink] | None = None,
        eager: bool = False,
        clock: Callable[[], int] | None = None,
        on_time_moved: Callable[[], None] | None = None,
        source_marks: SourceMarks | None = None,
        watched: bool = True,
        in_items: bool = False,
    ) -> None:
        self.in_items = in_items
        self.now = 0
        self.program = program
        self.trace = trace
        self.record: Callable[[Event], None] | None = trace.events.append if trace.kept else None
        self.gatekeeper: Gatekeeper | None = None
        self.chain_watch: Witness | None = None
        self._at, self._send = time.at, time.send
        self.queue: Callable[[ReadyJob], None] = time.queue
        self._clock = clock
        self._on_drop = on_drop
        self._bulk = bulk or {}
        self.number = 0
        """of the last job, flight or timer"""
        self.roots = 0
        """tuples that have entered, and results that came without a new tuple"""
        self.gather_timers: dict[int, int] = {}
        """unit -> number of the timer of the batch it gathers"""
        self.late = False
        """the mark of the tuple that was last handed to an output"""
        self.arrived = 0
        self.timeouts = 0
        self.decisions = 0
        self.preemptions = 0
        self.refused = 0
        """jobs of hard paths that admission turned away"""
        self.precision: dict[str, Precision] = {}
        """of the streams of operators with an optional part"""
        graph = program.graph
        self.consumed = dict.fromkeys(graph.operators, 0)
        self.produced = dict.fromkeys((*graph.sources, *graph.operators), 0)
        """results passed on inside a train; those that left it are counted by the outlets"""
        self.ingests = {name: Ingest(source) for name, source in graph.sources.items()}
        for name, source in graph.sources.items():
            if watched:
                self.ingests[name].watch = watch_of(source)
        self._lay_outlets(plan, sinks)
        self.watermarks = Watermarks(
            program, self.ingests, self.emit_windows, source_marks=source_marks, eager=eager
        )
        self.time_moved = on_time_moved or self.watermarks.look

    def _lay_outlets(self, plan: Plan, sinks: dict[str, Sink]) -> None:
        graph, placement = self.program.graph, dict(plan.placement)
        crossing = {c.stream for c in plan.crossings}
        self._outlets: dict[tuple[str, str], Outlet] = {}
        for stream in (*graph.sources, *graph.operators):
            outlet = Outlet(stream, placement[stream])
            outlet.output_names = graph.outputs_of[stream]
            outlet.outputs = tuple(
                self._traced(graph.outputs[name], outlet.node, sinks[name])
                for name in graph.outputs_of[stream]
            )
            outlet.sent = stream in crossing
            self._outlets[stream, outlet.node] = outlet
        for (stream, node), units in self.program.entering.items():
            outlet = self._outlets.setdefault((stream, node), Outlet(stream, node))
            outlet.units = tuple(units)
        self.entrances = {name: self._outlets[name, placement[name]] for name in graph.sources}
        self.exits = [self._outlets[unit.stream, unit.node] for unit in self.program.units]
        """by the index of the unit"""

    def _traced(self, output: Output, node: str, sink: Sink) -> Sink:
        """The sink; if a trace is kept, one that also notes outputs and missed deadlines."""
        record, name, deadline = self.record, output.name, output.deadline or 0
        if record is None:
            return sink

        def take(row: Row, completed: int) -> None:
            sink(row, completed)
            record((OUTPUT, completed, completed, node, "", name, 0, 0, 0))
            if completed > row[0] * MICROSECOND + deadline:
                record((MISS, completed, completed, node, "", name, 0, 0, 0))

        return take

    # ---------------------------------------------------------------- entering

    def arrive(self, name: str, row: Any) -> None:
        """A tuple reaches a source."""
        ingest = self.ingests[name]
        if ingest.watch is not None:
            ingest.watch.arrived(self.now)
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
                self._at(due, ARRIVAL, self.release_shed, name)
        if self.program.windows:
            self.time_moved()

    def release_shed(self, name: str) -> None:
        """What a source's shedder held back until now enters."""
        for row, late in self.ingests[name].release(self.now):
            self.enter(name, row, late)
        if self.program.windows:
            self.time_moved()

    def enter(self, source: str, row: Row, late: bool) -> None:
        """A tuple that passed the entrance goes into the query."""
        self.roots = root = self.roots + 1
        if self.chain_watch is not None:
            self.chain_watch.entered(source, row[0], root)
        if self.gatekeeper is None or self.gatekeeper.lets_in(source, row, root, late):
            self.pass_on(self.entrances[source], row, root, late)

    # ---------------------------------------------------------------- passing on

    def pass_on(self, outlet: Outlet, row: Row, root: int, late: bool) -> None:
        """A tuple appears on a stream: to outputs, to units on this node, to other nodes."""
        outlet.passed += 1
        if outlet.outputs:
            if self._clock is not None:  # a tuple is completed when it is handed over
                self.now = self._clock()
            self.late = late
            for sink in outlet.outputs:
                sink(row, self.now)
            if self.chain_watch is not None:
                self.chain_watch.completed(outlet, root, self.now)
        for unit, port in outlet.units:  # as in `offer`, without a call: this is the hot path
            if unit.sampling is not None:
                self._hold(unit, port, row, root, late)
            elif unit.gathering is None:
                self.release(unit, port, row, row[0], root, late, FRESH_TUPLE)
            else:
                self._gather(unit, port, row, root, late)
        if outlet.sent:
            self._send(outlet, row, root, late)

    def pass_on_many(self, outlet: Outlet, rows: list[Row], root: int) -> None:
        """Like :meth:`pass_on`, for the results of a batch, none of them late."""
        outlet.passed += len(rows)
        for name, sink in zip(outlet.output_names, outlet.outputs, strict=True):
            many = self._bulk.get(name)
            if many is not None:
                many(rows, self.now)
            else:
                for row in rows:
                    sink(row, self.now)
        if outlet.units or outlet.sent:
            for row in rows:
                for unit, port in outlet.units:
                    self.offer(unit, port, row, root, False)
                if outlet.sent:
                    self._send(outlet, row, root, False)

    def receive(self, stream: str, node: str, row: Row, root: int, late: bool) -> None:
        """A tuple of another node's stream has come."""
        if self.record:
            self.record((EventKind.RECEIVE, self.now, self.now, node, "", stream, root, 0, 0))
        for unit, port in self._outlets[stream, node].units:
            self.offer(unit, port, row, root, late)

    def offer(self, unit: Unit, port: str, row: Row, root: int, late: bool) -> None:
        """A tuple comes to a unit."""
        if unit.sampling is not None:
            self._hold(unit, port, row, root, late)
        elif unit.gathering is None:
            self.release(unit, port, row, row[0], root, late, FRESH_TUPLE)
        else:
            self._gather(unit, port, row, root, late)

    # ---------------------------------------------------------------- releasing

    def release(
        self, unit: Unit, port: str, row: Row, timestamp: int, root: int, late: bool, work: Work
    ) -> None:
        """A job becomes ready: at once if it costs nothing, else it queues by its policy's key."""
        if unit.free:
            self._run_free(unit, port, row, timestamp, root, late, work)
            return
        flight = None if unit.flights is None else self.take_off(unit.flights, timestamp)
        key = unit.key(timestamp * MICROSECOND, root)
        number = self.number + 1
        self.queue(
            make_job(ReadyJob, (key, number, unit, port, row, root, late, work, flight, None))
        )

    def _run_free(
        self, unit: Unit, port: str, row: Row, timestamp: int, root: int, late: bool, work: Work
    ) -> None:
        """A job that takes no time."""
        whole = unit.whole
        if whole is not None:
            # Stateless: one call. Whatever holds the tuple back from windows does so until it is
            # through.
            result, ran = whole.count(row)
            unit.ran[ran] += 1
            if result is not None:
                self.pass_on(self.exits[unit.index], result, root, late)
            elif whole.side:
                self.take_side(whole.take_side())
            return
        flight = None if unit.flights is None else self.take_off(unit.flights, timestamp)
        for _ in self.slots(unit, port, row, root, late, work):
            pass
        if flight is not None:
            # No time has passed: windows look when the whole arrival or timer is through, or
            # which consumer of a stream is served first would decide what closes before it.
            flight.landed = True

    def _gather(self, unit: Unit, port: str, row: Row, root: int, late: bool) -> None:
        """A tuple comes to a unit whose head gathers a batch."""
        assert unit.gathering is not None
        self.consumed[unit.head.name] += 1
        if unit.oldest is None or (row[0], late) < unit.oldest:
            unit.oldest = (row[0], late)
        signal = unit.gathering.offer(port, row)
        if signal is Signal.FIRST:
            self.number += 1
            self.gather_timers[unit.index] = self.number
            due = self.now + (unit.head.timeout or 0)
            self._at(due, TIMER, self.gather_timeout, (unit, self.number, root))
        elif signal is Signal.READY:
            self.gather_timers.pop(unit.index, None)
            self._release_batch(unit, root, timed_out=False)

    def gather_timeout(self, argument: tuple[Unit, int, int]) -> None:
        """The timer of a batch is over: it is released as it is, unless that has been done."""
        unit, number, root = argument
        if self.gather_timers.get(unit.index) != number:
            return
        del self.gather_timers[unit.index]
        self._timed_out(unit, root)
        self._release_batch(unit, root, timed_out=True)
        if self.program.windows.aggregates:
            self.time_moved()

    def _hold(self, unit: Unit, port: str, row: Row, root: int, late: bool) -> None:
        """A tuple comes to a unit whose head reads at the instants of a clock: it takes the place
        of the one before it, without any time of the processor."""
        assert unit.sampling is not None
        self.consumed[unit.head.name] += 1
        if unit.sampling.hold(port, row, self.now, late, root):
            self._next_instant(unit)

    def _next_instant(self, unit: Unit) -> None:
        assert unit.sampling is not None
        number = unit.sampling.next
        if number is not None:
            self._at(unit.sampling.clock.instant(number), CLOCK + unit.place, self.instant, unit)

    def instant(self, unit: Unit) -> None:
        """An instant of a unit's clock: what is held is read and goes to work."""
        assert unit.sampling is not None
        reading = unit.sampling.read()
        self._next_instant(unit)
        if reading is not None:
            self.roots += 1
            if self.chain_watch is not None:
                self.chain_watch.read(unit.head.name, reading.roots, self.roots, self.now)
            batch = GatheredBatch(reading.rows, False)
            oldest = reading.oldest
            self.release(unit, "", (oldest,), oldest, self.roots, reading.late, batch)
        if self.program.windows.aggregates:
            self.time_moved()

    def _release_batch(self, unit: Unit, root: int, *, timed_out: bool) -> None:
        assert unit.gathering is not None
        assert unit.oldest is not None
        oldest, late = unit.oldest
        unit.oldest = None
        batch = GatheredBatch(unit.gathering.take(), timed_out)
        self.release(unit, "", (oldest,), oldest, root, late, batch)

    # ---------------------------------------------------------------- running

    def slots(self, unit: Unit, port: str, row: Row, root: int, late: bool, work: Work) -> Slots:
        """Runs a job operator by operator: yields (operator, its time, whether it is optional);
        what the operator does happens when the caller comes back, at the end of that time.

        Results go through the rest of the train depth first, each to its end before the next.
        """
        steps, times = unit.steps, unit.times
        pending: list[tuple[int, Row, bool]] = []
        """(step, a tuple before it, its mark)"""
        match work:
            case FreshTuple():
                pending.append((0, row, late))
            case HeadResult():
                yield 0, unit.costs[0] if times is None else times.of_tuple(0), MANDATORY
                pending.append((1, row, late))
            case GatheredBatch():
                assert unit.custom is not None
                custom = unit.custom
                if self.in_items and unit.by_items and isinstance(custom, CustomOperator):
                    rows = yield from self._items(unit, custom, work)
                else:
                    base = unit.base_cost if times is None else times.of_batch()
                    if unit.between_items and not self.in_items:
                        yield 0, base, MANDATORY
                        for _ in range(work.items):
                            yield 0, unit.item_cost, MANDATORY
                    else:
                        yield 0, base + work.items * unit.item_cost, MANDATORY
                    rows = custom.execute(work.rows, self.now, work.timed_out)
                if unit.refining is not None and unit.refining.place == 0 and rows:
                    assert isinstance(custom, CustomOperator)
                    rows = yield from self._refined(unit, custom, rows, alone=True)
                pending += self._results(unit, custom, 0, rows, row[0], late)
            case WaitingTuples():
                raise AssertionError("tuples that wait for a batch are run by the fast path")
        if work is not FRESH_TUPLE and len(steps) > 1:
            self.produced[unit.operators[0]] += len(pending)
        exit_outlet = self.exits[unit.index]
        while pending:
            index, row, late = pending.pop()
            if index == len(steps):
                self.pass_on(exit_outlet, row, root, late)
                continue
            step = steps[index]
            name = unit.operators[step.first]
            self.consumed[name] += 1
            yield (
                step.first,
                step.costs[0] if times is None else times.of_tuple(step.first),
                MANDATORY,
            )
            if step.fused is None:
                operator = step.stateful
                assert operator is not None
                rows = operator.accept(port if index == 0 else step.port, row, self.now, late)
                if unit.refining is not None and unit.refining.place == step.first and rows:
                    assert isinstance(operator, CustomOperator)
                    rows = yield from self._refined(unit, operator, rows, alone=not pending)
                pending += self._results(unit, operator, index, rows, row[0], late)
                if index + 1 < len(steps):
                    self.produced[name] += len(rows)
                continue
            out, ran = step.fused.count(row)
            for offset in range(1, ran):
                self.produced[name] += 1
                name = unit.operators[step.first + offset]
                self.consumed[name] += 1
                place = step.first + offset
                yield (
                    place,
                    step.costs[offset] if times is None else times.of_tuple(place),
                    MANDATORY,
                )
            if step.fused.side:
                self.take_side(step.fused.take_side())
            if out is not None:
                if index + 1 < len(steps):
                    self.produced[name] += 1
                pending.append((index + 1, out, late))

    def _items(
        self, unit: Unit, custom: CustomOperator, work: GatheredBatch
    ) -> Generator[Slot, bool | None, list[Row]]:
        """Runs a gathered batch piece by piece. How many pieces there are is up to the class; those
        beyond the items that were counted declare no time of their own."""
        yield 0, unit.base_cost, MANDATORY
        pieces = custom.execute_in_items(work.rows, self.now, work.timed_out)
        items = work.items
        while True:
            try:
                next(pieces)
            except StopIteration as ended:
                rows: list[Row] = ended.value
                return rows
            yield 0, unit.item_cost if items > 0 else 0, MANDATORY
            items -= 1

    def _refined(
        self, unit: Unit, operator: CustomOperator, rows: list[Row], *, alone: bool
    ) -> Generator[Slot, bool | None, list[Row]]:
        """The optional part: the rows wait for it, piece by piece, until it is done or cut. It is
        left out where another tuple of the job still has something mandatory before it. What the
        operator has dropped does not wait."""
        refining, done = unit.refining, 0
        assert refining is not None
        if operator.side:
            self.take_side(operator.take_side())
        if alone:
            until = min(row[0] for row in rows) * MICROSECOND + unit.task.relative_deadline
            better = operator.refine(rows, self.now)
            while done < refining.pieces:
                if (yield refining.place, refining.piece, until):
                    break
                found = next(better, None)
                if found is None:  # there was less to do than declared
                    done = refining.pieces
                    break
                rows, done = found, done + 1
        count = self.precision.setdefault(unit.stream, Precision())
        count.done += done
        count.asked += refining.pieces
        return rows

    def _results(
        self,
        unit: Unit,
        operator: StatefulOperator,
        index: int,
        rows: list[Row],
        oldest: int,
        late: bool,
    ) -> list[tuple[int, Row, bool]]:
        """The results of a stateful step, for what follows it, the first one last; also hands out
        what it dropped and starts its timers.

        What a user's class gives a timestamp older than all it was given may be older than the
        windows after it still wait for: then it is marked late here, as a source's would be, so
        that what becomes of it depends on nothing but the order of arrival."""
        if operator.side:
            self.take_side(operator.take_side())
        for due, token in operator.take_timers():
            self._at(due, TIMER, self.expire, (unit, operator, token))
        late_before = -NEVER
        own = operator.own_timestamps and unit.flights is not None and not late
        if own and rows and min(row[0] for row in rows) < oldest:
            mark = self.watermarks.of_stream(operator.name)
            late_before = -NEVER if mark is None else mark
        return [(index + 1, row, late or row[0] < late_before) for row in reversed(rows)]

    def take_off(self, flights: Flights, timestamp: int) -> Flight:
        """Notes that a job or message is under way: windows after it must wait for it."""
        flight = Flight()
        self.number += 1
        heappush(flights, (timestamp, self.number, flight))
        return flight

    def land(self, flight: Flight) -> None:
        """A job or message is done; windows may have waited for it only."""
        flight.landed = True
        if self.program.windows.aggregates:
            self.time_moved()

    # ---------------------------------------------------------------- without a new tuple

    def expire(self, argument: tuple[Unit, StatefulOperator, int]) -> None:
        """A timer of a stateful head is over."""
        unit, operator, token = argument
        if rows := operator.expire(token, self.now):
            self._timed_out(unit, 0)
            self._emit(unit, rows)
            if self.program.windows.aggregates:
                self.time_moved()

    def emit_windows(self, unit: Unit, aggregate: StatefulOperator, rows: list[Row]) -> None:
        """Results of windows that closed; those that failed go to the side."""
        if aggregate.side:
            self.take_side(aggregate.take_side())
        self._emit(unit, rows)

    def _emit(self, unit: Unit, rows: list[Row]) -> None:
        for row in rows:
            self.roots += 1
            self.release(unit, "", row, row[0], self.roots, False, HEAD_RESULT)

    def _timed_out(self, unit: Unit, root: int) -> None:
        self.timeouts += 1
        if self.record:
            now, name = self.now, unit.head.name
            self.record((EventKind.TIMEOUT, now, now, unit.node, "", name, root, 0, 0))

    def lose(self, job: ReadyJob, reason: str) -> None:
        """A job that has not begun is shed: every tuple of it is listed, of a gathering all that
        were gathered, and windows no longer wait for it."""
        work, head = job.work, job.unit.operators[0]
        lost = [(job.port, job.row)]
        if isinstance(work, GatheredBatch):
            lost = [(port, row) for port, rows in work.rows.items() for row in rows]
        elif work is FRESH_TUPLE:
            self.consumed[head] += 1  # of what was gathered it is known already
        self.take_side([Dropped(head, DropKind.SHED, row, reason, port) for port, row in lost])
        if job.flight is not None:
            job.flight.landed = True

    def take_side(self, dropped: list[Dropped]) -> None:
        """Hands out what left its way."""
        for one in dropped:
            if self.record:
                kind = EventKind[one.kind.name]
                self.record((kind, self.now, self.now, "", "", one.where, 0, 0, 0))
            self._on_drop(one, self.now)

    # ---------------------------------------------------------------- what came of it

    def exceeded(self) -> tuple[Beyond, ...]:
        """Who went beyond what the query declares, and by how much."""
        graph = self.program.graph
        found = [
            Beyond(name, declared_arrivals(graph.sources[name]), watch.beyond)
            for name, ingest in self.ingests.items()
            if (watch := ingest.watch) is not None and watch.beyond
        ]
        found += [
            Beyond(name, declared_results(graph.operators[name]), operator.beyond)
            for name, operator in self.program.stateful.items()
            if operator.beyond
        ]
        return tuple(found)

    def output_precision(self) -> dict[str, Precision]:
        """Of the outputs whose stream has an optional part."""
        outputs = self.program.graph.outputs.items()
        return {n: self.precision[o.stream] for n, o in outputs if o.stream in self.precision}

    def passed(self) -> dict[str, int]:
        """How many tuples each source let in and each train put out, by stream."""
        found: dict[str, int] = {}
        for outlet in self._outlets.values():
            found[outlet.stream] = found.get(outlet.stream, 0) + outlet.passed
        return found
