"""The vehicle engine in wall-clock time, in one process: replayed recordings or live input, and
applications that take outputs while the query runs, by a callback or by iterating.

All nodes of the plan run here; what would cross a bus is handed over at once. For a process per
node see :mod:`headway.engine.nodes`.

Every subscriber has a bounded queue, and a callback a thread of its own: one that is slow or fails
delays and breaks nothing else. What does not fit its queue is dropped and counted; what a callback
raises is counted, reported with the output's name, and the callback is called again with the next
tuple.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from headway.engine.chain_watch import ChainWatch
from headway.engine.clock import Behind, KeepingUp, MonotonicClock, PacedClock, WallClock
from headway.engine.jobs import Arrival
from headway.engine.kernel import Sink
from headway.engine.operators.operator_base import Dropped
from headway.engine.path_tasks import PathTasks
from headway.engine.program import build_program
from headway.engine.reservations import Reservations
from headway.engine.reserved_paths import ReservedPaths
from headway.engine.results import OutputRecord, OutputTuple, RunResult, SideOutput, records_of
from headway.engine.trace import Trace
from headway.engine.waiting_room import WhenFull, waiting_room
from headway.engine.wall_time import WallTime, apart
from headway.errors import InputError, UnsupportedError
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND
from headway.model.user_operator import Row
from headway.schedule.online import Policy, ReservationPolicy, engine_policy_named

if TYPE_CHECKING:
    from headway.engine.live_run import LiveRun
    from headway.engine.results import OutputTuple

LOG = logging.getLogger("headway.applications")
MOST_DROPPED = 1000
"""dropped tuples that are kept by a run that keeps no outputs; the others are only counted"""
QUEUE = 1024
"""tuples that may wait for a subscriber"""

Callback = Callable[["OutputTuple"], None]


@dataclass(slots=True)
class CallbackFailure:
    """A callback raised: which output it was given, and what it raised."""

    output: str
    error: BaseException

    def __str__(self) -> str:
        kind = type(self.error).__name__
        return f"a subscriber of output {self.output!r} raised {kind}: {self.error}"


@dataclass(slots=True, eq=False)
class Subscription:
    """One subscriber. ``taken`` tuples were given to it, ``overflowed`` ones dropped because it
    was too slow; iterate over it, unless it has a callback."""

    output: str
    callback: Callback | None = None
    size: int = QUEUE
    on_failure: Callable[[CallbackFailure], None] | None = None
    taken: int = 0
    overflowed: int = 0
    failures: list[CallbackFailure] = field(default_factory=list)
    failed: int = 0
    _queue: queue.SimpleQueue[OutputTuple | None] = field(default_factory=queue.SimpleQueue)
    _closed: bool = False
    _thread: threading.Thread | None = None

    def __post_init__(self) -> None:
        if self.callback is not None:
            name = f"subscriber of {self.output}"
            self._thread = threading.Thread(target=self._call, name=name, daemon=True)
            self._thread.start()

    def offer(self, given: OutputTuple) -> None:
        """Never waits: this is the engine's thread."""
        if self._closed:
            return
        if self._queue.qsize() >= self.size:
            if not self.overflowed:
                LOG.warning("a subscriber of output %r is too slow: tuples dropped", self.output)
            self.overflowed += 1
        else:
            self._queue.put(given)

    def __iter__(self) -> Iterator[OutputTuple]:
        while (given := self._queue.get()) is not None:
            self.taken += 1
            yield given

    def _call(self) -> None:
        assert self.callback is not None
        for given in self:
            try:
                self.callback(given)
            except Exception as error:  # noqa: BLE001 - a subscriber may raise anything
                self._report(CallbackFailure(self.output, error))

    def _report(self, failure: CallbackFailure) -> None:
        self.failed += 1
        if len(self.failures) < self.size:
            self.failures.append(failure)
        LOG.warning("%s", failure)
        if self.on_failure is not None:
            self.on_failure(failure)

    def close(self) -> None:
        """No more tuples; those that wait are still given."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)

    def join(self, timeout: float | None = None) -> bool:
        """Waits until the callback has had all its tuples; whether it has."""
        if self._thread is None:
            return True
        self._thread.join(timeout)
        return not self._thread.is_alive()


class Subscriptions:
    """The subscribers of an engine's outputs."""

    def __init__(self, outputs: Iterable[str]) -> None:
        self._by_output: dict[str, list[Subscription]] = {name: [] for name in outputs}

    def subscribe(
        self,
        output: str,
        callback: Callback | None = None,
        *,
        size: int = QUEUE,
        on_failure: Callable[[CallbackFailure], None] | None = None,
    ) -> Subscription:
        """With a callback: called for every tuple, in order, in a thread of its own. Without:
        iterate over what this returns."""
        if output not in self._by_output:
            known = ", ".join(self._by_output)
            raise InputError(f"there is no output {output!r}", want=f"one of {known}")
        subscription = Subscription(output, callback, size, on_failure)
        self._by_output[output] = [*self._by_output[output], subscription]
        return subscription

    def publish(self, output: str, given: OutputTuple) -> None:
        for subscription in self._by_output[output]:
            subscription.offer(given)

    def close(self) -> None:
        """The run has ended."""
        for subscription in self.all():
            subscription.close()

    def all(self) -> list[Subscription]:
        return [one for listed in self._by_output.values() for one in listed]


# -------------------------------------------------------------------- the engine


def check_one_processor(paths: ReservedPaths, policy: Policy) -> None:
    """UnsupportedError where several nodes would share this process: each has a whole processor to
    reserve, and there is only one."""
    nodes = list(dict.fromkeys(place.node for place in paths.places.values()))
    if len(nodes) > 1:
        raise UnsupportedError(
            f"{policy.name!r} reserves a processor for each node, and all run in one process here",
            got=f"the nodes {', '.join(nodes)}",
            want="give each a process of its own (`headway build`), or run in virtual time",
        )


@dataclass(kw_only=True)
class WallEngine:
    """One vehicle, one run. ``speed`` replays faster or slower than recorded; ``epoch`` is the
    engine's time (ns) when it starts: that of the first arrival, or of the world if all is live.

    ``live`` sources are fed with :meth:`feed` from any thread until they are closed. An arrival
    taken in later than ``tolerance``, or a queue longer than ``backlog``, is a warning in the log,
    an event in the trace, a count in :attr:`keeping_up` and a call of ``on_behind``. At most
    ``most_waiting`` jobs wait; ``when_full`` says which are dropped beyond that
    (:mod:`headway.engine.waiting_room`, also for the defaults).

    A run that is to go on for days has ``keep_outputs`` and ``keep_trace`` off: then subscribers
    take the outputs, and what is kept does not grow.
    """

    plan: Plan
    policy: str | Policy = "s-edf"
    clock: WallClock = field(default_factory=MonotonicClock)
    speed: float = 1.0
    epoch: int | None = None
    live: frozenset[str] = frozenset()
    tolerance: int = 10 * MILLISECOND
    backlog: int = 1000
    most_waiting: int | None = None
    when_full: WhenFull = WhenFull.SHED
    on_behind: Callable[[Behind], None] | None = None
    on_drop: Callable[[Dropped, int], None] | None = None
    """takes the tuples that left their way; the result then holds none of them (a long run)"""
    watch: LiveRun | None = None
    keep_trace: bool = True
    keep_outputs: bool = True

    def __post_init__(self) -> None:
        known = [source.name for source in self.plan.query.sources]
        if unknown := sorted(self.live.difference(known)):
            raise InputError("no such source", at=unknown[0], want=f"one of {', '.join(known)}")
        chosen = engine_policy_named(self.policy) if isinstance(self.policy, str) else self.policy
        self._policy = chosen
        self._program = build_program(self.plan, chosen, apart=apart(self.plan))
        tasks = [unit.task for unit in self._program.units]
        self._room = waiting_room(self.plan, tasks, self.most_waiting, self.when_full)
        self._paths: ReservedPaths | None = None
        if isinstance(chosen, ReservationPolicy) and chosen.guarded:
            self._paths = PathTasks(self.plan, self._program).tables()
            check_one_processor(self._paths, chosen)
        self._time: WallTime | None = None
        self._interrupted = False
        self._started = threading.Event()
        self.keeping_up = KeepingUp(
            tolerance=self.tolerance, backlog=self.backlog, on_behind=self.on_behind
        )
        self.applications = Subscriptions(output.name for output in self.plan.query.outputs)

    def run(self, arrivals: Iterable[Arrival] = ()) -> RunResult:
        """Replays the arrivals at their pace; returns when they and the live sources have ended
        and nothing is left to do."""
        rest = iter(arrivals)
        first = next(rest, None)
        if first is not None:
            rest = chain((first,), rest)
        epoch = self.epoch
        if epoch is None:
            epoch = time.time_ns() if first is None else first.time
        outputs = records_of(self.plan.query)
        side = SideOutput(most=None if self.keep_outputs else MOST_DROPPED)
        trace = Trace(kept=self.keep_trace)
        run = WallTime(
            self.plan,
            self._program,
            self._policy,
            pace=PacedClock(self.clock, epoch, self.clock.now(), self.speed),
            sinks={name: self._sink(record) for name, record in outputs.items()},
            on_drop=self._taking_drops(self.on_drop or side.take),
            trace=trace,
            keeping_up=self.keeping_up,
            room=self._room,
            live=self.live,
        )
        if chains := ChainWatch(self.plan):
            run.kernel.chain_watch = chains
        if self._paths is not None:
            assert isinstance(self._policy, ReservationPolicy)
            Reservations(self._paths, run, self._policy, most_held_back=self._room.most)
        self._time = run
        if self.watch is not None:
            self.watch.begins(run)
        if self._interrupted:
            run.interrupt()
        self._started.set()
        try:
            lost = run.run(rest)
        finally:
            self.applications.close()
        return RunResult(outputs, side, trace, run.kernel, lost, chains.measured())

    def interrupt(self) -> None:
        """Ends the run at the next border of an operator, from any thread or from the handler of a
        signal: :meth:`run` returns what is complete, and its result tells what was lost."""
        self._interrupted = True
        if self._time is not None:
            self._time.interrupt()

    def _taking_drops(
        self, follow: Callable[[Dropped, int], None]
    ) -> Callable[[Dropped, int], None]:
        watch = self.watch
        if watch is None:
            return follow

        def take(dropped: Dropped, now: int) -> None:
            watch.dropped(dropped)
            follow(dropped, now)

        return take

    def _sink(self, record: OutputRecord) -> Sink:
        name, deadline, publish = record.name, record.relative_deadline, self.applications.publish
        tap = None if self.watch is None else self.watch.tap(name)

        def take(row: Row, completed: int) -> None:
            if self.keep_outputs:
                record.rows.append(row)
                record.completed.append(completed)
            if tap is not None:
                tap((row[0], completed))
            publish(name, OutputTuple(row, completed, row[0] * MICROSECOND + deadline))

        return take

    def feed(self, source: str, row: Any) -> None:
        """A tuple of a live source, now; waits until the engine has started."""
        self._running(source).feed(source, row)

    def close(self, source: str | None = None) -> None:
        """Nothing more comes from the source, or from any live one."""
        for name in sorted(self.live) if source is None else [source]:
            self._running(name).close(name)

    def _running(self, source: str) -> WallTime:
        if source not in self.live:
            raise InputError(f"{source!r} is not a live source", want="name it in live=")
        self._started.wait()
        assert self._time is not None
        return self._time
