"""Least laxity first (Mok 1983)."""

from __future__ import annotations

from headway.schedule.online.policy import RankFunction, RerankingPolicy, UnitFacts


class LeastLaxity(RerankingPolicy):
    """The train with the least time to spare: laxity = deadline − now − work left.

    Laxity changes with time, but the order of laxities changes less. At one instant ``now`` is the
    same for all, so jobs are ordered by *deadline − work left*. Of a waiting job neither part
    changes: all waiting jobs lose laxity alike and keep their order. Only the running job's work
    gets less; its laxity stays while that of the others falls. So it is exact to rank a job when it
    is released and again after each of its own operators (``while_waiting`` is off).

    The work left is the declared time of the train's operators still to run, and the deadline that
    of the train by EDF*, from which the time of the trains after it is taken off already. A tuple
    that a filter is going to drop counts as one that passes. Where no costs are declared this is
    S-EDF.

    Two jobs of one laxity overtake each other again and again; with preemption at any instant they
    would share the processor in infinitely small pieces. Here an operator is never interrupted, a
    job gives way only to one of *less* laxity and goes on when they are equal, so there is at most
    one preemption an operator, and each is charged its cost.

    On one core, where operators are short and preemptions cost nothing, it meets every set of
    deadlines that can be met, as EDF does; the plan's latency bounds are made for S-EDF and do not
    hold for it.
    """

    name = "least-laxity"
    summary = "least time to spare first: deadline less the work left, again after each operator"
    paper = "Mok 1983, Fundamental design problems of distributed systems (MIT/LCS/TR-297)"
    fuse = True
    preemptive = True

    def rank(self, unit: UnitFacts) -> RankFunction:
        deadline = unit.deadline
        return lambda job: job.timestamp + deadline - job.left
