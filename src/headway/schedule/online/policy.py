"""What a run-time scheduling policy is: a unit of scheduling and an order of ready jobs.

A *unit* is what is scheduled as one: a train of operators or a single operator. A job is a unit
with a tuple. The engine always runs the ready job with the least key; equal keys go in order of
release. A preemptive policy is asked again after every operator, others only when a job has
ended.

The key of a :class:`Policy` is fixed when a job is released. That of a :class:`RerankingPolicy`
depends on how far the job has come, and if it says so on the time. What a policy can do it says by
the class variables here; nothing asks for its name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, NamedTuple

Key = Any
"""An int or a tuple of ints; smaller goes first. All keys of one policy are alike."""

KeyFunction = Callable[[int, int], Key]
"""(timestamp in ns, arrival number of the tuple at its source) -> key"""


@dataclass(frozen=True, kw_only=True)
class UnitFacts:
    """What a policy may know of a unit, fixed when the query is registered."""

    deadline: int
    """relative deadline by EDF*, from the tuple's timestamp (ns)"""
    cost: int
    """declared processor time of one tuple that passes all of it, on its node (ns)"""
    period: int | None
    """shortest declared period of the sources before it (ns); none where one declares no rate"""
    rank: int
    """place in the static order: topological, the branch to the shorter deadline first"""
    position: int
    """place in the plan's static schedule; the rank where the plan has none"""
    level: int
    """operators between the sources and this unit, on the longest way"""
    capacity: float
    """processing capacity: tuples per second of the fastest operator path through it, or through
    a unit before it"""
    chain: int = 0
    """place of its piece of the progress chart, the steepest first (:mod:`.chain`)"""
    query_deadline: int = 0
    """shortest end-to-end deadline of all outputs that hang together with it (ns)"""


class KeyBase(Enum):
    """What of a job its key counts from."""

    TIMESTAMP = "timestamp"
    ROOT = "root"
    CONSTANT = "constant"


ROOTS = 40
"""bits that hold every arrival number"""


@dataclass(frozen=True, slots=True)
class KeyRule:
    """A key as numbers, for an engine that cannot call Python: (``base`` plus ``add``, ``second``),
    in 64 bits each."""

    base: KeyBase
    add: int = 0
    second: int = 0

    def key(self, timestamp: int, root: int) -> tuple[int, int]:
        """The key that the rule gives a job."""
        counted = {KeyBase.TIMESTAMP: timestamp, KeyBase.ROOT: root, KeyBase.CONSTANT: 0}
        return counted[self.base] + self.add, self.second


class JobFacts(NamedTuple):
    """What a policy may know of a job when it is asked for its rank. Times are in ns."""

    timestamp: int
    """of its tuple: when it was sensed"""
    root: int
    """arrival number of the tuple at its source"""
    now: int
    done: int
    """declared time of its operators that have run"""
    left: int
    """declared time of those still to run, if its tuple passes them all"""


RankFunction = Callable[[JobFacts], Key]


class Policy(ABC):
    """Subclass it in a file of its own, and either declare it in :mod:`headway.schedule.online` or,
    from another package, as an entry point of the group ``headway.policies``.

    ``name``, ``summary`` (what ``headway policies`` shows), ``paper``, ``fuse``, ``preemptive`` and
    :meth:`key` must be given; what else it can do has a default. It is made without arguments.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str]
    fuse: ClassVar[bool]
    """schedules trains (True) or single operators (False)"""
    preemptive: ClassVar[bool]
    """whether a more urgent job goes before the next operator of one that has begun"""
    batches: ClassVar[bool] = False
    """whether waiting tuples of a train may run as one batch (`--batching`). How long one may take
    follows from the plan's promises, which are made for earliest deadline first over trains"""
    guarded: ClassVar[bool] = False
    """whether it reserves processor time: it needs declared costs and rates, and hard load
    above capacity is refused before anything runs"""
    in_engine: ClassVar[bool] = True
    """whether the vehicle engine runs queries under it; if not, it is for task sets only"""

    @abstractmethod
    def key(self, unit: UnitFacts) -> KeyFunction:
        """How jobs of this unit are ordered among all ready jobs of the node."""

    def key_rule(self, unit: UnitFacts) -> KeyRule | None:
        """The same order as :meth:`key`, said in numbers; None where that cannot be: then the
        policy is not for native code."""
        return None


class RerankingPolicy(Policy):
    """A policy whose keys change: after each operator of a job, and if ``while_waiting`` with time.

    :meth:`rank` takes the place of :meth:`key`. It must be a function of what it is given and of
    nothing else, or a run is not the same twice. The engine asks

    - when a job is released,
    - after each operator, for the job that has run it,
    - if ``while_waiting``, also for every waiting job whenever a core is free to choose and
      whenever a preemptive policy may preempt.

    Operators are not interrupted, so these are all the instants at which an order can have an
    effect: a rank that changes in between needs no timer. Asking costs time for each waiting job,
    so a policy whose waiting jobs keep their order among each other leaves ``while_waiting`` off.

    A job gives way only to one with a smaller key; of equal ones it goes on, and among waiting ones
    the earlier released goes first. So at most one preemption follows an operator.
    """

    while_waiting: ClassVar[bool] = False
    """whether the order of waiting jobs depends on the time"""

    @abstractmethod
    def rank(self, unit: UnitFacts) -> RankFunction:
        """How jobs of this unit are ordered now."""

    def key(self, unit: UnitFacts) -> KeyFunction:
        """The same for all: a job is given its rank when it is released."""
        return lambda timestamp, root: 0
