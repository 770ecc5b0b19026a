"""The kernel with reservations: admission at release, budgets at the borders of operators.

A job whose budget does not hold its next operator becomes overrun if another job is ready, and goes
on when none is. Operators are not interrupted, so unlike in a task set

- what is left of a budget when the next operator does not fit is not used,
- a job that comes while an overrun or less urgent one runs waits for that one's operator to end.

Operators that say ``preempt: between_items`` have borders between their items as well."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from heapq import heappush
from typing import Any

from headway.compiler.latency.soft_room import needed_by_hard
from headway.model.plan import Plan
from headway.runtime.kernel import Kernel
from headway.runtime.operators.base import DropKind, Dropped, Row
from headway.runtime.processor import Processor, Ready
from headway.runtime.reserving.books import Books, Key, PathJob, key_of, spends
from headway.runtime.reserving.path_tasks import PathTasks
from headway.runtime.reserving.policing import Entrance
from headway.runtime.trace import EventKind
from headway.runtime.units import Flight, Program, Unit
from headway.schedule.online.policy import Policy
from headway.schedule.online.reservation import WAITING, ReservationPolicy

FULL_UP = "no processor time is left to reserve"
Train = tuple[Unit, str, Row, Any, int, bool, Any, Flight | None]
"""a unit and a tuple for it, as they are queued"""
UNKNOWN = 0xFFFF
"""the source of what a timer or a window made"""


class ReservingKernel(Kernel):
    """Runs a program under a policy that reserves."""

    def __init__(self, plan: Plan, program: Program, policy: Policy, **others: Any) -> None:
        super().__init__(plan, program, policy, **others)
        assert isinstance(policy, ReservationPolicy)
        self._books = Books(PathTasks(plan, program), policy)
        self._jobs: dict[int, PathJob] = {}
        """number of a queued train -> its job"""
        self._at_work: PathJob | None = None
        """whose operator ends now"""
        self._held_back: dict[int, list[Train]] = {}
        """job number -> its trains, while it waits for another job of its task"""
        graph = program.graph
        self._source_names = list(graph.sources)
        self._source_numbers = {name: i for i, name in enumerate(self._source_names)}
        self._origins = array("H", [UNKNOWN])
        """root -> its source"""
        self._policed = {
            name: Entrance(curve, self._entrance[name], program)
            for name, source in graph.sources.items()
            if (curve := source.arrivals) is not None and needed_by_hard(name, graph)
        }
        self._lanes = {}  # every job has to be admitted, so none takes the short way
        for unit in program.units:
            if not unit.free:
                unit.whole = None  # operator by operator: budgets are looked at in between

    def _source_of(self, root: int) -> str | None:
        number = self._origins[root]
        return None if number == UNKNOWN else self._source_names[number]

    # ---------------------------------------------------------------- entering

    def enter(self, source: str, row: Row, late: bool) -> None:
        self._origins.append(self._source_numbers[source])
        entrance = self._policed.get(source)
        if entrance is None or entrance.policer.lets_in(self.now):
            super().enter(source, row, late)
            return
        self._roots += 1
        self.take_side([Dropped(source, DropKind.REJECTED, row, entrance.reason)])
        for sink in entrance.sinks:
            sink(row, self.now)
        for unit, port in entrance.takers:
            self.offer(unit, port, row, self._roots, late)

    def emit(self, unit: Unit, rows: list[Row]) -> None:
        for row in rows:
            self._origins.append(UNKNOWN)
            super().emit(unit, [row])

    # ---------------------------------------------------------------- admission

    def queue(
        self, unit: Unit, port: str, row: Row, key: Any, root: int, late: bool, given: Any,
        flight: Flight | None,
    ) -> None:  # fmt: skip
        items = 1
        if unit.gathering is not None and given is not None:
            items = sum(map(len, given[0].values()))
        source = self._source_of(root)
        job = self._books.release(unit, port, source, key, self.now, items, self._at_work)
        if job is None:
            self._reject(unit, port, row, given, source)
            if flight is not None:
                flight.landed = True
        elif job.due == WAITING:
            train = (unit, port, row, key, root, late, given, flight)
            self._held_back.setdefault(job.number, []).append(train)
        else:
            self._queue_for(job, (unit, port, row, key, root, late, given, flight))

    def _queue_for(self, job: PathJob, train: Train) -> None:
        unit, port, row, key, *more = train
        super().queue(unit, port, row, key_of(job, key), *more)
        self._jobs[self._number] = job

    def _reject(self, unit: Unit, port: str, row: Row, given: Any, source: str | None) -> None:
        """Every tuple that is lost is listed: of a gathering all that were gathered."""
        hard = self._books.hard(unit, source)
        self.refused += hard
        reason = FULL_UP + " for a hard output" * hard
        lost = [(port, row)]
        if unit.gathering is not None and given is not None:
            lost = [(by, one) for by, rows in given[0].items() for one in rows]
        head = unit.operators[0]
        if given is None:
            self.consumed[head] += 1  # of what was gathered it is known already
        self.take_side([Dropped(head, DropKind.SHED, one, reason, by) for by, one in lost])

    # ---------------------------------------------------------------- budgets

    def slots(
        self, unit: Unit, port: str, row: Row, root: int, late: bool, given: Any
    ) -> Iterator[tuple[int, int]]:
        for slot in super().slots(unit, port, row, root, late, given):
            yield slot
            if self._at_work is not None:
                self._at_work.budget -= slot[1]

    def _key_now(self, processor: Processor, ready: Ready) -> Key:
        """The key of a job before its next operator, for which its budget must do."""
        assert ready.slot is not None
        job = self._jobs[ready.number]
        others = bool(processor.ready) and processor.ready[0].key[0] == 0
        if spends(job, ready.slot[1], others=others):
            self._note(EventKind.OVERRUN, processor, ready)
        return key_of(job, ready.key[1])

    def _step(self, processor: Processor, core: int, job: Ready, start: int) -> None:
        key = self._key_now(processor, job)
        if key != job.key:
            job = job._replace(key=key)
            if processor.ready and processor.ready[0].key < key:
                heappush(processor.ready, job)
                processor.free.append(core)
                self._waiting[processor.index] = None
                return
            if key[0]:  # it has overrun, but nothing else is ready
                self._note(EventKind.REPLENISH, processor, job)
        self._at_work = self._jobs[job.number]
        super()._step(processor, core, job, start)
        self._at_work = None

    def _slot_ends(self, argument: tuple[Processor, int, Ready]) -> None:
        self._at_work = self._jobs[argument[2].number]
        super()._slot_ends(argument)
        self._at_work = None

    def _should_yield(self, processor: Processor, job: Ready) -> bool:
        key = self._key_now(processor, job)
        return bool(processor.ready) and bool(processor.ready[0].key < key)

    def _preempt(self, processor: Processor, core: int, job: Ready) -> None:
        super()._preempt(processor, core, job._replace(key=self._key_now(processor, job)))

    def _end(self, processor: Processor, core: int, job: Ready) -> None:
        self._at_work = None  # what windows give out now is not of this job
        super()._end(processor, core, job)
        following = self._books.ended(self._jobs.pop(job.number), self.now)
        if following is not None:
            for train in self._held_back.pop(following.number, []):
                self._queue_for(following, train)

    # ---------------------------------------------------------------- trace

    def _instant(self, kind: EventKind, processor: Processor, core: int, job: Ready) -> None:
        if kind is EventKind.RESUME and job.key[0]:
            kind = EventKind.REPLENISH
        super()._instant(kind, processor, core, job)

    def _note(self, kind: EventKind, processor: Processor, job: Ready) -> None:
        (core,) = processor.places
        super()._instant(kind, processor, core, job)
