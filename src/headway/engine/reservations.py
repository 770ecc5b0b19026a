"""Reservations in virtual time: admission at release, budgets at the borders of operators.

The jobs of a reservation are tuples on operator paths (:mod:`headway.engine.path_tasks`); each node
has a ledger that is told of releases and completions. A job whose budget does not hold its next
operator becomes overrun if another job is ready, and goes on when none is. Operators are not
interrupted, so unlike in a task set

- what is left of a budget when the next operator does not fit is not used,
- a job that comes while an overrun or less urgent one runs waits for that one's operator to end.

Operators that say ``preempt: between_items`` have borders between their items as well."""

from __future__ import annotations

from array import array
from collections.abc import Mapping

from headway.compiler.latency.soft_room import needed_by_hard
from headway.engine.jobs import FRESH_TUPLE, GatheredBatch, ReadyJob, Stepping
from headway.engine.operators.operator_base import DropKind, Dropped
from headway.engine.path_tasks import Entrance, PathPlace, PathTasks
from headway.engine.program import Unit
from headway.engine.trace import EventKind
from headway.engine.virtual_time import CoreGroup, VirtualTime
from headway.model.plan import Plan
from headway.model.taskset import FULL
from headway.model.user_operator import Row
from headway.schedule.online.reservation import (
    UNLIMITED,
    WAITING,
    JobState,
    Ledger,
    ReservationPolicy,
    ReservedJob,
    Used,
)

FULL_UP = "no processor time is left to reserve"
UNKNOWN = 0xFFFF
"""the source of what a timer or a window made"""

ReservedKey = tuple[int, int]
"""(0: ready, 1: overrun; deadline), as the engine orders jobs"""


class PathJob(ReservedJob):
    """A tuple on an operator path of one node."""

    __slots__ = ("ledger", "pending", "place")

    def __init__(
        self, ledger: Ledger, place: PathPlace, now: int, deadline: int, left: int
    ) -> None:
        use = -(-left * FULL // (deadline - now)) if deadline > now else FULL + 1
        super().__init__(place.task, now, deadline, left, use, 0)
        self.ledger = ledger
        self.place = place
        self.pending = 0
        """trains that still have to run for it"""

    def key(self, deadline: int) -> ReservedKey:
        """How a train of the job is ordered; ``deadline`` is the train's own."""
        if self.state is JobState.OVERRUN:
            return 1, self.deadline
        return 0, self.due if self.ledger.moves else deadline

    def overruns(self, time: int, *, others: bool) -> bool:
        """Before an operator that takes ``time``: whether the job has overrun now. An operator that
        the budget does not hold to its end is not begun while another job is ready."""
        ledger = self.ledger
        if self.state is JobState.OVERRUN or self.budget >= time or not ledger.overloaded:
            return False
        if not others and ledger.alone(self):
            return False
        while self.budget < time:
            if ledger.used(self) is Used.OVERRUN:
                self.state = JobState.OVERRUN
                return True
        return False


class Books:
    """What is reserved on every node, and for which tuples."""

    def __init__(self, tasks: PathTasks, policy: ReservationPolicy) -> None:
        self._tasks = tasks
        self.ledgers: Mapping[str, Ledger] = {
            node: policy.open_for_tuples(facts, tasks.overheads.get(node, 0))
            for node, facts in tasks.facts.items()
        }
        self._number = 0

    def release(
        self, unit: Unit, port: str, source: str | None, deadline: int, now: int, items: int,
        cause: PathJob | None,
    ) -> PathJob | None:  # fmt: skip
        """The job of a tuple before a unit: that of the train which made it, if both are on one
        path, else a new one; none if that is not admitted. ``deadline`` is the unit's (ns);
        ``items`` counts what was gathered."""
        place = self._tasks.place(unit, source)
        if cause is not None and cause.place == place:
            cause.pending += 1
            return cause
        work = self._tasks.work(unit, port, source)
        until = deadline + work.last - unit.task.relative_deadline
        ledger = self.ledgers[place.node]
        job = PathJob(ledger, place, now, until, work.of(items))
        self._number += 1
        job.number = self._number
        if place.hard and not work.bounded:
            job.left = UNLIMITED
        ledger.returns_until(now)
        if not ledger.admit(job):
            return None
        job.state = JobState.READY
        job.pending = 1
        return job

    def ended(self, job: PathJob, now: int) -> PathJob | None:
        """A train has run; if it was the job's last, its reservation is returned. Gives a job
        that waited for this one (CBS)."""
        job.pending -= 1
        if job.pending:
            return None
        job.state = JobState.DORMANT
        following = job.ledger.on_complete(job, now)
        assert following is None or isinstance(following, PathJob)
        return following

    def hard(self, unit: Unit, source: str | None) -> bool:
        return self._tasks.place(unit, source).hard


class Reservations:
    """Oversees a run under a policy that reserves: polices its sources, admits its jobs and looks
    at their budgets. Every job is admitted, so none takes the fast path."""

    def __init__(self, plan: Plan, time: VirtualTime, policy: ReservationPolicy) -> None:
        self._time, self._kernel = time, time.kernel
        program = time.kernel.program
        self.books = Books(PathTasks(plan, program), policy)
        self.admitted: dict[int, PathJob] = {}
        """number of a queued or begun train -> its job"""
        self.held_back: dict[int, list[ReadyJob]] = {}
        """job number -> its trains, while it waits for another job of its task"""
        self._at_work: PathJob | None = None
        """whose operator ends now"""
        graph = program.graph
        self._source_names = list(graph.sources)
        self._source_numbers = {name: i for i, name in enumerate(self._source_names)}
        self._origins = array("H", [UNKNOWN])
        """root -> its source"""
        self._policed = {
            name: Entrance(curve, time.kernel.entrances[name], program)
            for name, source in graph.sources.items()
            if (curve := source.arrivals) is not None and needed_by_hard(name, graph)
        }
        time.overseen(self, self)

    # ---------------------------------------------------------------- entering

    def lets_in(self, source: str, row: Row, root: int, late: bool) -> bool:
        """Notes where a tuple comes from. One beyond the declared rate of a hard path is listed as
        rejected, and goes to soft trains only."""
        self._origins.extend([UNKNOWN] * (root - len(self._origins)))
        self._origins.append(self._source_numbers[source])
        entrance, kernel = self._policed.get(source), self._kernel
        if entrance is None or entrance.policer.lets_in(kernel.now):
            return True
        kernel.take_side([Dropped(source, DropKind.REJECTED, row, entrance.reason)])
        for sink in entrance.sinks:
            sink(row, kernel.now)
        for unit, port in entrance.takers:
            kernel.offer(unit, port, row, root, late)
        return False

    def _source_of(self, root: int) -> str | None:
        number = self._origins[root] if root < len(self._origins) else UNKNOWN
        return None if number == UNKNOWN else self._source_names[number]

    # ---------------------------------------------------------------- admission

    def admit(self, job: ReadyJob) -> ReadyJob | None:
        items = job.work.items if isinstance(job.work, GatheredBatch) else 1
        source = self._source_of(job.root)
        found = self.books.release(
            job.unit, job.port, source, job.key, self._kernel.now, items, self._at_work
        )
        if found is None:
            self._reject(job, source)
            if job.flight is not None:
                job.flight.landed = True
            return None
        if found.due == WAITING:
            self.held_back.setdefault(found.number, []).append(job)
            return None
        return self._admitted(found, job)

    def _admitted(self, job: PathJob, train: ReadyJob) -> ReadyJob:
        self.admitted[train.number] = job
        return train._replace(key=job.key(train.key))

    def _reject(self, job: ReadyJob, source: str | None) -> None:
        """Every tuple that is lost is listed: of a gathering all that were gathered."""
        hard = self.books.hard(job.unit, source)
        self._kernel.refused += hard
        reason = FULL_UP + " for a hard output" * hard
        lost = [(job.port, job.row)]
        if isinstance(job.work, GatheredBatch):
            lost = [(port, row) for port, rows in job.work.rows.items() for row in rows]
        head = job.unit.operators[0]
        if job.work is FRESH_TUPLE:
            self._kernel.consumed[head] += 1  # of what was gathered it is known already
        self._kernel.take_side([Dropped(head, DropKind.SHED, row, reason, by) for by, row in lost])

    # ---------------------------------------------------------------- budgets

    def before_choice(self, group: CoreGroup) -> None:
        """Keys change only as jobs run."""

    def key_now(self, group: CoreGroup, job: ReadyJob) -> ReservedKey:
        """The key of a job before its next operator, for which its budget must do."""
        assert isinstance(job.progress, Stepping)
        found = self.admitted[job.number]
        others = bool(group.ready) and group.ready[0].key[0] == 0
        if found.overruns(job.progress.cost, others=others):
            self._note(EventKind.OVERRUN, group, job)
        return found.key(job.key[1])

    def goes_on(self, group: CoreGroup, job: ReadyJob) -> None:
        if job.key[0]:  # it has overrun, but nothing else is ready
            self._note(EventKind.REPLENISH, group, job)

    def resumed(self, job: ReadyJob) -> EventKind:
        return EventKind.REPLENISH if job.key[0] else EventKind.RESUME

    def spent(self, job: ReadyJob, time: int) -> None:
        self._at_work = self.admitted[job.number]
        self._at_work.budget -= time

    def gave(self, job: ReadyJob) -> None:
        self._at_work = None  # what windows give out now is not of this job

    def ended(self, job: ReadyJob) -> None:
        following = self.books.ended(self.admitted.pop(job.number), self._kernel.now)
        if following is not None:
            for train in self.held_back.pop(following.number, []):
                numbered = train._replace(number=self._kernel.number + 1)
                self._time.queue(self._admitted(following, numbered))

    def _note(self, kind: EventKind, group: CoreGroup, job: ReadyJob) -> None:
        (core,) = group.places
        self._time.note_instant(kind, group, core, job)
