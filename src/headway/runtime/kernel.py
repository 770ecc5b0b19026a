"""The discrete-event kernel: all nodes of a plan in one virtual time.

Happenings of one instant go in this order: operators that end, arrivals at sources, deliveries by
the network, timers; then free cores choose. Within a kind, the earlier scheduled goes first. A
unit without cost needs no processor: its job runs at once, where it is released, so a run in
which nothing costs anything is the meaning of the query, whatever the policy.

Two ways lead through an operator train. The fast one, when nothing can happen before its end: the
fused function runs and time jumps. The slow one steps from operator to operator and lets more
urgent jobs in between."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from typing import Any, NamedTuple

from headway.model.plan import Plan
from headway.model.time import MICROSECOND
from headway.runtime.ingest import Ingest
from headway.runtime.network import Network
from headway.runtime.operators.base import Dropped, Row
from headway.runtime.operators.gather import Signal
from headway.runtime.processor import Processor, Ready, processors_of
from headway.runtime.trace import EventKind, Trace
from headway.runtime.units import Aggregating, Flight, Program, Unit
from headway.schedule.online import Policy

NEVER = 1 << 62
FINISH, ARRIVAL, TIMER, DECISION = 0, 1, 3, 4


class Arrival(NamedTuple):
    """A tuple reaches a source at ``time`` (ns)."""

    time: int
    source: str
    row: Row


class Kernel:
    """Runs a program. Whoever wants outputs gives ``on_output(output, row, completed)``."""

    def __init__(
        self,
        plan: Plan,
        program: Program,
        policy: Policy,
        *,
        on_output: Callable[[str, Row, int], None],
        on_drop: Callable[[Dropped, int], None],
        trace: Trace,
        partitioned: bool = False,
    ) -> None:
        self.now = 0
        self.program = program
        self.trace = trace
        self._events: list[tuple[int, int, int, Callable[[Any], None], Any]] = []
        self._number = 0
        self._roots = 0
        self._next_arrival = NEVER
        self._on_output, self._on_drop = on_output, on_drop
        self._record = trace.events.append if trace.kept else None
        self._preemptive = policy.preemptive
        self._placement = dict(plan.placement)
        graph = program.graph
        self._outputs_of = graph.outputs_of
        self._ingests = {name: Ingest(source) for name, source in graph.sources.items()}
        self._network = Network(plan, lambda: self.now, self._at, self._deliver_message)
        self._timers: dict[int, int] = {}
        self._processors: list[Processor] = []
        self._processor_of: list[Processor] = []
        for node in program.nodes.values():
            units = [unit for unit in program.units if unit.node == node.name]
            self._processors += processors_of(
                node, units, len(self._processors), partitioned=partitioned
            )
        by_unit = {unit.index: p for p in self._processors for unit in p.units}
        self._processor_of = [by_unit[unit.index] for unit in program.units]
        self._waiting: dict[int, None] = {}
        """processors that may have something to choose"""
        self.preemptions = 0
        self.decisions = 0
        self.timeouts = 0
        self.consumed: dict[str, int] = dict.fromkeys(graph.operators, 0)
        self.produced: dict[str, int] = dict.fromkeys((*graph.sources, *graph.operators), 0)

    # ---------------------------------------------------------------- time

    def _at(self, time: int, kind: int, function: Callable[[Any], None], argument: Any) -> None:
        self._number += 1
        heappush(self._events, (time, kind, self._number, function, argument))

    def run(self, arrivals: Iterable[Arrival]) -> None:
        """Takes in all arrivals, in order of time, and runs until nothing is left to do."""
        source = iter(arrivals)
        self._take(source)
        for aggregating in [*self.program.aggregates, None]:
            self._drain(source)
            if aggregating is not None:
                self._emit(aggregating.unit, aggregating.operator.finish())

    def _take(self, source: Iterator[Arrival]) -> None:
        self._arrival = next(source, None)
        self._next_arrival = NEVER if self._arrival is None else self._arrival.time

    def _drain(self, source: Iterator[Arrival]) -> None:
        events = self._events
        while True:
            time = self._next_arrival
            if events and events[0][0] < time:
                time = events[0][0]
            if self._waiting and time > self.now:
                index = next(iter(self._waiting))
                del self._waiting[index]
                self._choose(self._processors[index])
                continue
            if time == NEVER:
                return
            self.now = time
            while events and events[0][0] == time and events[0][1] == FINISH:
                _, _, _, function, argument = heappop(events)
                function(argument)
            while self._next_arrival <= time:
                arrival = self._arrival
                assert arrival is not None
                self._arrive(arrival)
                self._take(source)
            while events and events[0][0] == time:
                _, _, _, function, argument = heappop(events)
                function(argument)

    # ---------------------------------------------------------------- entering

    def _arrive(self, arrival: Arrival) -> None:
        name = arrival.source
        ingest = self._ingests[name]
        entering = ingest.offer(arrival.row, self.now)
        if ingest.side:
            self._take_side(ingest.take_side())
        for row, late in entering:
            self._enter(name, row, late)
        shedder = ingest.shedder
        if shedder is not None:
            if shedder.side:
                self._take_side(shedder.take_side())
            due = shedder.due()
            if due is not None and due not in self._timers:
                self._timers[due] = 0
                self._at(due, ARRIVAL, self._release_shed, name)
        if self.program.aggregates:
            self._tell_watermarks(name)

    def _release_shed(self, name: str) -> None:
        self._timers.pop(self.now, None)
        for row, late in self._ingests[name].release(self.now):
            self._enter(name, row, late)
        if self.program.aggregates:
            self._tell_watermarks(name)

    def _enter(self, source: str, row: Row, late: bool) -> None:
        self._roots += 1
        self._pass_on(source, self._placement[source], row, self._roots, late)

    def _pass_on(self, stream: str, node: str, row: Row, root: int, late: bool) -> None:
        """A tuple appears on a stream: to outputs, to units on this node, to other nodes."""
        self.produced[stream] += 1
        for output in self._outputs_of[stream]:
            self._on_output(output, row, self.now)
        for unit, port in self.program.entering.get((stream, node), ()):
            self._release(unit, port, row, root, late)
        if stream in self._network.first:
            flight = self._take_off(self._beyond(stream), row[0])
            if self._record:
                self._record((EventKind.SEND, self.now, self.now, node, "", stream, root, 0, 0))
            self._network.send(stream, (row, root, late, flight))

    def _beyond(self, stream: str) -> tuple[Aggregating, ...]:
        """The aggregates that a stream reaches on other nodes."""
        if not self.program.aggregates:
            return ()
        found: dict[int, Aggregating] = {}
        for (name, _), units in self.program.entering.items():
            if name == stream:
                for unit, _ in units:
                    found |= {id(a): a for a in unit.watched}
        return tuple(found.values())

    def _deliver_message(self, stream: str, node: str, message: Any) -> None:
        row, root, late, flight = message
        if self._record:
            self._record((EventKind.RECEIVE, self.now, self.now, node, "", stream, root, 0, 0))
        for unit, port in self.program.entering.get((stream, node), ()):
            self._release(unit, port, row, root, late)
        self._land(flight)

    # ---------------------------------------------------------------- releasing

    def _release(self, unit: Unit, port: str, row: Row, root: int, late: bool) -> None:
        gathering = unit.gathering
        if gathering is None:
            self._push(unit, port, row, row[0], root, late, None)
            return
        self.consumed[unit.head.name] += 1
        signal = gathering.offer(port, row)
        if signal is Signal.FIRST:
            self._number += 1
            self._timers[unit.index] = self._number
            due = self.now + (unit.head.timeout or 0)
            self._at(due, TIMER, self._gather_timeout, (unit, self._number, root))
        elif signal is Signal.READY:
            self._timers.pop(unit.index, None)
            self._push_batch(unit, root, timed_out=False)

    def _gather_timeout(self, argument: tuple[Unit, int, int]) -> None:
        unit, number, root = argument
        if self._timers.get(unit.index) != number:
            return
        del self._timers[unit.index]
        self.timeouts += 1
        if self._record:
            self._record(
                (EventKind.TIMEOUT, self.now, self.now, unit.node, "", unit.head.name, root, 0, 0)
            )
        self._push_batch(unit, root, timed_out=True)

    def _push_batch(self, unit: Unit, root: int, *, timed_out: bool) -> None:
        assert unit.gathering is not None
        batch = unit.gathering.take()
        oldest = min(row[0] for rows in batch.values() for row in rows)
        self._push(unit, "", (oldest,), oldest, root, False, (batch, timed_out))

    def _emit(self, unit: Unit, rows: list[Row]) -> None:
        """Results that a stateful head gives without a new tuple: closed windows, timeouts."""
        for row in rows:
            self._roots += 1
            self._push(unit, "", row, row[0], self._roots, False, (row,))

    def _push(
        self, unit: Unit, port: str, row: Row, timestamp: int, root: int, late: bool, given: Any
    ) -> None:
        """A job becomes ready. ``given`` is a gathered batch, or a result of the head to go on
        with."""
        flight = self._take_off(unit.watched, timestamp) if unit.watched else None
        self._number += 1
        if unit.cost == 0 and unit.base_cost == 0 and unit.item_cost == 0:
            for _ in self._slots(unit, port, row, root, late, given):
                pass
            if flight is not None:
                self._land(flight)
            return
        key = unit.key(timestamp * MICROSECOND, root)
        processor = self._processor_of[unit.index]
        heappush(
            processor.ready,
            Ready(key, self._number, unit, port, row, root, late, given, flight),
        )
        if processor.free:
            self._waiting[processor.index] = None

    # ---------------------------------------------------------------- running

    def _choose(self, processor: Processor) -> None:
        """Gives free cores the most urgent jobs, and runs them as far as nothing can happen."""
        ready = processor.ready
        while ready and processor.free:
            if self._next_arrival <= self.now:
                self._waiting[processor.index] = None
                return
            job = heappop(ready)
            self.decisions += 1
            start = self.now + processor.decision_cost + processor.penalty
            processor.penalty = 0
            unit = job.unit
            whole = unit.whole
            if (
                whole is not None
                and job.slots is None
                and job.given is None
                and self._quiet(processor, start + unit.cost)
            ):
                row, ran = whole.count(job.row)
                unit.ran[ran] += 1
                self.now = end = start + unit.spent[ran]
                if self._record:
                    self._run_event(processor, 0, job, start, end, 0, ran)
                if row is not None:
                    self._pass_on(unit.stream, unit.node, row, job.root, job.late)
                elif whole.side:
                    self._take_side(whole.take_side())
                if job.flight is not None:
                    self._land(job.flight)
                continue
            core = processor.free.pop()
            if job.slots is not None:
                self._instant(EventKind.RESUME, processor, core, job)
                self._step(processor, core, job, start)
                continue
            slots = self._slots(unit, job.port, job.row, job.root, job.late, job.given)
            job = job._replace(slots=slots, slot=next(slots))
            self._step(processor, core, job, start)

    def _quiet(self, processor: Processor, end: int) -> bool:
        """Whether nothing else happens before ``end``, nor at it but arrivals."""
        events = self._events
        return (
            end <= self._next_arrival
            and not (events and events[0][0] <= end)
            and not self._waiting
            and processor.cores == 1
        )

    def _step(self, processor: Processor, core: int, job: Ready, start: int) -> None:
        """Runs the job's operators one by one while nothing can happen before their end."""
        while True:
            assert job.slots is not None
            assert job.slot is not None
            operator, cost = job.slot
            end = start + cost
            if self._record:
                self._run_event(processor, core, job, start, end, operator, 1)
            if not self._quiet(processor, end):
                self._at(end, FINISH, self._slot_ends, (processor, core, job))
                return
            self.now = start = end
            following = next(job.slots, None)
            if following is None:
                self._end(processor, core, job)
                return
            job = job._replace(slot=following)
            if self._next_arrival <= self.now:
                self._at(self.now, DECISION, self._continue, (processor, core, job))
                return
            if self._should_yield(processor, job):
                self._preempt(processor, core, job)
                return

    def _slot_ends(self, argument: tuple[Processor, int, Ready]) -> None:
        """An operator has ended at an instant at which other things happen too: go on after
        them."""
        processor, core, job = argument
        assert job.slots is not None
        following = next(job.slots, None)
        if following is None:
            self._end(processor, core, job)
        else:
            job = job._replace(slot=following)
            self._at(self.now, DECISION, self._continue, (processor, core, job))

    def _continue(self, argument: tuple[Processor, int, Ready]) -> None:
        processor, core, job = argument
        if self._should_yield(processor, job):
            self._preempt(processor, core, job)
        else:
            self._step(processor, core, job, self.now)

    def _end(self, processor: Processor, core: int, job: Ready) -> None:
        processor.free.append(core)
        self._waiting[processor.index] = None
        if job.flight is not None:
            self._land(job.flight)

    def _should_yield(self, processor: Processor, job: Ready) -> bool:
        ready = processor.ready
        return self._preemptive and bool(ready) and bool(ready[0].key < job.key)

    def _preempt(self, processor: Processor, core: int, job: Ready) -> None:
        self.preemptions += 1
        self._instant(EventKind.PREEMPT, processor, core, job)
        processor.penalty += processor.preemption_cost
        heappush(processor.ready, job)
        processor.free.append(core)
        self._waiting[processor.index] = None

    def _run_event(
        self,
        processor: Processor,
        core: int,
        job: Ready,
        start: int,
        end: int,
        first: int,
        ran: int,
    ) -> None:
        assert self._record is not None
        place, unit = processor.places[core], job.unit
        self._record(
            (EventKind.RUN, start, end, unit.node, place, unit.name, job.number, first, ran)
        )

    def _instant(self, kind: EventKind, processor: Processor, core: int, job: Ready) -> None:
        if self._record:
            now, place, unit = self.now, processor.places[core], job.unit
            self._record((kind, now, now, unit.node, place, unit.name, job.number, 0, 0))

    def _slots(
        self, unit: Unit, port: str, row: Row, root: int, late: bool, given: Any
    ) -> Iterator[tuple[int, int]]:
        """Runs a job operator by operator: yields (operator, its time); what the operator does
        happens when the caller comes back, at the end of that time.

        Results go through the rest of the train depth first, each to its end before the next.
        """
        steps = unit.steps
        pending: list[tuple[int, Row]] = []
        if given is None:
            pending.append((0, row))
        elif len(given) == 1:  # a result of the head: its time is still to be spent
            yield 0, unit.costs[0]
            pending.append((1, given[0]))
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
            pending += [(1, out) for out in reversed(rows)]
        while pending:
            index, row = pending.pop()
            if index == len(steps):
                self._pass_on(unit.stream, unit.node, row, root, late)
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
                pending += [(index + 1, out) for out in reversed(rows)]
                continue
            out, ran = step.fused.count(row)
            if step.fused.side:
                self._take_side(step.fused.take_side())
            for offset in range(1, ran):
                self.produced[name] += 1
                name = unit.operators[step.first + offset]
                self.consumed[name] += 1
                yield step.first + offset, step.costs[offset]
            if out is not None:
                if index + 1 < len(steps):
                    self.produced[name] += 1
                pending.append((index + 1, out))

    def _after_stateful(self, unit: Unit, operator: Any) -> None:
        if operator.side:
            self._take_side(operator.take_side())
        for due, token in operator.take_timers():
            self._at(due, TIMER, self._expire, (unit, operator, token))

    def _expire(self, argument: tuple[Unit, Any, int]) -> None:
        unit, operator, token = argument
        rows = operator.expire(token, self.now)
        if rows:
            self.timeouts += 1
            if self._record:
                self._record(
                    (EventKind.TIMEOUT, self.now, self.now, unit.node, "", unit.head.name, 0, 0, 0)
                )
            self._emit(unit, rows)

    # ---------------------------------------------------------------- watermarks

    def _take_off(self, watched: tuple[Aggregating, ...], timestamp: int) -> Flight | None:
        """Notes that a job or message is under way to aggregates."""
        if not watched:
            return None
        flight = Flight()
        self._number += 1
        for aggregating in watched:
            heappush(aggregating.flights, (timestamp, self._number, flight))
        return flight

    def _land(self, flight: Flight | None) -> None:
        if flight is not None:
            flight.landed = True
            self._tell_watermarks(None)

    def _tell_watermarks(self, source: str | None) -> None:
        """Closes the windows that nothing can reach any more."""
        for aggregating in self.program.aggregates:
            if source is not None and source not in aggregating.sources:
                continue
            marks = [self._ingests[name].watermark for name in aggregating.sources]
            known = [mark for mark in marks if mark is not None]
            if len(known) < len(marks):
                continue
            watermark = min(known)
            flights = aggregating.flights
            while flights and flights[0][2].landed:
                heappop(flights)
            if flights:
                watermark = min(watermark, flights[0][0])
            if aggregating.told is None or watermark > aggregating.told:
                aggregating.told = watermark
                rows = aggregating.operator.advance(watermark)
                if aggregating.operator.side:
                    self._take_side(aggregating.operator.take_side())
                if rows:
                    self._emit(aggregating.unit, rows)

    # ---------------------------------------------------------------- side

    def _take_side(self, dropped: list[Dropped]) -> None:
        for one in dropped:
            if self._record:
                kind = EventKind[one.kind.name]
                self._record((kind, self.now, self.now, "", "", one.where, 0, 0, 0))
            self._on_drop(one, self.now)
