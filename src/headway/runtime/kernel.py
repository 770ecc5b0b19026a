"""The discrete-event kernel: all nodes of a plan in one virtual time.

Happenings of one instant go in this order: operators that end, arrivals at sources, deliveries by
the network, timers; then free cores choose. Within a kind, the earlier scheduled goes first. A
unit without cost needs no processor: its job runs at once, where it is released, so a run in which
nothing costs anything is the meaning of the query, whatever the policy.

Two ways lead through an operator train. The fast one, when nothing can happen before its end: the
fused function runs and time jumps. The slow one steps from operator to operator and lets more
urgent jobs in between.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from typing import Any

from headway.model.plan import Plan
from headway.runtime.happenings import DECISION, FINISH, NEVER, Arrival
from headway.runtime.network import Network
from headway.runtime.operators.base import Dropped, Row
from headway.runtime.processor import Course, Processor, Ready, processors_of
from headway.runtime.short_ways import BACKLOG, RUN, ShortWays, make_ready
from headway.runtime.trace import EventKind, Trace
from headway.runtime.units import Flight, Program, Unit
from headway.runtime.watermarks import earliest
from headway.runtime.wires import BulkSink, Sink, Wire
from headway.schedule.online.policy import Policy

__all__ = ["Arrival", "Kernel"]

SLOTS = Ready._fields.index("slots")


class Kernel(ShortWays):
    """Runs a program in virtual time under a policy."""

    def __init__(
        self,
        plan: Plan,
        program: Program,
        policy: Policy,
        *,
        sinks: dict[str, Sink],
        on_drop: Callable[[Dropped, int], None],
        trace: Trace,
        partitioned: bool = False,
        bulk: dict[str, BulkSink] | None = None,
        batch_budget: int = 0,
    ) -> None:
        """``batch_budget``: how long (ns) waiting tuples of a train may run as one batch."""
        super().__init__(plan, program, sinks=sinks, on_drop=on_drop, trace=trace)
        self._events: list[tuple[int, int, int, Callable[[Any], None], Any]] = []
        self._next_arrival = NEVER
        self._source: Iterator[Arrival] = iter(())
        self._bulk = bulk or {}
        self._batch_budget = batch_budget
        self._preemptive = policy.preemptive
        on_frame = self._frame_begins if trace.kept else None
        self._network = Network(plan, lambda: self.now, self.at, self._deliver, on_frame)
        self._processors: list[Processor] = []
        for node in program.nodes.values():
            units = [unit for unit in program.units if unit.node == node.name]
            first = len(self._processors)
            self._processors += processors_of(node, units, first, partitioned=partitioned)
        by_unit = {unit.index: p for p in self._processors for unit in p.units}
        self._processor_of = [by_unit[unit.index] for unit in program.units]
        reached = {s for n in program.windows.order for s in program.graph.operators[n].streams}
        self._messages: dict[str, list[tuple[int, int, Flight]]] = {
            c.stream: [] for c in plan.crossings if c.stream in reached
        }
        """stream -> messages under way, where windows must wait for them"""
        self._waiting: dict[int, None] = {}
        """processors that may have something to choose"""
        self._lanes = {
            name: lane
            for name, wire in self._entrance.items()
            if (lane := self._lane_of(name, wire)) is not None
        }

    def _frame_begins(
        self, medium: str, stream: str, message: Any, time: int, place: int, count: int
    ) -> None:
        start, root = self.now, message[1]
        self.trace.events.append(
            (EventKind.FRAME, start, start + time, "", medium, stream, root, place, count)
        )

    # ---------------------------------------------------------------- time

    def at(self, time: int, kind: int, function: Callable[[Any], None], argument: Any) -> None:
        self._number += 1
        heappush(self._events, (time, kind, self._number, function, argument))

    def run(self, arrivals: Iterable[Arrival]) -> None:
        """Takes in all arrivals, in order of time, and runs until nothing is left to do."""
        source = self._source = iter(arrivals)
        self._take(source)
        self._drain(source)
        for unit, aggregate in self.program.windows.aggregates:
            self.emit_windows(unit, aggregate, aggregate.finish())
            self._drain(source)

    def _take(self, source: Iterator[Arrival]) -> None:
        self._arrival = next(source, None)
        self._next_arrival = NEVER if self._arrival is None else self._arrival[0]

    def _drain(self, source: Iterator[Arrival]) -> None:
        events = self._events
        waiting = self._waiting
        lanes = self._lanes
        while True:
            time = self._next_arrival
            if events and events[0][0] < time:
                time = events[0][0]
            if waiting and time > self.now:
                index = next(iter(waiting))
                del waiting[index]
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
                self.arrived += 1
                # Taken first, so that whoever handles this arrival knows when the next one comes.
                self._arrival = following = next(source, None)
                self._next_arrival = NEVER if following is None else following[0]
                _, name, row = arrival
                lane = lanes.get(name)
                if lane is None:
                    self.arrive(name, row)
                else:
                    self._arrive_by_lane(lane, row)
            while events and events[0][0] == time:
                _, _, _, function, argument = heappop(events)
                function(argument)

    # ---------------------------------------------------------------- network

    def send(self, wire: Wire, row: Row, root: int, late: bool) -> None:
        flights = self._messages.get(wire.stream)
        flight = None if flights is None else self.take_off(flights, row[0])
        if self._record:
            now, stream = self.now, wire.stream
            self._record((EventKind.SEND, now, now, wire.node, "", stream, root, 0, 0))
        self._network.send(wire.stream, (row, root, late, flight))

    def _deliver(self, stream: str, node: str, message: Any) -> None:
        row, root, late, flight = message
        self.receive(stream, node, row, root, late)
        if flight is not None and self._network.last_receiver[stream] == node:
            self.land(flight)

    def mark_between(self, stream: str, operator: str, mark: int | None) -> int | None:
        flights = self._messages.get(stream)
        oldest = earliest(flights) if flights else []
        return mark if mark is None or not oldest else min(mark, *oldest)

    # ---------------------------------------------------------------- running

    def queue(
        self, unit: Unit, port: str, row: Row, key: Any, root: int, late: bool, given: Any,
        flight: Flight | None,
    ) -> None:  # fmt: skip
        self._number += 1
        processor = self._processor_of[unit.index]
        job = (key, self._number, unit, port, row, root, late, given, flight, None, None)
        heappush(processor.ready, make_ready(Ready, job))
        if processor.free:
            self._waiting[processor.index] = None

    def _choose(self, processor: Processor) -> None:
        """Gives free cores the most urgent jobs, and runs them as far as nothing can happen."""
        ready = processor.ready
        waiting = self._waiting
        while ready and processor.free:
            if self._next_arrival <= self.now:
                waiting[processor.index] = None
                return
            waiting.pop(processor.index, None)
            job = heappop(ready)
            _, number, unit, port, row, root, late, given, flight, slots, _ = job
            self.decisions += 1
            start = self.now + processor.decision_cost + processor.penalty
            processor.penalty = 0
            whole = unit.whole
            fresh = whole is not None and slots is None and given is None
            if fresh and self._quiet(processor, start + unit.cost):
                assert whole is not None
                result, ran = whole.count(row)
                unit.ran[ran] += 1
                self.now = end = start + unit.spent[ran]
                if self._record:
                    place = processor.places[processor.free[0]]
                    self._record((RUN, start, end, unit.node, place, unit.name, number, 0, ran))
                if result is not None:
                    self.pass_on(self._exits[unit.index], result, root, late)
                elif whole.side:
                    self.take_side(whole.take_side())
                if flight is not None:
                    self.land(flight)
                continue
            core = processor.free.pop()
            if given is BACKLOG:
                self._run_batch(processor, core, job, start)
                continue
            if slots is not None:
                self._instant(EventKind.RESUME, processor, core, job)
            elif fresh:
                assert whole is not None
                course = Course(*whole.count(row))
                job = make_ready(Ready, (*job[:SLOTS], course, None))
            else:
                slots = self.slots(unit, port, row, root, late, given)
                job = job._replace(slots=slots, slot=next(slots))
            self._step(processor, core, job, start)

    def _quiet(self, processor: Processor, end: int) -> bool:
        """Whether nothing else happens before ``end``, nor at it but arrivals."""
        if end > self._next_arrival or self._waiting or processor.cores > 1:
            return False
        events = self._events
        return not events or events[0][0] > end

    def _step(self, processor: Processor, core: int, job: Ready, start: int) -> None:
        """Runs the job's operators one by one while nothing can happen before their end."""
        if isinstance(job.slots, Course):
            self._follow(processor, core, job, job.slots, start)
            return
        while True:
            assert job.slots is not None
            assert job.slot is not None
            operator, cost = job.slot
            end = start + cost
            if self._record:
                self._run_event(processor, core, job, start, end, operator, 1)
            if not self._quiet(processor, end):
                self.at(end, FINISH, self._slot_ends, (processor, core, job))
                return
            self.now = start = end
            following = next(job.slots, None)
            if following is None:
                self._end(processor, core, job)
                return
            job = job._replace(slot=following)
            if self._next_arrival <= self.now:
                self.at(self.now, DECISION, self._continue, (processor, core, job))
                return
            if self._should_yield(processor, job):
                self._preempt(processor, core, job)
                return

    def _follow(
        self, processor: Processor, core: int, job: Ready, course: Course, start: int
    ) -> None:
        """Like :meth:`_step`, for a train that is one fused function: as many of its operators at
        once as end before anything can happen, and the one that is under way then."""
        unit, first, ran = job.unit, course.done, course.ran
        spent, events = unit.spent, self._events
        begin = start - spent[first]
        if self._waiting or processor.cores > 1:
            done = first
        else:
            undisturbed = self._next_arrival
            if events and events[0][0] <= undisturbed:
                undisturbed = events[0][0] - 1
            done = bisect_right(spent, undisturbed - begin, first + 1, ran + 1) - 1
        under_way = done < ran and (done == first or begin + spent[done] != self._next_arrival)
        course.done = done + under_way
        end = begin + spent[course.done]
        if self._record and course.done > first:
            self._run_event(processor, core, job, start, end, first, course.done - first)
        if under_way:
            self.at(end, FINISH, self._slot_ends, (processor, core, job))
            return
        self.now = end
        if done < ran:
            self.at(end, DECISION, self._continue, (processor, core, job))
        else:
            self._end_course(processor, core, job, course)

    def _end_course(self, processor: Processor, core: int, job: Ready, course: Course) -> None:
        unit, whole = job.unit, job.unit.whole
        assert whole is not None
        unit.ran[course.ran] += 1
        if whole.side:
            self.take_side(whole.take_side())
        if course.result is not None:
            self.pass_on(self._exits[unit.index], course.result, job.root, job.late)
        self._end(processor, core, job)

    def _slot_ends(self, argument: tuple[Processor, int, Ready]) -> None:
        """An operator has ended at an instant at which other things happen too: go on after
        them."""
        processor, core, job = argument
        slots = job.slots
        assert slots is not None
        if isinstance(slots, Course):
            if slots.done == slots.ran:
                self._end_course(processor, core, job, slots)
                return
        else:
            following = next(slots, None)
            if following is None:
                self._end(processor, core, job)
                return
            job = job._replace(slot=following)
        events, now = self._events, self.now
        if self._next_arrival > now and not (events and events[0][0] <= now):
            self._continue((processor, core, job))  # nothing else happens at this instant
        else:
            self.at(now, DECISION, self._continue, (processor, core, job))

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
            self.land(job.flight)

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
        self._record((RUN, start, end, unit.node, place, unit.name, job.number, first, ran))

    def _instant(self, kind: EventKind, processor: Processor, core: int, job: Ready) -> None:
        if self._record:
            now, place, unit = self.now, processor.places[core], job.unit
            self._record((kind, now, now, unit.node, place, unit.name, job.number, 0, 0))
