"""The fast path of virtual time: a source's lane into its only train, whole trains as one function,
batches of waiting tuples.

Where a train is stateless it takes the place of the kernel's entrance and of the choosing and
stepping of :mod:`headway.engine.virtual_time`, and gives the same results at the same times with
less work for each tuple. Batches, which the plan's promises must allow, are the exception: they
hold up what arrives meanwhile, for their budget at most.

Keys are asked for here as in :meth:`Kernel.release <headway.engine.kernel.Kernel.release>`, and not
again: a policy whose keys change while a job waits must not take this path.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from heapq import heappop, heappush
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from headway.engine.ingest import Ingest
from headway.engine.jobs import (
    DECISION,
    FINISH,
    FRESH_TUPLE,
    NEVER,
    WAITING_TUPLES,
    FusedCourse,
    ReadyJob,
    make_job,
)
from headway.engine.kernel import Outlet
from headway.engine.operators.fused import Fused
from headway.engine.program import Unit
from headway.engine.trace import EventKind
from headway.model.quantities import MICROSECOND
from headway.model.user_operator import Row

if TYPE_CHECKING:
    from headway.engine.virtual_time import CoreGroup, VirtualTime

RUN, BATCH = int(EventKind.RUN), int(EventKind.BATCH)
PROGRESS = ReadyJob._fields.index("progress")
_timestamp = itemgetter(0)


class Backlog:
    """Tuples of a train that wait to run as batches, the oldest first. One entry in the queue
    stands for all of it, as urgent as its oldest tuple; so a tuple older than that must not be
    added."""

    __slots__ = ("_begin", "_disordered", "_rows")

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._begin = 0
        self._disordered = False

    def __len__(self) -> int:
        return len(self._rows) - self._begin

    @property
    def oldest(self) -> int:
        timestamp: int = self._rows[self._begin][0]
        return timestamp

    def add(self, rows: list[Row]) -> list[Row]:
        """Takes up rows in order of time; gives back those that are older than its oldest."""
        kept = self._rows
        if not kept:
            self._rows = rows
            return []
        older: list[Row] = []
        if rows[0][0] < kept[-1][0]:
            place = bisect_right(rows, self.oldest - 1, key=_timestamp)
            older, rows = rows[:place], rows[place:]
            self._disordered = self._disordered or bool(rows)
        kept += rows
        return older

    def take(self, most: int, key: Callable[[Row], Any], limit: Any) -> list[Row]:
        """The next tuples: at least one, and of the others those not less urgent than ``limit``
        (None: no limit)."""
        rows, begin = self._rows, self._begin
        if self._disordered:
            rows = self._rows = sorted(rows[begin:], key=_timestamp)
            begin, self._disordered = 0, False
        end = min(begin + most, len(rows))
        if limit is not None:
            end = bisect_right(rows, limit, begin + 1, end, key=key)
        taken = rows[begin:end]
        if end == len(rows):
            self._rows, self._begin = [], 0
        elif 2 * end > len(rows):
            self._rows, self._begin = rows[end:], 0
        else:
            self._begin = end
        return taken


class Lane(NamedTuple):
    """A source whose tuples all enter one stateless train on a single core, and nothing else."""

    source: str
    ingest: Ingest
    arrived: Callable[[int], None] | None
    """holds the times against the declared rate"""
    entrance: Outlet
    unit: Unit
    port: str
    group: CoreGroup
    place: str
    whole: Fused
    run: Callable[[Row], tuple[Row | None, int]]
    exit: Outlet
    most: int
    """how many tuples the budget for batches allows at once"""


class FastPath:
    """The short cuts of one run; ``batch_budget``: how long (ns) a batch may take."""

    def __init__(self, time: VirtualTime, batch_budget: int) -> None:
        self._time, self._kernel = time, time.kernel
        self._batch_budget = batch_budget
        self._backlogs = [Backlog() for _ in time.kernel.program.units]
        """tuples that wait to run as a batch, by the index of their unit"""
        self.lanes = {
            name: lane
            for name, entrance in time.kernel.entrances.items()
            if (lane := self._lane_of(name, entrance)) is not None
        }

    # ---------------------------------------------------------------- arriving

    def _lane_of(self, source: str, entrance: Outlet) -> Lane | None:
        kernel = self._kernel
        ingest = kernel.ingests[source]
        only = len(entrance.units) == 1 and not entrance.outputs and not entrance.sent
        if not only or ingest.shedder is not None or kernel.program.windows:
            return None
        ((unit, port),) = entrance.units
        group = self._time.group_of[unit.index]
        if unit.whole is None or unit.free or group.cores > 1:
            return None
        return Lane(
            source,
            ingest,
            None if ingest.watch is None else ingest.watch.arrived,
            entrance,
            unit,
            port,
            group,
            group.places[group.free[0]],
            unit.whole,
            unit.whole.count,
            kernel.exits[unit.index],
            self._batch_budget // unit.cost,
        )

    def arrive(self, lane: Lane, row: Any) -> None:
        """From a source into its only train: run at once if the node is idle and stays
        undisturbed, else queue."""
        source, ingest, arrived, entrance, unit, port, group, place, whole, run, exit, most = lane
        time, kernel = self._time, self._kernel
        if not ingest.fits(row):
            kernel.arrive(source, row)
            return
        if arrived is not None:
            arrived(kernel.now)
        kernel.roots = root = kernel.roots + 1
        entrance.passed += 1
        timestamp = row[0]
        late = ingest.mark(timestamp)
        start = kernel.now + group.decision_cost
        end = start + unit.cost
        events = time.events
        if (
            end > time.next_arrival
            or time.waiting
            or group.ready
            or not group.free
            or group.penalty
            or (events and events[0][0] <= end)
        ):
            if late or most < 2:
                key = unit.key(timestamp * MICROSECOND, root)
                kernel.number = number = kernel.number + 1
                job = (key, number, unit, port, row, root, late, FRESH_TUPLE, None, None)
                heappush(group.ready, make_job(ReadyJob, job))
                if group.free:
                    time.waiting[group.index] = None
            else:
                self._add_to_backlog(lane, row)
            return
        kernel.decisions += 1
        row, ran = run(row)
        unit.ran[ran] += 1
        kernel.now = end = start + unit.spent[ran]
        if kernel.record:
            kernel.number = number = kernel.number + 1
            kernel.record((RUN, start, end, unit.node, place, unit.name, number, 0, ran))
        if row is not None:
            kernel.pass_on(exit, row, root, late)
        elif whole.side:
            kernel.take_side(whole.take_side())

    def _add_to_backlog(self, lane: Lane, row: Row) -> None:
        """Puts a tuple with those that wait to run as a batch, and with it all further arrivals of
        this source before anything else can happen. A tuple older than those waiting is scheduled
        by itself."""
        time, kernel = self._time, self._kernel
        ingest, unit, name = lane.ingest, lane.unit, lane.source
        fits, mark = ingest.fits, ingest.mark
        events = time.events
        until = kernel.now
        if not lane.group.free:
            until = events[0][0] - 1 if events else NEVER
        taken = [row]
        append, times = taken.append, list[int]()
        note = times.append
        source, following = time.arrivals, time.arrival
        while following is not None and following[1] == name and following[0] <= until:
            row = following[2]
            if not fits(row) or mark(row[0]):
                break  # by the long way: not of the right form, or late
            append(row)
            note(following[0])
            following = next(source, None)
        time.arrival = following
        time.next_arrival = NEVER if following is None else following[0]
        if ingest.watch is not None:
            ingest.watch.all_arrived(times)
        more = len(times)
        kernel.arrived += more
        kernel.roots += more
        lane.entrance.passed += more
        taken.sort(key=_timestamp)
        backlog = self._backlogs[unit.index]
        if not backlog:
            self._queue_waiting(unit, lane.port, taken[0], taken[0][0], kernel.roots)
        for row in backlog.add(taken):
            kernel.release(unit, lane.port, row, row[0], kernel.roots, False, FRESH_TUPLE)

    def _queue_waiting(self, unit: Unit, port: str, row: Row, oldest: int, root: int) -> None:
        """Queues the job that stands for all tuples waiting before a unit."""
        self._kernel.release(unit, port, row, oldest, root, False, WAITING_TUPLES)

    # ---------------------------------------------------------------- choosing

    def choose(self, group: CoreGroup) -> None:
        """Gives free cores the most urgent jobs, and runs them as far as nothing can happen."""
        time, kernel = self._time, self._kernel
        ready, waiting, events = group.ready, time.waiting, time.events
        while ready and group.free:
            if time.next_arrival <= kernel.now or (events and events[0][0] <= kernel.now):
                waiting[group.index] = None
                return
            waiting.pop(group.index, None)
            job = heappop(ready)
            _, number, unit, _, row, root, late, work, flight, progress = job
            kernel.decisions += 1
            start = kernel.now + group.decision_cost + group.penalty
            group.penalty = 0
            whole = unit.whole
            if whole is None:
                time.run_job(group, job, start)
            elif work is WAITING_TUPLES:
                self._run_batch(group, group.free.pop(), job, start)
            elif progress is not None:
                core = group.free.pop()
                time.note_instant(EventKind.RESUME, group, core, job)
                self._follow(group, core, job, start)
            elif time.quiet(group, start + unit.cost):
                result, ran = whole.count(row)
                unit.ran[ran] += 1
                kernel.now = end = start + unit.spent[ran]
                if kernel.record:
                    place = group.places[group.free[0]]
                    kernel.record((RUN, start, end, unit.node, place, unit.name, number, 0, ran))
                if result is not None:
                    kernel.pass_on(kernel.exits[unit.index], result, root, late)
                elif whole.side:
                    kernel.take_side(whole.take_side())
                if flight is not None:
                    kernel.land(flight)
            else:
                course = FusedCourse(*whole.count(row))
                begun = make_job(ReadyJob, (*job[:PROGRESS], course))
                self._follow(group, group.free.pop(), begun, start)

    # ---------------------------------------------------------------- whole trains

    def _follow(self, group: CoreGroup, core: int, job: ReadyJob, start: int) -> None:
        """Runs as many operators of a fused train at once as end before anything can happen, and
        the one that is under way then."""
        time, kernel, unit = self._time, self._kernel, job.unit
        course = job.progress
        assert isinstance(course, FusedCourse)
        first, ran, spent, events = course.done, course.ran, unit.spent, time.events
        begin = start - spent[first]
        if time.waiting or group.cores > 1:
            done = first
        else:
            undisturbed = time.next_arrival
            if events and events[0][0] <= undisturbed:
                undisturbed = events[0][0] - 1
            done = bisect_right(spent, undisturbed - begin, first + 1, ran + 1) - 1
        under_way = done < ran and (done == first or begin + spent[done] != time.next_arrival)
        course.done = done + under_way
        end = begin + spent[course.done]
        if kernel.record and course.done > first:
            time.note_run(group, core, job, start, end, first, course.done - first)
        if under_way:
            time.at(end, FINISH, self._operator_ends, (group, core, job, course))
            return
        kernel.now = end
        if done < ran:
            time.at(end, DECISION, self._continue, (group, core, job))
        else:
            self._end(group, core, job, course)

    def _operator_ends(self, argument: tuple[CoreGroup, int, ReadyJob, FusedCourse]) -> None:
        """An operator has ended at an instant at which other things happen too."""
        group, core, job, course = argument
        if course.done == course.ran:
            self._end(group, core, job, course)
        else:
            self._time.go_on_after_others(self._continue, (group, core, job))

    def _continue(self, argument: tuple[CoreGroup, int, ReadyJob]) -> None:
        group, core, job = argument
        if self._time.outranked(group, job):
            self._time.preempt(group, core, job)
        else:
            self._follow(group, core, job, self._kernel.now)

    def _end(self, group: CoreGroup, core: int, job: ReadyJob, course: FusedCourse) -> None:
        kernel, unit, whole = self._kernel, job.unit, job.unit.whole
        assert whole is not None
        unit.ran[course.ran] += 1
        if whole.side:
            kernel.take_side(whole.take_side())
        if course.result is not None:
            kernel.pass_on(kernel.exits[unit.index], course.result, job.root, job.late)
        self._time.leave(group, core)
        if job.flight is not None:
            kernel.land(job.flight)

    # ---------------------------------------------------------------- batches

    def _run_batch(self, group: CoreGroup, core: int, job: ReadyJob, start: int) -> None:
        """Runs as much of a unit's backlog as the budget allows, without a decision in between.

        What is less urgent than another waiting job stays: without new arrivals the order is that
        of single tuples, so only what arrives meanwhile is held up, for the budget at most.
        """
        time, kernel = self._time, self._kernel
        unit, whole, ready = job.unit, job.unit.whole, group.ready
        assert whole is not None
        backlog, root, key = self._backlogs[unit.index], job.root, unit.key
        rows = backlog.take(
            self._batch_budget // unit.cost,
            lambda row: key(row[0] * MICROSECOND, root),
            ready[0].key if ready else None,
        )
        if backlog:
            self._queue_waiting(unit, job.port, job.row, backlog.oldest, root)
        results, ended = whole.tally(rows)
        spent = len(rows) * unit.cost
        passed = len(rows)
        for index, count in enumerate(ended):
            if count:
                spent -= count * (unit.cost - unit.spent[index + 1])
                unit.ran[index + 1] += count
                passed -= count
        unit.ran[-1] += passed
        if whole.side:
            kernel.take_side(whole.take_side())
        end = start + spent
        if kernel.record:
            place, count = group.places[core], len(rows)
            kernel.record((BATCH, start, end, unit.node, place, unit.name, job.number, 0, count))
        done = (group, core, unit, results, root)
        if time.quiet(group, end):
            kernel.now = end
            self._batch_ends(done)
        else:
            time.at(end, FINISH, self._batch_ends, done)

    def _batch_ends(self, argument: tuple[CoreGroup, int, Unit, list[Row], int]) -> None:
        group, core, unit, results, root = argument
        self._time.leave(group, core)
        self._kernel.pass_on_many(self._kernel.exits[unit.index], results, root)
