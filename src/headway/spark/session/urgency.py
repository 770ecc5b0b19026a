"""Deadlines on Spark: the floor, executor slots by class, the gate that soft batches pass."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

from pyspark.sql import SparkSession

from headway.errors import Problem, UnsupportedError
from headway.model.graph import graph_of
from headway.model.plan import Plan
from headway.model.quantities import MILLISECOND, format_duration
from headway.spark.lowering.regions import ancestors, keeps_state
from headway.spark.session.python_workers import modest_workers
from headway.spark.session.spark_session import CHECKPOINTS, MEANT, PARTITIONS

# ---------------------------------------------------------------- the floor
# Measured: a micro-batch that filters takes 50 to 180 ms end to end, one with state in Python 330
# to 550 ms. Below the floor even an idle cluster would miss all the time.

FLOOR = 200 * MILLISECOND
"""for outputs that need no state"""
FLOOR_WITH_STATE = 500 * MILLISECOND


def floor_of(plan: Plan, stream: str) -> int:
    """For an output that comes from this stream."""
    graph = graph_of(plan.query)
    needed = ancestors(graph, [stream])
    stateful = any(keeps_state(graph.operators[name]) for name in needed & graph.operators.keys())
    shed = any(graph.sources[name].shedder for name in needed & graph.sources.keys())
    return FLOOR_WITH_STATE if stateful or shed else FLOOR


def refuse_below_floor(plan: Plan) -> None:
    """UnsupportedError with all outputs whose deadline Spark cannot keep."""
    problems = [
        Problem(
            f"Spark cannot keep this deadline: its micro-batches take about "
            f"{format_duration(floor)} for such a query",
            at=f"outputs.{output.name}.deadline",
            got=format_duration(output.deadline),
            want="run it in the vehicle (--engine vehicle), or let it be computed late: --late-ok, "
            "or --mode batch for a recording",
        )
        for output in plan.query.outputs
        if output.deadline is not None
        and output.deadline < (floor := floor_of(plan, output.stream))
    ]
    if problems:
        raise UnsupportedError(problems)


# ---------------------------------------------------------------- slots
# Hard outputs get some that soft ones cannot take (ROP-EDF's idea). A soft query is cut into fewer
# partitions than there are slots, so that however long its tasks run, the others are free when a
# hard batch comes. Each class has a pool of its own in Spark's FAIR scheduler; within one pool a
# hard batch would queue behind the soft tasks before it.


def slots_of(spark: SparkSession) -> int:
    """As many as there are now: executors come late, and go where allocation is dynamic."""
    return max(1, spark.sparkContext.defaultParallelism)


POOL = "spark.scheduler.pool"
_COPIED = (*MEANT, CHECKPOINTS, PARTITIONS)
HARD, SOFT = "hard", "soft"


@dataclass(frozen=True)
class Share:
    """What a class of outputs gets. ``leaves_some``: it has not all slots, however many there are
    at a time. ``modest``: its Python workers step back
    (:mod:`headway.spark.session.python_workers`)."""

    pool: str | None = None
    leaves_some: bool = False
    modest: bool = False

    def most(self, slots: int) -> int | None:
        """Partitions at a time, when there are so many slots; None: any number."""
        return max(1, slots - reserved(slots)) if self.leaves_some and slots > 1 else None

    def slots(self, spark: SparkSession) -> int:
        """That it may use now."""
        there = slots_of(spark)
        return self.most(there) or there

    def session(self, spark: SparkSession) -> SparkSession:
        """A session of the same Spark whose queries stay within the share."""
        own = spark.newSession()
        for key in _COPIED:
            if (value := spark.conf.get(key, None)) is not None:
                own.conf.set(key, value)
        if (most := self.most(slots_of(spark))) is not None:
            own.conf.set(PARTITIONS, str(most))
        return own

    def workers(self, spark: SparkSession) -> AbstractContextManager[None]:
        """Functions that are handed to Spark in this block run in workers of the class."""
        return modest_workers(spark) if self.modest else nullcontext()

    def enter(self, spark: SparkSession) -> None:
        """The queries that this thread starts from now on are of this pool."""
        spark.sparkContext.setLocalProperty(POOL, self.pool)  # type: ignore[arg-type]


def reserved(slots: int) -> int:
    """Slots that only hard outputs use."""
    return max(1, slots // 2)


def shares(*, any_hard: bool, policy: str) -> dict[bool, Share]:
    """The share of hard (True) and of soft (False) outputs."""
    if policy != "edf":
        return {True: Share(), False: Share()}
    return {True: Share(HARD), False: Share(SOFT, leaves_some=any_hard, modest=any_hard)}


# ---------------------------------------------------------------- the gate
# Spark never takes a slot back from a task that runs, so soft micro-batches must be in order
# (earliest deadline first) before their tasks are handed to it.


class Gate:
    """Lets ``width`` batches through at a time, of those that wait the earliest deadline first;
    equal ones in the order they came."""

    def __init__(self, width: int = 1) -> None:
        self._free = width
        self._numbers = count()
        self._waiting: list[tuple[int, int]] = []
        self._changed = threading.Condition()
        self._open = True

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @contextmanager
    def passing(self, deadline: int) -> Iterator[None]:
        """Waits for its turn; the next one's comes when the block is left."""
        with self._changed:
            mine = (deadline, next(self._numbers))
            heappush(self._waiting, mine)
            self._changed.wait_for(lambda: not self._open or self._turn_of(mine))
            if self._open:
                heappop(self._waiting)
            else:
                self._waiting.remove(mine)
            self._free -= 1
        try:
            yield
        finally:
            with self._changed:
                self._free += 1
                self._changed.notify_all()

    def _turn_of(self, mine: tuple[int, int]) -> bool:
        return self._free > 0 and self._waiting[0] == mine

    def give_up(self) -> None:
        """Nobody waits any longer: the run is over."""
        with self._changed:
            self._open = False
            self._changed.notify_all()


class NoGate:
    """First come, first served: Spark's own order."""

    waiting = 0

    @contextmanager
    def passing(self, deadline: int) -> Iterator[None]:
        del deadline
        yield

    def give_up(self) -> None:
        """There is nothing to give up."""


Gates = Gate | NoGate
GATES: dict[str, Callable[[], Gates]] = {"edf": Gate, "fifo": NoGate}
