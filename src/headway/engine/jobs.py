"""What waits and runs: arrivals, jobs and the work they are given, and the order at one instant."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, NamedTuple

from headway.engine.program import Flight, Unit
from headway.model.user_operator import Row

FINISH, ARRIVAL, DELIVERY, TIMER, CLOCK = range(5)
DECISION = 1 << 30
"""the order of what happens at one instant; the clock of an operator stands at CLOCK and its place
in the query, so that what an earlier one reads without taking time is there for a later one"""

NEVER = 1 << 62
"""a time that does not come"""


TimedCall = tuple[int, int, int, Callable[[Any], None], Any]
"""(time, kind, number, function, argument); the numbers make each unlike all others"""


class Arrival(NamedTuple):
    """A tuple reaches a source at ``time`` (ns)."""

    time: int
    source: str
    row: Row


# -------------------------------------------------------------------- what a job is given


@dataclass(frozen=True, slots=True)
class FreshTuple:
    """The job's tuple goes through the whole unit."""


@dataclass(frozen=True, slots=True)
class HeadResult:
    """The job's tuple is a result that the head gave without a new tuple (a closed window, a
    timeout): the head's time is still to be spent, then the tuple goes on behind it."""


@dataclass(frozen=True, slots=True)
class GatheredBatch:
    """One execution of a head that gathers, with the rows of each port; the job's tuple is only
    the oldest timestamp among them."""

    rows: dict[str, list[Row]]
    timed_out: bool

    @property
    def items(self) -> int:
        return sum(map(len, self.rows.values()))


@dataclass(frozen=True, slots=True)
class WaitingTuples:
    """The job stands for all tuples that wait before its unit to run as a batch."""


Work = FreshTuple | HeadResult | GatheredBatch | WaitingTuples

FRESH_TUPLE, HEAD_RESULT, WAITING_TUPLES = FreshTuple(), HeadResult(), WaitingTuples()


# -------------------------------------------------------------------- jobs

MANDATORY = 0
Slot = tuple[int, int, int]
"""(operator of the unit, its time, MANDATORY or by when a piece of its optional part must end)"""

Slots = Generator[Slot, bool | None, None]
"""The slots of a job; sent True instead of asked on, it leaves out the optional part."""


class Stepping:
    """How far a job has come, operator by operator: the one that is next or under way, and its
    time. It does what it does at the end of its time, when the job steps on.

    A piece of an optional part has an end by which it must be over, ``until``. Such a piece is not
    begun, but the part ``cut``, when it would end later or when anything else is ready."""

    __slots__ = ("_rest", "cost", "operator", "until")

    def __init__(self, slots: Slots) -> None:
        self._rest = slots
        self.operator, self.cost, self.until = next(slots)

    def step_on(self) -> bool:
        """The operator's time is over; whether another one follows."""
        following = next(self._rest, None)
        if following is None:
            return False
        self.operator, self.cost, self.until = following
        return True

    def cut(self) -> bool:
        """Leaves out the rest of the optional part; whether an operator follows."""
        try:
            self.operator, self.cost, self.until = self._rest.send(True)
        except StopIteration:
            return False
        return True


class FusedCourse:
    """How far a job has come in a train that is one fused function. Nobody sees its result before
    the end, so the function has run when the job begins."""

    __slots__ = ("done", "ran", "result")

    def __init__(self, result: Row | None, ran: int) -> None:
        self.result = result
        self.ran = ran
        """operators that take part"""
        self.done = 0
        """operators whose time is over, or is when the operator under way ends"""


class ReadyJob(NamedTuple):
    """A unit with a tuple, ready to run or preempted; the least (key, number) goes first."""

    key: Any
    number: int
    unit: Unit
    port: str
    row: Row
    root: int
    """number of the arrival that it goes back to"""
    late: bool
    work: Work
    flight: Flight | None
    progress: Stepping | FusedCourse | None = None
    """of a job that has begun"""


def tuples_of(job: ReadyJob) -> int:
    """How many tuples the job is about."""
    return job.work.items if isinstance(job.work, GatheredBatch) else 1


make_job = tuple.__new__
"""makes a ReadyJob from a tuple of all fields, without its slower constructor: the hot path"""


@dataclass(frozen=True, slots=True)
class Lost:
    """What a run that was interrupted did not finish."""

    waiting: int
    """tuples whose jobs were ready or had begun, once for each unit they waited at"""
    gathered: int
    """tuples that were being gathered, or that a shedder held"""
    groups: int
    """groups of windows that were still open"""
    fed: int
    """tuples of live sources that were not taken in"""
