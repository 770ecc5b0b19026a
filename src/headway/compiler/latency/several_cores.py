"""A bound on nodes with several cores that share one queue, whatever the order in the queue.

Look at a job released at r that ends at f, and at t0, the last instant up to r at which not all m
cores were busy. No core idles while a job waits, so at t0 at most m - 1 jobs are under way, and
from t0 on all cores are busy except while the job itself runs, for C at most. What is done in
between is the rest of those m - 1 jobs and what was released from t0 on:

    m * (f - t0 - C) + C  <=  (m - 1) * longest job + work(f - t0)

This is Graham's argument ("Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17,
1969) in a window that begins when the cores are last not all busy, as Baruah has it ("Techniques
for multiprocessor global schedulability analysis", RTSS 2007). It asks only that the scheduler
conserves work, so operators that are not interrupted, and jobs that overtake each other, are no
matter. It does not hold where each train has a core of its own (``--cores partitioned``): a core
may idle there while a job waits for another.
"""

from __future__ import annotations

from collections.abc import Sequence

from headway.compiler.latency.demand import LONGEST, Demand, utilisation, work_in


def longest_stay(came: Sequence[Demand], jobs: Sequence[int], cores: int) -> list[int] | None:
    """For jobs of each of these lengths: the longest from release to end; None if endless.
    ``came``: the work that is released in an interval."""
    if utilisation(came) >= cores * (1.0 - 1e-12):
        return None
    under_way = (cores - 1) * max(jobs, default=0)
    found: list[int] = []
    for own in jobs:
        alone = own * (cores - 1)
        stay = max(own, 1)
        while True:
            longer = -(-(under_way + work_in(came, stay - 1) + alone) // cores)
            if longer <= stay:
                break
            stay = longer
            if stay > LONGEST:
                return None
        found.append(stay)
    return found
