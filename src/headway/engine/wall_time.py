"""Wall-clock time: the same rules, but operators really take their time.

One thread runs everything here. It takes in what is due (arrivals, messages, timers), then runs the
most urgent job, operator by operator; after each operator it takes in again and lets a more urgent
job go first. So it does between the items of an operator whose cost says ``preempt: between_items``
and whose class can stop there (:meth:`~headway.model.user_operator.UserOperator.in_items`). Such an
operator is then in the middle of its work, so a job never overtakes one of its own unit that has
begun: that one goes on first, with the key of the more urgent job behind it, until it has ended.

Other threads only leave things in the inbox. A node with several cores is run by one thread as
well: Python would not use more.

What lies outside the process (the other nodes of a plan) is an :class:`Outside`.

All that decides what happens here comes from three places: the clock, the inbox and the arrivals.
Who keeps the first two in their order (a :class:`Keeper`) can have the run done over again.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from heapq import heapify, heappop, heappush
from typing import Any, Protocol

from headway.engine.clock import KeepingUp, PacedClock
from headway.engine.jobs import NEVER, Arrival, Lost, ReadyJob, Stepping, TimedCall, tuples_of
from headway.engine.kernel import Kernel, Outlet, Sink
from headway.engine.kernel_state import (
    kernel_counts,
    kernel_state,
    packed_work,
    restore_counts,
    restore_kernel,
    unpacked_work,
)
from headway.engine.operators.operator_base import Dropped
from headway.engine.overseer import Overseer, put_over
from headway.engine.program import Flight, RunProgram, Unit
from headway.engine.reranking import Reranking
from headway.engine.trace import EventKind, Trace
from headway.engine.waiting_room import WaitingRoom
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.model.user_operator import Row, State
from headway.schedule.online.policy import Key, Policy, RerankingPolicy

ENDED = NEVER >> 1
"""a watermark beyond this: nothing comes any more"""
JOBS_BETWEEN_MARKS = 16
"""a busy engine looks this often whether windows can close; an idle one always"""
WORTH_A_BOUNDARY = 50 * MICROSECOND
"""operators that declare at least this cost are not fused, so that others may go between them"""


def apart(plan: Plan) -> frozenset[str]:
    """The operators that are run one by one."""
    return frozenset(
        operator.name
        for operator in plan.query.operators
        if operator.cost is not None and operator.cost.of(1, Fraction(1)) >= WORTH_A_BOUNDARY
    )


class _Woken(Exception):
    """The handler of a signal has something to do for a run that waits."""


class Outside(Protocol):
    """The other nodes, as a run in wall-clock time sees them."""

    @property
    def marks(self) -> Mapping[str, int | None]:
        """How far time has come on the streams that come from there; others are sources here."""

    def send(self, outlet: Outlet, row: Row, root: int, late: bool) -> None:
        """A tuple leaves for them."""

    def time_moved(self) -> None:
        """Watermarks may have moved on, and windows closed."""


Post = tuple[Callable[..., None], tuple[Any, ...]]
"""what another thread has left in the inbox: a function, its arguments"""


class Keeper(Protocol):
    """Keeps what a run needs to be taken up again; see :mod:`headway.engine.nodes.run_keeper`."""

    def next_post(self, inbox: deque[Post]) -> Post | None:
        """The next thing to be taken from the inbox, if there is one."""

    def between_jobs(self, *, idle: bool) -> None:
        """No job is under way just now; ``idle``: nothing is left to do until something comes."""

    def before_wait(self) -> bool:
        """Nothing is left to do until something comes. Whether to wait for it."""


class OneProcess:
    """All nodes are here: what would cross a bus is handed over at once."""

    def __init__(self, plan: Plan, time: WallTime) -> None:
        self._time = time
        self.marks: Mapping[str, int | None] = {}
        self._receivers: dict[str, tuple[str, ...]] = {}
        for crossing in plan.crossings:
            before = self._receivers.get(crossing.stream, ())
            self._receivers[crossing.stream] = (*before, crossing.receiver)

    def send(self, outlet: Outlet, row: Row, root: int, late: bool) -> None:
        for node in self._receivers.get(outlet.stream, ()):
            self._time.kernel.receive(outlet.stream, node, row, root, late)

    def time_moved(self) -> None:
        """Nobody else wants to know."""


class WallTime:
    """Runs a program as time passes; jobs wait in ``room``. ``live`` sources are fed from outside,
    until they are closed; the others are replayed from the arrivals given to :meth:`run`."""

    def __init__(
        self,
        plan: Plan,
        program: RunProgram,
        policy: Policy,
        *,
        pace: PacedClock,
        sinks: dict[str, Sink],
        on_drop: Callable[[Dropped, int], None],
        trace: Trace,
        keeping_up: KeepingUp,
        room: WaitingRoom,
        live: frozenset[str] = frozenset(),
        outside: Callable[[WallTime], Outside] | None = None,
        keeper: Keeper | None = None,
    ) -> None:
        self.pace = pace
        self._keeper = keeper
        self.kernel = Kernel(
            plan,
            program,
            self,
            sinks=sinks,
            on_drop=on_drop,
            trace=trace,
            eager=True,  # not only sources move time here
            clock=pace.now,
            on_time_moved=self.note_move,
            source_marks=self._source_marks,
            in_items=True,
        )
        for unit in program.units:
            unit.free = False  # what costs nothing in the model takes time here
        self.keeping_up = keeping_up
        self.room, self._most = room, room.most
        self._shedding = False
        self.live = live
        self._outside: Outside = OneProcess(plan, self) if outside is None else outside(self)
        self._preemptive = policy.preemptive
        self._overseer: Overseer | None = None
        self._events: list[TimedCall] = []
        self._ready: list[ReadyJob] = []
        self._begun: dict[int, int] = {}
        """unit -> number of its job that gave way between the items of its head"""
        self._inbox: deque[Post] = deque()
        self._wake = threading.Event()
        self._arrivals: Iterator[Arrival] = iter(())
        self._arrival: Arrival | None = None
        self.replayed = 0
        """arrivals that were taken from those given to :meth:`run`"""
        self.ended: set[str] = set()
        """sources from which nothing comes any more"""
        self.lost: set[str] = set()
        """sources whose node is not heard of: windows do not wait for them"""
        self._jobs_since = 0
        self._moved = True
        self._thread: int | None = None
        self._waiting = False
        self._interrupted = False
        if isinstance(policy, RerankingPolicy):
            Reranking(self, policy)

    def overseen(self, overseer: Overseer) -> None:
        """Has every job admitted, and looked at before each of its operators."""
        self._overseer = overseer
        put_over(overseer, self.kernel, self.queue)

    # ---------------------------------------------------------------- from other threads

    def post(self, function: Callable[..., None], *arguments: Any) -> None:
        """Has the run's thread call the function, at the next boundary of an operator."""
        self._inbox.append((function, arguments))
        self._wake.set()

    def interrupt(self) -> None:
        """Ends the run at the next border of an operator, from any thread or from the handler of a
        signal."""
        self._interrupted = True
        self._wake_up()

    def post_by_signal(self, function: Callable[..., None], *arguments: Any) -> None:
        """Like :meth:`post`, from the handler of a signal."""
        self._inbox.append((function, arguments))
        self._wake_up()

    def _wake_up(self) -> None:
        """A handler runs in the run's own thread, perhaps inside its waiting: there the lock of the
        event may be taken already."""
        if threading.get_ident() != self._thread:
            self._wake.set()
        elif self._waiting:
            raise _Woken

    def feed(self, source: str, row: Any) -> None:
        """A tuple of a live source has come."""
        self.post(self.take, source, row, self.pace.now())

    def close(self, source: str) -> None:
        """Nothing more comes from this source."""
        self.post(self.end, source)

    def waiting_heads(self) -> list[str]:
        """The first operator of each job that waits, seen from another thread."""
        return [job.unit.operators[0] for job in list(self._ready)]

    # ---------------------------------------------------------------- time

    def at(self, time: int, kind: int, function: Callable[[Any], None], argument: Any) -> None:
        self.kernel.number += 1
        heappush(self._events, (time, kind, self.kernel.number, function, argument))

    def run(self, arrivals: Iterable[Arrival] = ()) -> Lost | None:
        """Replays the arrivals, in order of time, and returns when all sources have ended and
        nothing is left to do, or when it is interrupted: then it tells what was lost."""
        self._thread = threading.get_ident()
        self._arrivals = iter(arrivals)
        self._next_arrival()
        while True:
            try:
                self._until_done()
                break
            except _Woken:  # it was waiting: nothing had begun that would be left undone
                self._waiting = False
        return self._lost() if self._interrupted else None

    def _until_done(self) -> None:
        keeper = self._keeper
        while not self._interrupted:
            if keeper is not None:  # a run that is taken up begins here, too
                keeper.between_jobs(idle=False)
            self._take_in()
            if self._moved and (not self._ready or self._jobs_since >= JOBS_BETWEEN_MARKS):
                self._look()
            if self._ready:
                self._run_most_urgent()
            elif not self._moved:
                due = self._events[0][0] if self._events else NEVER
                if self._arrival is not None:
                    due = min(due, self._arrival.time)
                if due == NEVER and self.ended.issuperset(self.kernel.program.graph.sources):
                    return
                self._wait(self.pace.clock_time(due))

    def _look(self) -> None:
        """Whether windows can close."""
        self._moved, self._jobs_since = False, 0
        self.kernel.watermarks.look()
        self._outside.time_moved()

    def _wait(self, until: int) -> None:
        if self._keeper is not None:
            self._keeper.between_jobs(idle=True)
            if not self._keeper.before_wait():
                return
        self._waiting = True
        if not (self._inbox or self._interrupted):
            self.pace.clock.wait(until, self._wake)
        self._waiting = False
        self._wake.clear()

    def _next_arrival(self) -> None:
        self._arrival = next(self._arrivals, None)
        if self._arrival is None:
            self.ended |= self.kernel.program.graph.sources.keys() - self.live
            self._moved = True

    def _take_in(self) -> None:
        """All that is due. An overdue arrival counts from when it was due, so that a busy engine
        sheds and times out as an idle one would."""
        kernel = self.kernel
        now = kernel.now = self.pace.now()
        while (post := self._next_post()) is not None:
            function, arguments = post
            function(*arguments)
        events = self._events
        while True:
            arrival = self._arrival
            due = NEVER if arrival is None else arrival.time
            if events and events[0][0] < due:
                if events[0][0] > now:
                    break
                kernel.now = now
                _, _, _, call, argument = heappop(events)
                call(argument)
                self._moved = True
            elif arrival is not None and due <= now:
                kernel.now = due
                self.replayed += 1
                self._arrive(arrival.source, arrival.row, due, now)
                self._next_arrival()
            else:
                break
        kernel.now = now
        if behind := self.keeping_up.queued(now, len(self._ready)):
            self._note_behind("", behind.lag)

    def _next_post(self) -> Post | None:
        if self._keeper is not None:
            return self._keeper.next_post(self._inbox)
        return self._inbox.popleft() if self._inbox else None

    def take(self, source: str, row: Any, due: int) -> None:
        """A tuple of a source has come (call in the run's thread)."""
        self._arrive(source, row, due, self.kernel.now)

    def _arrive(self, source: str, row: Any, due: int, now: int) -> None:
        self.kernel.arrived += 1
        lag = self.pace.clock_duration(now - due)
        if self.keeping_up.arrived(source, now, lag, len(self._ready)):
            self._note_behind(source, lag)
        self._moved = True
        self.kernel.arrive(source, row)

    def send(self, outlet: Outlet, row: Row, root: int, late: bool) -> None:
        self._outside.send(outlet, row, root, late)

    # ---------------------------------------------------------------- running

    def queue(self, job: ReadyJob) -> None:
        self.kernel.number = job.number
        heappush(self._ready, job)
        if len(self._ready) > self._most and not self._shedding:
            self._make_room(job)

    def _make_room(self, new: ReadyJob) -> None:
        """Too many jobs wait: who goes is a rule of :mod:`headway.engine.waiting_room`."""
        kernel, ready, room = self.kernel, self._ready, self.room
        now = self.pace.now()  # the kernel's may be when an overdue arrival was due
        shed = room.leaving(ready, new, now)
        gone = {job.number for job in shed}
        ready[:] = [job for job in ready if job.number not in gone]
        heapify(ready)
        self._shedding = True  # what waited for a shed job may be queued in its place
        for job in shed:
            kernel.refused += room.hard(job)
            kernel.lose(job, room.reason(job, now))
            if self._overseer is not None:
                self._overseer.ended(job)
        self._shedding = False
        self._moved = True

    def _run_most_urgent(self) -> None:
        """Runs a job until it ends or gives way at the border of an operator."""
        kernel, ready, over = self.kernel, self._ready, self._overseer
        if over is not None:
            over.before_choice(ready)
        job, lent = self._next_job() if self._begun else (heappop(ready), None)
        kernel.decisions += 1
        progress = job.progress
        if progress is None:
            _, _, unit, port, row, root, late, work, _, _ = job
            progress = Stepping(kernel.slots(unit, port, row, root, late, work))
            if over is not None:  # it may ask how far the job has come
                job = job._replace(progress=progress)
        else:
            self.befell(EventKind.RESUME if over is None else over.resumed(job), job)
        assert isinstance(progress, Stepping)
        key = job.key if over is None else over.key_now(ready, job)
        if key != job.key:
            job = job._replace(key=key)
            if lent is None and ready and ready[0].key < key:  # no preemption: it did not go on
                self._give_way(job, progress)
                return
            assert over is not None
            over.goes_on(job)
        while self._step_on(job, progress):
            self._take_in()
            if progress.until and (self._interrupted or not self._slack(progress)):
                self.befell(EventKind.CUT, job)
                if not self._give(job, progress, progress.cut, 0):
                    break
            if self._interrupted:
                self._give_way(job, progress)
                return
            if not self._preemptive or progress.until:
                continue
            key = job.key if over is None else over.key_now(ready, job)
            changed = key != job.key
            if changed:
                job = job._replace(key=key)
            if ready and ready[0].key < (key if lent is None else min(key, lent)):
                if ready[0].unit is job.unit and self._inside(job, progress):
                    lent = ready[0].key
                    continue
                kernel.preemptions += 1
                self.befell(EventKind.PREEMPT, job)
                self._give_way(job, progress)
                return
            if changed and over is not None:
                over.goes_on(job)
        if over is not None:
            over.ended(job)
        self._jobs_since += 1
        if job.flight is not None:
            job.flight.landed = True
            self._moved = True

    def _next_job(self) -> tuple[ReadyJob, Key | None]:
        """The most urgent job. A job never overtakes one of its unit that has begun: that one goes
        first, with the key that the more urgent one lends it."""
        ready = self._ready
        job = heappop(ready)
        begun = self._begun.pop(job.unit.index, None)
        if begun is None or begun == job.number:
            return job, None
        place = next(n for n, one in enumerate(ready) if one.number == begun)
        held_up, ready[place] = ready[place], job
        heapify(ready)
        return held_up, job.key

    def _give_way(self, job: ReadyJob, progress: Stepping) -> None:
        if self._inside(job, progress):
            self._begun[job.unit.index] = job.number
        heappush(self._ready, job._replace(progress=progress))

    @staticmethod
    def _inside(job: ReadyJob, progress: Stepping) -> bool:
        """Whether the job's head is in the middle of its items."""
        return job.unit.by_items and progress.operator == 0

    def _step_on(self, job: ReadyJob, progress: Stepping) -> bool:
        """An operator does what it does, and takes its time for it; whether another follows."""
        kernel, operator = self.kernel, progress.operator
        kernel.now = start = self.pace.now()
        if self._overseer is None:
            more = self._after_its_time(progress)
        else:
            step = partial(self._after_its_time, progress)
            more = self._give(job, progress, step, 0 if progress.until else None)
        if kernel.record:
            self._note(EventKind.RUN, job, start, self.pace.now(), operator, 1)
        return more

    def _after_its_time(self, progress: Stepping) -> bool:
        self.pace.work(progress.cost)
        return progress.step_on()

    def _give(
        self, job: ReadyJob, progress: Stepping, step: Callable[[], bool], charged: int | None
    ) -> bool:
        """Takes a step of a job, at the expense of its budget if there is one: what it took, unless
        ``charged`` says otherwise."""
        over = self._overseer
        declared = progress.cost if charged is None else charged
        self.kernel.now = start = self.pace.now()
        if over is None:
            return step()
        over.works(job)
        more = step()
        self.kernel.now = self.pace.now()
        over.worked(job, declared, self.kernel.now - start if charged is None else charged)
        return more

    def _slack(self, progress: Stepping) -> bool:
        """Whether there is time for a piece of an optional part: nothing else is to do, and it ends
        before its deadline if it takes what it declares."""
        if self._moved:
            self._look()
        return not self._ready and self.pace.now() + progress.cost <= progress.until

    # ---------------------------------------------------------------- taken up again

    @property
    def can_be_kept(self) -> bool:
        """Whether a :meth:`snapshot` would be the whole: no job is half done."""
        if self._ready and self._overseer is not None:
            return False
        return not self._begun and all(job.progress is None for job in self._ready)

    def snapshot(self) -> State:
        """All that the future depends on, as JSON-able data."""
        kernel = self.kernel
        return {
            "kernel": kernel_state(kernel, self._events),
            "counts": kernel_counts(kernel),
            "ready": [_packed_job(job) for job in sorted(self._ready)],
            "ended": sorted(self.ended),
            "lost": sorted(self.lost),
            "moved": self._moved,
            "jobs_since": self._jobs_since,
            "moves": kernel.watermarks.moves,
            "replayed": self.replayed,
        }

    def restore(self, state: State) -> None:
        """Takes up what :meth:`snapshot` gave, before :meth:`run`, which is given the arrivals that
        were not taken yet."""
        kernel = self.kernel
        self._events = restore_kernel(kernel, state["kernel"])
        heapify(self._events)
        restore_counts(kernel, state["counts"])
        units = {unit.name: unit for unit in kernel.program.units}
        self._ready = [_unpacked_job(units[name], *job) for name, *job in state["ready"]]
        kernel.watermarks.moves = state["moves"]
        self.ended, self.lost = set(state["ended"]), set(state["lost"])
        self._moved, self._jobs_since = state["moved"], state["jobs_since"]
        self.replayed = state["replayed"]

    def pass_over(self, now: int) -> Counter[str]:
        """Leaves out the arrivals that were due before now; how many of each source."""
        missed: Counter[str] = Counter()
        while self._arrival is not None and self._arrival.time < now:
            missed[self._arrival.source] += 1
            self.replayed += 1
            self._next_arrival()
        return missed

    # ---------------------------------------------------------------- watermarks and ends

    def note_move(self) -> None:
        """Windows may close; they are looked at between jobs."""
        self._moved = True

    def end(self, source: str) -> None:
        """Nothing more comes from this source (call in the run's thread)."""
        self.ended.add(source)
        self._moved = True

    def stop(self) -> None:
        """Takes no more input; what is inside is finished."""
        self._arrivals, self._arrival = iter(()), None
        self.lost.clear()
        for source in self.kernel.program.graph.sources:
            self.end(source)

    def _source_marks(self) -> dict[str, int | None]:
        """A source that has ended holds back nothing; of one that is not heard of, time is taken
        to go on as it does elsewhere."""
        outside, ingests = self._outside.marks, self.kernel.ingests
        marks = {name: outside.get(name, ingest.watermark) for name, ingest in ingests.items()}
        heard = [m for name, m in marks.items() if name not in self.lost and name not in self.ended]
        known = [mark for mark in heard if mark is not None]
        for name, mark in marks.items():
            if name in self.ended and not ingests[name].size():
                marks[name] = NEVER
            elif name in self.lost and known and len(known) == len(heard):
                marks[name] = max(min(known), mark or 0)
        return marks

    def _lost(self) -> Lost:
        """What is inside and does not come out any more."""
        program, over = self.kernel.program, self._overseer
        waiting = [*self._ready, *(over.not_yet() if over is not None else ())]
        gatherings = [unit.gathering for unit in program.units if unit.gathering is not None]
        return Lost(
            waiting=sum(tuples_of(job) for job in waiting),
            gathered=sum(gathering.size() for gathering in gatherings)
            + sum(unit.sampling.size() for unit in program.units if unit.sampling is not None)
            + sum(ingest.size() for ingest in self.kernel.ingests.values()),
            groups=sum(aggregate.size() for _, aggregate in program.windows.aggregates),
            fed=sum(function == self.take for function, _ in self._inbox),
        )

    # ---------------------------------------------------------------- trace

    def _note_behind(self, source: str, lag: int) -> None:
        if record := self.kernel.record:
            now = self.kernel.now
            record((EventKind.BEHIND, now, now + lag, "", "", source, 0, 0, len(self._ready)))

    def befell(self, kind: EventKind, job: ReadyJob) -> None:
        """Something befell a job."""
        self._note(kind, job, self.kernel.now, self.kernel.now, 0, 0)

    def _note(
        self, kind: EventKind, job: ReadyJob, start: int, end: int, first: int, ran: int
    ) -> None:
        if record := self.kernel.record:
            unit = job.unit
            record((kind, start, end, unit.node, unit.node, unit.name, job.number, first, ran))


def _packed_job(job: ReadyJob) -> list[Any]:
    _, number, unit, port, row, root, late, work, _, _ = job
    return [unit.name, number, port, list(row), root, late, packed_work(work)]


def _unpacked_job(
    unit: Unit, number: int, port: str, row: list[Any], root: int, late: bool, work: Any
) -> ReadyJob:
    """It took off just before it was numbered; a flight with a new number would stand in the way
    of those that are still to be numbered as they were."""
    flight = None
    if unit.flights is not None:
        flight = Flight()
        heappush(unit.flights, (row[0], number - 1, flight))
    key = unit.key(row[0] * MICROSECOND, root)
    return ReadyJob(key, number, unit, port, tuple(row), root, late, unpacked_work(work), flight)
