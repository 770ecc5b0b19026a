"""Ranks of jobs under a policy whose keys change as jobs run or wait.

Whoever keeps ready jobs asks :func:`rank_of` when a job is released and after each of its
operators, and calls :func:`rerank` before it looks at the most urgent one where the policy ranks
``while_waiting`` (:class:`~headway.schedule.online.policy.RerankingPolicy`).
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify
from typing import Any, Protocol, Self, TypeVar

from headway.model.quantities import MICROSECOND
from headway.runtime.operators.base import Row
from headway.runtime.units import Unit
from headway.schedule.online.policy import JobFacts, Key

OneSlot = tuple[int, int]
"""(operator, its time)"""


class CountedSlots(Iterator[OneSlot]):
    """The operators of a job that has begun, and the time of those that have run."""

    def __init__(self, slots: Iterator[OneSlot]) -> None:
        self._slots = slots
        self._under_way = 0
        self.done = 0

    def __next__(self) -> OneSlot:
        self.done += self._under_way
        slot = next(self._slots)
        self._under_way = slot[1]
        return slot


class Ranked(Protocol):
    """What a rank is asked of: a ready job of any clock. The least (key, number) goes first."""

    @property
    def unit(self) -> Unit: ...

    @property
    def row(self) -> Row: ...

    @property
    def root(self) -> int: ...

    @property
    def given(self) -> Any: ...

    @property
    def slots(self) -> object: ...

    @property
    def slot(self) -> OneSlot | None: ...

    def __lt__(self, other: Self, /) -> bool: ...

    def _replace(self, *, key: Key) -> Self: ...


def rank_of(job: Ranked, now: int) -> Key:
    """The key of a job before its next operator."""
    rank = job.unit.rank
    assert rank is not None
    done = job.slots.done if isinstance(job.slots, CountedSlots) else 0
    return rank(JobFacts(job.row[0] * MICROSECOND, job.root, now, done, _left(job, done)))


def _left(job: Ranked, done: int) -> int:
    """The time of the operators still to run; of several results that of the one under way. What
    was gathered is known when its job is released, and so is what its head still needs."""
    unit = job.unit
    operator, time = job.slot or (0, unit.costs[0])
    if operator == 0 and isinstance(job.given, tuple) and len(job.given) == 2:
        items = sum(map(len, job.given[0].values()))
        time = unit.base_cost + items * unit.item_cost - done
    return time + unit.cost - unit.spent[operator + 1]


J = TypeVar("J", bound=Ranked)


def rerank(ready: list[J], now: int) -> None:
    """Ranks all waiting jobs again, in the heap that they wait in."""
    ready[:] = [job._replace(key=rank_of(job, now)) for job in ready]
    heapify(ready)
