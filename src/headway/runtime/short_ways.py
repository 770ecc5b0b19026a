"""Short ways through the kernel: a source's lane into its only train, batches of waiting tuples.

They give the same results at the same times as the long way, only with less work for each tuple.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from heapq import heappush
from operator import itemgetter
from typing import Any

from headway.model.quantities import MICROSECOND
from headway.runtime.core import Core
from headway.runtime.happenings import FINISH, NEVER, Arrival
from headway.runtime.lane import Lane
from headway.runtime.operators.base import Row
from headway.runtime.processor import Processor, Ready
from headway.runtime.trace import EventKind
from headway.runtime.units import Unit
from headway.runtime.wires import Wire

RUN, BATCH = int(EventKind.RUN), int(EventKind.BATCH)
BACKLOG = "backlog"
"""what a job is given that stands for all tuples waiting before its unit"""
_timestamp = itemgetter(0)
make_ready = tuple.__new__
"""makes a Ready from a tuple without its slower constructor: this is the hot path"""


class ShortWays(Core):
    """The part of the virtual-time kernel that handles many like tuples quickly."""

    _events: list[tuple[int, int, int, Callable[[Any], None], Any]]
    _next_arrival: int
    _arrival: Arrival | None
    _source: Iterator[Arrival]
    _batch_budget: int
    _processor_of: list[Processor]
    _waiting: dict[int, None]

    @abstractmethod
    def _quiet(self, processor: Processor, end: int) -> bool:
        """Whether nothing else happens before ``end``, nor at it but arrivals."""

    def _lane_of(self, source: str, wire: Wire) -> Lane | None:
        ingest = self.ingests[source]
        if wire.outputs or wire.sent or len(wire.units) != 1 or ingest.shedder is not None:
            return None
        ((unit, port),) = wire.units
        processor = self._processor_of[unit.index]
        if unit.whole is None or unit.free or self.program.windows or processor.cores > 1:
            return None
        place, leaving = processor.places[processor.free[0]], self._exits[unit.index]
        return Lane(
            source,
            ingest,
            wire,
            unit,
            port,
            processor,
            place,
            unit.whole,
            unit.whole.count,
            leaving,
            self._batch_budget // unit.cost,
        )

    def _arrive_by_lane(self, lane: Lane, row: Any) -> None:
        """The short way from a source into its only train: run at once if the node is idle and
        stays undisturbed, else queue."""
        source, ingest, entrance, unit, port, processor, place, whole, run, leaving, most = lane
        if not ingest.fits(row):
            self.arrive(source, row)
            return
        self._roots = root = self._roots + 1
        entrance.passed += 1
        timestamp = row[0]
        late = ingest.mark(timestamp)
        start = self.now + processor.decision_cost
        end = start + unit.cost
        events = self._events
        if (
            end > self._next_arrival
            or self._waiting
            or processor.ready
            or not processor.free
            or processor.penalty
            or (events and events[0][0] <= end)
        ):
            if late or most < 2:
                key = unit.key(timestamp * MICROSECOND, root)
                self._number += 1
                job = (key, self._number, unit, port, row, root, late, None, None, None, None)
                heappush(processor.ready, make_ready(Ready, job))
                if processor.free:
                    self._waiting[processor.index] = None
            else:
                self._add_to_backlog(lane, row)
            return
        self.decisions += 1
        row, ran = run(row)
        unit.ran[ran] += 1
        self.now = end = start + unit.spent[ran]
        if self._record:
            self._number += 1
            self._record((RUN, start, end, unit.node, place, unit.name, self._number, 0, ran))
        if row is not None:
            self.pass_on(leaving, row, root, late)
        elif whole.side:
            self.take_side(whole.take_side())

    def _add_to_backlog(self, lane: Lane, row: Row) -> None:
        """Puts a tuple with those that wait to run as a batch, and with it all further arrivals of
        this source before anything else can happen. A tuple older than those waiting is scheduled
        by itself."""
        ingest, unit, name = lane.ingest, lane.unit, lane.source
        fits, mark = ingest.fits, ingest.mark
        events = self._events
        until = self.now
        if not lane.processor.free:
            until = events[0][0] - 1 if events else NEVER
        taken = [row]
        append = taken.append
        source, following = self._source, self._arrival
        while following is not None and following[1] == name and following[0] <= until:
            row = following[2]
            if not fits(row) or mark(row[0]):
                break  # by the long way: not of the right form, or late
            append(row)
            following = next(source, None)
        self._arrival = following
        self._next_arrival = NEVER if following is None else following[0]
        more = len(taken) - 1
        self.arrived += more
        self._roots += more
        lane.entrance.passed += more
        taken.sort(key=_timestamp)
        backlog, port = unit.backlog, lane.port
        if not backlog:
            key = unit.key(taken[0][0] * MICROSECOND, self._roots)
            self.queue(unit, port, taken[0], key, self._roots, False, BACKLOG, None)
        for row in backlog.add(taken):
            key = unit.key(row[0] * MICROSECOND, self._roots)
            self.queue(unit, port, row, key, self._roots, False, None, None)

    def _run_batch(self, processor: Processor, core: int, job: Ready, start: int) -> None:
        """Runs as much of a unit's backlog as the budget allows, without a decision in between.

        What is less urgent than another waiting job stays: without new arrivals the order is that
        of single tuples, so only what arrives meanwhile is held up, for the budget at most.
        """
        unit, whole, ready = job.unit, job.unit.whole, processor.ready
        assert whole is not None
        backlog, root, key = unit.backlog, job.root, unit.key
        rows = backlog.take(
            self._batch_budget // unit.cost,
            lambda row: key(row[0] * MICROSECOND, root),
            ready[0].key if ready else None,
        )
        if backlog:
            following = key(backlog.oldest * MICROSECOND, root)
            self.queue(unit, job.port, job.row, following, root, False, BACKLOG, None)
        results, ended = whole.tally(rows)
        time = len(rows) * unit.cost
        passed = len(rows)
        for index, count in enumerate(ended):
            if count:
                time -= count * (unit.cost - unit.spent[index + 1])
                unit.ran[index + 1] += count
                passed -= count
        unit.ran[-1] += passed
        if whole.side:
            self.take_side(whole.take_side())
        end = start + time
        if self._record:
            place, count = processor.places[core], len(rows)
            self._record((BATCH, start, end, unit.node, place, unit.name, job.number, 0, count))
        done = (processor, core, unit, results, job.root)
        if self._quiet(processor, end):
            self.now = end
            self._batch_ends(done)
        else:
            self.at(end, FINISH, self._batch_ends, done)

    def _batch_ends(self, argument: tuple[Processor, int, Unit, list[Row], int]) -> None:
        processor, core, unit, results, root = argument
        processor.free.append(core)
        self._waiting[processor.index] = None
        self.pass_on_many(self._exits[unit.index], results, root)
