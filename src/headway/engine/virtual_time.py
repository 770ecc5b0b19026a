"""Virtual time: all nodes of a plan, their processors and buses, as one discrete-event simulation.

What happens at one instant goes in this order: operators that end, arrivals at sources, deliveries
by the network, timers; then free cores choose. Within a kind, the earlier scheduled goes first.

A core runs the most urgent ready job operator by operator. While nothing else can happen before an
operator ends, time jumps there; otherwise its end is an event among the others, and after it a
more urgent job may go first. Whole trains at once are the business of
:mod:`headway.engine.fast_path`, which can be switched off.

A job gets its key from the policy when it is released (:meth:`Kernel.release
<headway.engine.kernel.Kernel.release>`); before its next operator :meth:`VirtualTime.key_now` says
what its key is by then, and :meth:`VirtualTime.outranked` compares it with that of the most urgent
job waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from typing import Any

from headway.compiler.core_assignment import cores_of_trains
from headway.engine.bus_network import BusNetwork
from headway.engine.fast_path import FastPath
from headway.engine.jobs import DECISION, FINISH, NEVER, Arrival, ReadyJob, Stepping, TimedCall
from headway.engine.kernel import BulkSink, Kernel, Outlet, Sink, Witness
from headway.engine.operators.operator_base import Dropped
from headway.engine.overseer import Overseer, put_over
from headway.engine.program import Flight, RunProgram, Unit
from headway.engine.trace import EventKind, Trace
from headway.model.plan import Plan
from headway.model.user_operator import Row
from headway.model.vehicle import Node
from headway.schedule.online.policy import Key, Policy

RUN = int(EventKind.RUN)


class CoreGroup:
    """One queue of ready jobs and the cores it feeds: all cores of a node (global), or one of them
    (partitioned)."""

    def __init__(self, index: int, node: Node, cores: Sequence[int], units: Sequence[Unit]) -> None:
        self.index = index
        self.units = tuple(units)
        self.ready: list[ReadyJob] = []
        self.cores = len(cores)
        self.free = list(reversed(cores))
        self.penalty = 0
        """cost of preemptions, paid before the next job"""
        self.decision_cost = node.decision_cost
        self.preemption_cost = node.preemption_cost
        self.places = {
            core: f"{node.name}.{core}" if node.cores > 1 else node.name for core in cores
        }


class VirtualTime:
    """Runs a program in virtual time under a policy.

    ``batch_budget``: how long (ns) waiting tuples of a train may run as one batch. ``quick`` off
    takes no short cuts: no jumps over instants at which nothing else happens, no fast path, a look
    at the windows whenever time moves. The run is the same.
    """

    def __init__(
        self,
        plan: Plan,
        program: RunProgram,
        policy: Policy,
        *,
        sinks: dict[str, Sink],
        on_drop: Callable[[Dropped, int], None],
        trace: Trace,
        partitioned: bool = False,
        bulk: dict[str, BulkSink] | None = None,
        batch_budget: int = 0,
        quick: bool = True,
    ) -> None:
        self.kernel = Kernel(
            plan, program, self,
            sinks=sinks, on_drop=on_drop, trace=trace, bulk=bulk, eager=not quick,
        )  # fmt: skip
        self.events: list[TimedCall] = []
        self.arrivals: Iterator[Arrival] = iter(())
        self.arrival: Arrival | None = None
        self.next_arrival = NEVER
        self._preemptive = policy.preemptive
        self._quick = quick
        self._overseer: Overseer | None = None
        on_frame = self._frame_begins if trace.kept else None
        self._network = BusNetwork(plan, lambda: self.kernel.now, self.at, self._deliver, on_frame)
        reached = {s for n in program.windows.order for s in program.graph.operators[n].streams}
        self._messages = self.kernel.watermarks.messages
        self._messages |= {c.stream: [] for c in plan.crossings if c.stream in reached}
        self._groups: list[CoreGroup] = []
        for node in program.nodes.values():
            units = [unit for unit in program.units if unit.node == node.name]
            self._groups += core_groups(node, units, len(self._groups), partitioned=partitioned)
        by_unit = {unit.index: group for group in self._groups for unit in group.units}
        self.group_of = [by_unit[unit.index] for unit in program.units]
        self.waiting: dict[int, None] = {}
        """groups of cores that may have something to choose"""
        if not quick:
            for unit in program.units:
                unit.whole = None
        self._fast = FastPath(self, batch_budget) if quick else None

    def watched(self, witness: Witness) -> None:
        """Has a witness told of every tuple: none goes the fast way, which knows no roots."""
        self.kernel.chain_watch, self._fast = witness, None

    def overseen(self, overseer: Overseer) -> None:
        """Has every job admitted, and looked at before each of its operators: no whole trains."""
        self._overseer, self._fast = overseer, None
        put_over(overseer, self.kernel, self.queue)
        for unit in self.kernel.program.units:
            if not unit.free:
                unit.whole = None

    # ---------------------------------------------------------------- time

    def at(self, time: int, kind: int, function: Callable[[Any], None], argument: Any) -> None:
        kernel = self.kernel
        kernel.number = number = kernel.number + 1
        heappush(self.events, (time, kind, number, function, argument))

    def run(self, arrivals: Iterable[Arrival]) -> None:
        """Takes in all arrivals, in order of time, and runs until nothing is left to do."""
        source = self.arrivals = iter(arrivals)
        self.arrival = first = next(source, None)
        self.next_arrival = NEVER if first is None else first[0]
        self._drain()
        for unit, aggregate in self.kernel.program.windows.aggregates:
            self.kernel.emit_windows(unit, aggregate, aggregate.finish())
            self._drain()

    def _drain(self) -> None:
        kernel, source, groups = self.kernel, self.arrivals, self._groups
        events, waiting, fast = self.events, self.waiting, self._fast
        lanes = {} if fast is None else fast.lanes
        choose = self._choose if fast is None else fast.choose
        while True:
            time = self.next_arrival
            if events and events[0][0] < time:
                time = events[0][0]
            if waiting and time > kernel.now:
                index = next(iter(waiting))
                del waiting[index]
                choose(groups[index])
                continue
            if time == NEVER:
                return
            kernel.now = time
            while events and events[0][0] == time and events[0][1] == FINISH:
                _, _, _, function, argument = heappop(events)
                function(argument)
            while self.next_arrival <= time:
                arrival = self.arrival
                assert arrival is not None
                kernel.arrived += 1
                # Taken first, so that whoever handles this arrival knows when the next one comes.
                self.arrival = following = next(source, None)
                self.next_arrival = NEVER if following is None else following[0]
                _, name, row = arrival
                lane = lanes.get(name)
                if lane is None:
                    kernel.arrive(name, row)
                else:
                    assert fast is not None
                    fast.arrive(lane, row)
            while events and events[0][0] == time:
                _, _, _, function, argument = heappop(events)
                function(argument)

    def more_now(self) -> bool:
        """Whether anything else happens at this instant, before cores choose."""
        now, events = self.kernel.now, self.events
        return self.next_arrival <= now or bool(events and events[0][0] <= now)

    def quiet(self, group: CoreGroup, end: int) -> bool:
        """Whether nothing else happens before ``end``, nor at it but arrivals."""
        if end > self.next_arrival or self.waiting or group.cores > 1:
            return False
        events = self.events
        return not events or events[0][0] > end

    # ---------------------------------------------------------------- between nodes

    def send(self, outlet: Outlet, row: Row, root: int, late: bool) -> None:
        kernel, stream = self.kernel, outlet.stream
        flights = self._messages.get(stream)
        flight = None if flights is None else kernel.take_off(flights, row[0])
        if kernel.record:
            now = kernel.now
            kernel.record((EventKind.SEND, now, now, outlet.node, "", stream, root, 0, 0))
        self._network.send(stream, (row, root, late, flight))

    def _deliver(
        self, stream: str, node: str, message: tuple[Row, int, bool, Flight | None]
    ) -> None:
        row, root, late, flight = message
        self.kernel.receive(stream, node, row, root, late)
        if flight is not None and self._network.last_receiver[stream] == node:
            self.kernel.land(flight)

    def _frame_begins(
        self, medium: str, stream: str, message: Any, time: int, place: int, count: int
    ) -> None:
        start, root = self.kernel.now, message[1]
        self.kernel.trace.events.append(
            (EventKind.FRAME, start, start + time, "", medium, stream, root, place, count)
        )

    # ---------------------------------------------------------------- choosing

    def queue(self, job: ReadyJob) -> None:
        self.kernel.number = job.number
        group = self.group_of[job.unit.index]
        heappush(group.ready, job)
        if group.free:
            self.waiting[group.index] = None

    def _choose(self, group: CoreGroup) -> None:
        """Gives free cores the most urgent jobs."""
        kernel, ready, over = self.kernel, group.ready, self._overseer
        while ready and group.free:
            if self.more_now():
                self.waiting[group.index] = None
                return
            self.waiting.pop(group.index, None)
            if over is not None:
                over.before_choice(group.ready)
            job = heappop(ready)
            kernel.decisions += 1
            start = kernel.now + group.decision_cost + group.penalty
            group.penalty = 0
            self.run_job(group, job, start)

    def key_now(self, group: CoreGroup, job: ReadyJob) -> Key:
        """By what a job that has begun is ordered before its next operator."""
        return job.key if self._overseer is None else self._overseer.key_now(group.ready, job)

    def outranked(self, group: CoreGroup, job: ReadyJob) -> bool:
        """Whether another job is to go before the next operator of one that has begun."""
        if not self._preemptive:
            return False
        key = self.key_now(group, job)
        ready = group.ready
        return bool(ready) and bool(ready[0].key < key)

    # ---------------------------------------------------------------- running

    def run_job(self, group: CoreGroup, job: ReadyJob, start: int) -> None:
        """Gives a job a free core: it begins, or goes on."""
        core = group.free.pop()
        if job.progress is None:
            _, _, unit, port, row, root, late, work, _, _ = job
            slots = self.kernel.slots(unit, port, row, root, late, work)
            job = job._replace(progress=Stepping(slots))
        else:
            over = self._overseer
            kind = EventKind.RESUME if over is None else over.resumed(job)
            self.note_instant(kind, group, core, job)
        self._step(group, core, job, start)

    def _step(self, group: CoreGroup, core: int, job: ReadyJob, start: int) -> None:
        """Runs the job's operators one by one while nothing can happen before their end."""
        over = self._overseer
        kernel, progress = self.kernel, job.progress
        assert isinstance(progress, Stepping)
        if over is not None and not progress.until:
            key = over.key_now(group.ready, job)
            if key != job.key:
                job = job._replace(key=key)
                if group.ready and group.ready[0].key < key:
                    heappush(group.ready, job)
                    self.leave(group, core)
                    return
                over.goes_on(job)
        while True:
            end = start + progress.cost
            if kernel.record:
                self.note_run(group, core, job, start, end, progress.operator, 1)
            if not (self._quick and self.quiet(group, end)):
                self.at(end, FINISH, self._operator_ends, (group, core, job, progress))
                return
            kernel.now = start = end
            if not self._step_on(job, progress):
                self._end(group, core, job)
                return
            if self.more_now():
                self.at(start, DECISION, self._continue, (group, core, job))
                return
            if not self._may_go_on(group, core, job):
                return

    def _operator_ends(self, argument: tuple[CoreGroup, int, ReadyJob, Stepping]) -> None:
        """An operator has ended at an instant at which other things happen too: go on after
        them."""
        group, core, job, progress = argument
        if self._step_on(job, progress):
            self.go_on_after_others(self._continue, (group, core, job))
        else:
            self._end(group, core, job)

    def _step_on(self, job: ReadyJob, progress: Stepping) -> bool:
        """An operator does what it does; whether another one follows."""
        if self._overseer is None:
            return progress.step_on()
        return self._give(job, progress.step_on, 0 if progress.until else progress.cost)

    def _give(self, job: ReadyJob, step: Callable[[], bool], cost: int) -> bool:
        """Takes a step of a job, at the expense of its budget if there is one: an optional part
        costs nothing, because it runs when nothing else would."""
        over = self._overseer
        if over is None:
            return step()
        over.works(job)
        more = step()
        over.worked(job, cost, cost)
        return more

    def go_on_after_others(
        self, function: Callable[[Any], None], argument: tuple[CoreGroup, int, ReadyJob]
    ) -> None:
        """Goes on with a job when everything else has happened at this instant."""
        if self._quick and not self.more_now():
            function(argument)
        else:
            self.at(self.kernel.now, DECISION, function, argument)

    def _continue(self, argument: tuple[CoreGroup, int, ReadyJob]) -> None:
        group, core, job = argument
        if self._may_go_on(group, core, job):
            self._step(group, core, job, self.kernel.now)

    def _may_go_on(self, group: CoreGroup, core: int, job: ReadyJob) -> bool:
        """Whether a job is to run its next operator now. If not it has given way, or an optional
        part was all it had left and is cut."""
        progress = job.progress
        if isinstance(progress, Stepping) and progress.until:
            if not group.ready and self.kernel.now + progress.cost <= progress.until:
                return True
            self.note_instant(EventKind.CUT, group, core, job)
            if not self._give(job, progress.cut, 0):
                self._end(group, core, job)
                return False
        if self.outranked(group, job):
            self.preempt(group, core, job)
            return False
        return True

    def preempt(self, group: CoreGroup, core: int, job: ReadyJob) -> None:
        """A job gives way, for the cost of a preemption."""
        if self._overseer is not None:
            job = job._replace(key=self._overseer.key_now(group.ready, job))
        self.kernel.preemptions += 1
        self.note_instant(EventKind.PREEMPT, group, core, job)
        group.penalty += group.preemption_cost
        heappush(group.ready, job)
        self.leave(group, core)

    def leave(self, group: CoreGroup, core: int) -> None:
        """A core is free."""
        group.free.append(core)
        self.waiting[group.index] = None

    def _end(self, group: CoreGroup, core: int, job: ReadyJob) -> None:
        self.leave(group, core)
        if job.flight is not None:
            self.kernel.land(job.flight)
        if self._overseer is not None:
            self._overseer.ended(job)

    # ---------------------------------------------------------------- trace

    def note_run(
        self,
        group: CoreGroup,
        core: int,
        job: ReadyJob,
        start: int,
        end: int,
        first: int,
        ran: int,
    ) -> None:
        """Operators of a job ran, one after the other."""
        record, unit = self.kernel.record, job.unit
        assert record is not None
        record((RUN, start, end, unit.node, group.places[core], unit.name, job.number, first, ran))

    def befell(self, kind: EventKind, job: ReadyJob) -> None:
        """Something befell a job on the only core of its group."""
        group = self.group_of[job.unit.index]
        (core,) = group.places
        self.note_instant(kind, group, core, job)

    def note_instant(self, kind: EventKind, group: CoreGroup, core: int, job: ReadyJob) -> None:
        """Something befell a job on a core."""
        kernel = self.kernel
        if kernel.record:
            now, place, unit = kernel.now, group.places[core], job.unit
            kernel.record((kind, now, now, unit.node, place, unit.name, job.number, 0, 0))


def core_groups(
    node: Node, units: Sequence[Unit], first: int, *, partitioned: bool
) -> list[CoreGroup]:
    """Global: one queue for all cores. Partitioned, where the run or the node asks for it: each
    unit has its core."""
    if not (partitioned or node.partitioned) or node.cores == 1:
        return [CoreGroup(first, node, range(node.cores), units)]
    shared = [
        frozenset(unit.operators[step.first] for step in unit.steps if step.stateful is not None)
        for unit in units
    ]
    core_of = cores_of_trains([unit.cost for unit in units], shared, node.cores)
    return [
        CoreGroup(
            first + core,
            node,
            [core],
            [unit for unit, its in zip(units, core_of, strict=True) if its == core],
        )
        for core in range(node.cores)
    ]
