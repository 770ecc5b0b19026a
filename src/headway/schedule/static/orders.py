"""Priorities (HPRV_CC), the queues they make, and whether a queue can be worked off."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush

from headway.schedule.static.instance import Instance
from headway.schedule.static.ranks import Ranks
from headway.schedule.static.result import QueueFailure

Order = tuple[int, ...]


def priorities_a(ranks: Ranks) -> tuple[Fraction, ...]:
    """HPRV_CC(n) = hrank · outd (equation 8)."""
    return tuple(h * outd for h, outd in zip(ranks.hrank, ranks.out_degree, strict=True))


def priorities_b(ranks: Ranks, depth_power: int = 2) -> tuple[Fraction, ...]:
    """HPRV_CC(n, G) = hrank · outd / max outd · 1 / depth² (equation 9)."""
    most = max(1, *ranks.out_degree) if ranks.out_degree else 1
    return tuple(
        h * outd / (most * depth**depth_power)
        for h, outd, depth in zip(ranks.hrank, ranks.out_degree, ranks.depth, strict=True)
    )


def by_priority(priorities: Sequence[Fraction]) -> Order:
    """Highest priority first; ties go to the lower task number."""
    return tuple(sorted(range(len(priorities)), key=lambda task: (-priorities[task], task)))


def ready_first(instance: Instance, priorities: Sequence[Fraction]) -> Order:
    """Always the best priority among the tasks whose predecessors are in the queue already.

    Such a queue cannot fail. Where the plain queue does not fail, it is the same one."""
    waiting = [len(found) for found in instance.predecessors]
    ready = [(-priorities[task], task) for task, count in enumerate(waiting) if count == 0]
    heapify(ready)
    order = []
    while ready:
        _, task = heappop(ready)
        order.append(task)
        for successor in instance.successors[task]:
            waiting[successor] -= 1
            if waiting[successor] == 0:
                heappush(ready, (-priorities[successor], successor))
    return tuple(order)


def failure_of(instance: Instance, order: Order) -> QueueFailure | None:
    """The first task that comes to the head before one of its predecessors is scheduled."""
    scheduled = [False] * len(order)
    for task in order:
        for predecessor, _ in instance.predecessors[task]:
            if not scheduled[predecessor]:
                names = instance.tasks
                return QueueFailure(task=names[task], predecessor=names[predecessor])
        scheduled[task] = True
    return None
