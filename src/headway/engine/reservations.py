"""Reservations: admission at release, budgets at the borders of operators, by either clock.

The jobs of a reservation are tuples on operator paths (:mod:`headway.engine.path_tasks`); each node
has a ledger that is told of releases and completions. A job whose budget does not hold its next
operator becomes overrun if another job is ready, and goes on when none is. Operators are not
interrupted, so unlike in a task set

- what is left of a budget when the next operator does not fit is not used,
- a job that comes while an overrun or less urgent one runs waits for that one's operator to end.

Operators that say ``preempt: between_items`` have borders between their items as well.

In virtual time an operator takes what it declares. In wall-clock time a budget is charged with the
time that the operator really took, what it passes on included: a budget is there so that a job that
takes longer than it said does so at its own expense and not at that of a hard one, and only a
measured time shows that. Whether the *next* operator fits is asked by its declared cost, since
nothing else is known of it. So a budget can become negative by one operator's excess; the job that
caused it is the one that overruns. A tuple is admitted as of the time it was due, though a busy
engine takes it in later: as in virtual time, where it would have come in the middle of an operator.

What declares no cost reserves nothing: in wall-clock time, where it takes some, it belongs to the
job that made its tuple, and is charged to it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping

from headway.engine.jobs import ReadyJob, Stepping, tuples_of
from headway.engine.operators.operator_base import DropKind, Dropped
from headway.engine.overseer import OverseenTime
from headway.engine.program import Unit
from headway.engine.reserved_paths import PathPlace, Policer, ReservedPaths
from headway.engine.trace import EventKind
from headway.model.taskset import FULL
from headway.model.user_operator import Row
from headway.schedule.online.policy import Key
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
MOST_ORIGINS = 1 << 21
"""tuples whose source is remembered: far more than are on their way"""

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

    def __init__(self, paths: ReservedPaths, policy: ReservationPolicy) -> None:
        self._paths = paths
        self.ledgers: Mapping[str, Ledger] = {
            node: policy.open_for_tuples(facts, paths.overheads.get(node, 0))
            for node, facts in paths.facts.items()
        }
        self._number = 0

    def release(
        self, unit: Unit, port: str, source: str | None, place: PathPlace, deadline: int, now: int,
        items: int,
    ) -> PathJob | None:  # fmt: skip
        """A new job for a tuple before a unit; none if it is not admitted. ``deadline`` is the
        unit's (ns); ``items`` counts what was gathered."""
        work = self._paths.work(unit.name, port, source)
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


class Reservations:
    """Oversees a run under a policy that reserves: polices its sources, admits its jobs and looks
    at their budgets. Every job is admitted, so none takes the fast path."""

    def __init__(
        self,
        paths: ReservedPaths,
        time: OverseenTime,
        policy: ReservationPolicy,
        *,
        most_held_back: int | None = None,
    ) -> None:
        """``most_held_back`` jobs may wait for others of their task (CBS); a soft one that comes
        then is turned away."""
        self._time, self._kernel = time, time.kernel
        self.books, self._paths = Books(paths, policy), paths
        self.admitted: dict[int, PathJob] = {}
        """number of a queued or begun train -> its job; those not in it reserve nothing"""
        self.held_back: dict[int, list[ReadyJob]] = {}
        """job number -> its trains, while it waits for another job of its task"""
        self._most_held_back = most_held_back
        self._at_work: PathJob | None = None
        """whose operator ends now"""
        self._source_numbers = {name: i for i, name in enumerate(paths.sources)}
        self._origins = array("H", [UNKNOWN])
        """root -> its source, of the last roots"""
        self._first_root = 0
        graph = time.kernel.program.graph
        self._policers = {
            name: Policer(curve)
            for name in paths.entrances
            if name in graph.sources and (curve := graph.sources[name].arrivals) is not None
        }
        time.overseen(self)

    # ---------------------------------------------------------------- entering

    def lets_in(self, source: str, row: Row, root: int, late: bool) -> bool:
        """Notes where a tuple comes from. One beyond the declared rate of a hard path is listed as
        rejected, and goes to soft trains only."""
        self._note_origin(root, self._source_numbers[source])
        policer, kernel = self._policers.get(source), self._kernel
        if policer is None or policer.lets_in(kernel.now):
            return True
        entrance, wire = self._paths.entrances[source], kernel.entrances[source]
        kernel.take_side([Dropped(source, DropKind.REJECTED, row, entrance.reason)])
        for name, sink in zip(wire.output_names, wire.outputs, strict=True):
            if name in entrance.outputs:
                sink(row, kernel.now)
        for unit, port in wire.units:
            if (unit.name, port) in entrance.units:
                kernel.offer(unit, port, row, root, late)
        return False

    def _note_origin(self, root: int, source: int) -> None:
        origins = self._origins
        origins.extend([UNKNOWN] * (root - self._first_root - len(origins)))
        origins.append(source)
        if len(origins) > MOST_ORIGINS:  # a run by the wall clock may go on for days
            forgotten = len(origins) // 2
            del origins[:forgotten]
            self._first_root += forgotten

    def _origin(self, root: int) -> int:
        place = root - self._first_root
        return self._origins[place] if 0 <= place < len(self._origins) else UNKNOWN

    def _source_of(self, root: int) -> str | None:
        number = self._origin(root)
        return None if number == UNKNOWN else self._paths.sources[number]

    # ---------------------------------------------------------------- between processes

    def leaving(self, root: int) -> int:
        """In place of a root that leaves for another process: its source, which is all that is
        asked for there."""
        return self._origin(root)

    def coming(self, source: int) -> int:
        """A root of our own for a tuple that another process let :meth:`leaving`."""
        kernel = self._kernel
        kernel.roots += 1
        self._note_origin(kernel.roots, source if source < len(self._paths.sources) else UNKNOWN)
        return kernel.roots

    # ---------------------------------------------------------------- admission

    def admit(self, job: ReadyJob) -> ReadyJob | None:
        """A tuple belongs to the job of the train that made it, if both are on one path; else it
        is a new job, if that is admitted."""
        source, cause = self._source_of(job.root), self._at_work
        place = self._paths.place(job.unit.name, source)
        if cause is not None and (place is None or cause.place == place):
            cause.pending += 1
            return self._in_turn(cause, job)
        if place is None:
            return job._replace(key=(0, job.key))
        most = self._most_held_back
        if most is not None and len(self.held_back) >= most and not place.hard:
            self._kernel.lose(job, f"{most:,} jobs wait for others of their task")
            return None
        found = self.books.release(
            job.unit, job.port, source, place, job.key, self._kernel.now, tuples_of(job)
        )
        if found is None:
            self._reject(job, place)
            return None
        return self._in_turn(found, job)

    def _in_turn(self, job: PathJob, train: ReadyJob) -> ReadyJob | None:
        """The train, unless its job waits for another of its task."""
        if job.due == WAITING:
            self.held_back.setdefault(job.number, []).append(train)
            return None
        return self._admitted(job, train)

    def _admitted(self, job: PathJob, train: ReadyJob) -> ReadyJob:
        self.admitted[train.number] = job
        return train._replace(key=job.key(train.key))

    def _reject(self, job: ReadyJob, place: PathPlace) -> None:
        """Every tuple that is lost is listed: of a gathering all that were gathered."""
        self._kernel.refused += place.hard
        self._kernel.lose(job, FULL_UP + " for a hard output" * place.hard)

    # ---------------------------------------------------------------- budgets

    def before_choice(self, ready: list[ReadyJob]) -> None:
        """Keys change only as jobs run."""

    def key_now(self, ready: list[ReadyJob], job: ReadyJob) -> Key:
        """The key of a job before its next operator, for which its budget must do."""
        assert isinstance(job.progress, Stepping)
        found = self.admitted.get(job.number)
        if found is None:
            return job.key
        others = bool(ready) and ready[0].key[0] == 0
        if found.overruns(job.progress.cost, others=others):
            self._time.befell(EventKind.OVERRUN, job)
        return found.key(job.key[1])

    def goes_on(self, job: ReadyJob) -> None:
        if job.key[0]:  # it has overrun, but nothing else is ready
            self._time.befell(EventKind.REPLENISH, job)

    def resumed(self, job: ReadyJob) -> EventKind:
        return EventKind.REPLENISH if job.key[0] else EventKind.RESUME

    def works(self, job: ReadyJob) -> None:
        self._at_work = self.admitted.get(job.number)

    def worked(self, job: ReadyJob, declared: int, taken: int) -> None:
        if self._at_work is not None:
            self._at_work.budget -= taken
        self._at_work = None  # what windows give out now is not of this job

    def ended(self, job: ReadyJob) -> None:
        found = self.admitted.pop(job.number, None)
        following = None if found is None else self.books.ended(found, self._kernel.now)
        if following is not None:
            for train in self.held_back.pop(following.number, []):
                numbered = train._replace(number=self._kernel.number + 1)
                self._time.queue(self._admitted(following, numbered))

    def not_yet(self) -> Iterator[ReadyJob]:
        for trains in self.held_back.values():
            yield from trains
