"""The kernel of wall-clock time: the same rules, but operators really take their time.

One thread runs everything here. It takes in what is due (arrivals, messages, timers), then runs the
most urgent job, operator by operator; after each operator it takes in again and lets a more urgent
job go first. Other threads only leave things in the inbox. A node with several cores is run by one
thread as well: Python would not use more.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from typing import Any

from headway.model.plan import Plan
from headway.runtime.clock import Pace
from headway.runtime.core import Core
from headway.runtime.happenings import NEVER, Arrival
from headway.runtime.keeping_up import KeepingUp
from headway.runtime.operators.base import Dropped, Row
from headway.runtime.reranking import CountedSlots, rank_of, rerank
from headway.runtime.trace import EventKind, Trace
from headway.runtime.units import Flight, Program, Unit
from headway.runtime.wall_jobs import Job, receivers
from headway.runtime.wires import Sink, Wire
from headway.schedule.online.policy import Policy, RerankingPolicy

ENDED = NEVER >> 1
"""a watermark beyond this: nothing comes any more"""
JOBS_BETWEEN_MARKS = 16
"""a busy engine looks this often whether windows can close; an idle one always"""

Timed = tuple[int, int, int, Callable[[Any], None], Any]


class WallKernel(Core):
    """Runs a program as time passes. ``live`` sources are fed from outside, until they are closed;
    the others are replayed from the arrivals given to :meth:`run`."""

    def __init__(
        self,
        plan: Plan,
        program: Program,
        policy: Policy,
        *,
        pace: Pace,
        sinks: dict[str, Sink],
        on_drop: Callable[[Dropped, int], None],
        trace: Trace,
        keeping_up: KeepingUp,
        live: frozenset[str] = frozenset(),
    ) -> None:
        self.pace = pace
        super().__init__(plan, program, sinks=sinks, on_drop=on_drop, trace=trace)
        for unit in program.units:
            unit.free = False  # what costs nothing in the model takes time here
        self.keeping_up = keeping_up
        self.live = live
        self._preemptive = policy.preemptive
        self._reranks = isinstance(policy, RerankingPolicy)
        self._while_waiting = isinstance(policy, RerankingPolicy) and policy.while_waiting
        self._events: list[Timed] = []
        self._ready: list[Job] = []
        self._inbox: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self._wake = threading.Event()
        self._arrivals: Iterator[Arrival] = iter(())
        self._arrival: Arrival | None = None
        self._receivers = receivers(plan)
        self.ended: set[str] = set()
        """sources from which nothing comes any more"""
        self.lost: set[str] = set()
        """sources whose node is not heard of: windows do not wait for them"""
        self._jobs_since = 0
        self._moved = True

    # ---------------------------------------------------------------- from other threads

    def post(self, function: Callable[..., None], *arguments: Any) -> None:
        """Has the kernel's thread call the function, at the next boundary of an operator."""
        self._inbox.append((function, arguments))
        self._wake.set()

    def feed(self, source: str, row: Any) -> None:
        """A tuple of a live source has come."""
        self.post(self._fed, source, row, self.pace.now())

    def close(self, source: str) -> None:
        """Nothing more comes from this source."""
        self.post(self.end, source)

    # ---------------------------------------------------------------- time

    def at(self, time: int, kind: int, function: Callable[[Any], None], argument: Any) -> None:
        self._number += 1
        heappush(self._events, (time, kind, self._number, function, argument))

    def run(self, arrivals: Iterable[Arrival] = ()) -> None:
        """Replays the arrivals, in order of time, and returns when all sources have ended and
        nothing is left to do."""
        self._arrivals = iter(arrivals)
        self._take()
        while True:
            self._take_in()
            if self._moved and (not self._ready or self._jobs_since >= JOBS_BETWEEN_MARKS):
                self._moved, self._jobs_since = False, 0
                self.move_time()
            if self._ready:
                self._run_most_urgent()
            elif not self._moved:
                due = self._events[0][0] if self._events else NEVER
                if self._arrival is not None:
                    due = min(due, self._arrival.time)
                if due == NEVER and self.ended.issuperset(self.program.graph.sources):
                    return
                if not self._inbox:
                    self.pace.clock.wait(self.pace.clock_time(due), self._wake)
                self._wake.clear()

    def _take(self) -> None:
        self._arrival = next(self._arrivals, None)
        if self._arrival is None:
            self.ended |= self.program.graph.sources.keys() - self.live
            self._moved = True

    def _take_in(self) -> None:
        """All that is due. An overdue arrival counts from when it was due, so that a busy engine
        sheds and times out as an idle one would."""
        now = self.now = self.pace.now()
        while self._inbox:
            function, arguments = self._inbox.popleft()
            function(*arguments)
        events = self._events
        while True:
            arrival = self._arrival
            due = NEVER if arrival is None else arrival.time
            if events and events[0][0] < due:
                if events[0][0] > now:
                    break
                self.now = now
                _, _, _, call, argument = heappop(events)
                call(argument)
                self._moved = True
            elif arrival is not None and due <= now:
                self.now = due
                self._arrive(arrival.source, arrival.row, due, now)
                self._take()
            else:
                break
        self.now = now
        if behind := self.keeping_up.queued(now, len(self._ready)):
            self._note_behind("", behind.lag)

    def _fed(self, source: str, row: Any, due: int) -> None:
        self._arrive(source, row, due, self.now)

    def _arrive(self, source: str, row: Any, due: int, now: int) -> None:
        self.arrived += 1
        lag = self.pace.clock_duration(now - due)
        if self.keeping_up.arrived(source, now, lag, len(self._ready)):
            self._note_behind(source, lag)
        self._moved = True
        self.arrive(source, row)

    def _note_behind(self, source: str, lag: int) -> None:
        if self._record:
            now = self.now
            self._record((EventKind.BEHIND, now, now + lag, "", "", source, 0, 0, len(self._ready)))

    # ---------------------------------------------------------------- between nodes

    def send(self, wire: Wire, row: Row, root: int, late: bool) -> None:
        """Nodes of one process hand over at once."""
        for node in self._receivers.get(wire.stream, ()):
            self.receive(wire.stream, node, row, root, late)

    # ---------------------------------------------------------------- running

    def queue(
        self, unit: Unit, port: str, row: Row, key: Any, root: int, late: bool, given: Any,
        flight: Flight | None,
    ) -> None:  # fmt: skip
        self._number += 1
        job = Job(key, self._number, unit, port, row, root, late, given, flight)
        heappush(self._ready, self._ranked(job))

    def _ranked(self, job: Job) -> Job:
        """The job with the key it has before its next operator."""
        return job._replace(key=rank_of(job, self.now)) if self._reranks else job

    def _run_most_urgent(self) -> None:
        if self._while_waiting:
            rerank(self._ready, self.now)
        job = heappop(self._ready)
        self.decisions += 1
        slots, slot = job.slots, job.slot
        if slots is None:
            slots = self.slots(job.unit, job.port, job.row, job.root, job.late, job.given)
            if self._reranks:
                slots = CountedSlots(slots)
            slot = next(slots)
        else:
            self._note(EventKind.RESUME, job, self.now, self.now, 0, 0)
        while slot is not None:
            self.now = start = self.pace.now()
            following = next(slots, None)  # this runs the operator
            self._note(EventKind.RUN, job, start, self.pace.now(), slot[0], 1)
            slot = following
            if slot is None:
                break
            self._take_in()
            job = self._ranked(job._replace(slots=slots, slot=slot))
            if self._while_waiting and self._preemptive:
                rerank(self._ready, self.now)
            if self._preemptive and self._ready and self._ready[0].key < job.key:
                self.preemptions += 1
                self._note(EventKind.PREEMPT, job, self.now, self.now, 0, 0)
                heappush(self._ready, job)
                return
        self._jobs_since += 1
        if job.flight is not None:
            self.land(job.flight)

    def pass_on(self, wire: Wire, row: Row, root: int, late: bool) -> None:
        if wire.outputs:
            self.now = self.pace.now()  # a tuple is completed when it is handed over
        super().pass_on(wire, row, root, late)

    def _note(self, kind: EventKind, job: Job, start: int, end: int, first: int, ran: int) -> None:
        if self._record:
            unit = job.unit
            self._record(
                (kind, start, end, unit.node, unit.node, unit.name, job.number, first, ran)
            )

    # ---------------------------------------------------------------- watermarks and ends

    def end(self, source: str) -> None:
        """Nothing more comes from this source (call in the kernel's thread)."""
        self.ended.add(source)
        self._moved = True

    def land(self, flight: Flight) -> None:
        flight.landed = True
        self._moved = True

    def _time_moved(self) -> None:
        self._moved = True

    def move_time(self) -> None:
        """Closes the windows that nothing can reach any more."""
        super()._time_moved()

    def windows_due(self) -> bool:
        """Not only sources move time here."""
        return bool(self.program.windows.aggregates)

    def source_marks(self) -> dict[str, int | None]:
        """A source that has ended holds back nothing; of one that is not heard of, time is taken
        to go on as it does elsewhere."""
        marks = {name: self.mark_of(name) for name in self.ingests}
        heard = [m for name, m in marks.items() if name not in self.lost and name not in self.ended]
        known = [mark for mark in heard if mark is not None]
        for name, mark in marks.items():
            if name in self.ended and not self.ingests[name].size():
                marks[name] = NEVER
            elif name in self.lost and known and len(known) == len(heard):
                marks[name] = max(min(known), mark or 0)
        return marks

    def mark_of(self, source: str) -> int | None:
        return self.ingests[source].watermark
