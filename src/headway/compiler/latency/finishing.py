"""When a job under EDF is done, from what is urgent enough *and* has come: the smaller of both.

Look at a job with deadline D and at t0, the last instant before it without pending work of
deadlines up to D; let s = D - t0. If the job ends f after t0, then what runs between is work that
entered at or after t0, has a deadline up to D **and came before the job's end**; and at first one
section of less urgent work. Each class of arrivals brings at most the smaller of what the two
conditions admit, so f is at most the least solution of

    f = blocking(s) + sum of cost * min(curve(s + offset), curve(f - 1 + entry))

and the job's latency is at most f - s + d, for some s from d less its age upwards. Spuri ("Analysis
of deadline scheduled real-time systems", INRIA RR-2772, 1996) does this for periodic tasks with
release jitter; George, Rivierre and Spuri ("Preemptive and non-preemptive real-time uni-processor
scheduling", INRIA RR-2966, 1996) for jobs that are not interrupted: a single section of a less
urgent job, begun before t0. Here both are for arrival curves. The first condition alone gives
:func:`~headway.compiler.latency.demand.lateness`, the second alone a busy period; together they
are what makes leisurely jobs on a busy node tight.

The right side grows with s by steps where one more arrival becomes urgent enough, and f - s falls
in between, so only these s, and the smallest, need to be looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headway.compiler.latency.demand import (
    Blocking,
    Demand,
    Section,
    Times,
    busy_period,
    counts_of,
)
from headway.model.quantities import ArrivalCurve

MOST_CELLS = 400_000
"""classes times lengths that are looked at on a node; beyond it the looser bounds must do"""
MOST_STEPS = 40_000
CHUNK = 512


@dataclass(frozen=True, slots=True)
class Competing:
    """Work that other jobs wait for: ``urgent`` bounds it by deadlines, and it counts in an
    interval from ``entry`` before its beginning."""

    urgent: Demand
    entry: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """A job that waits: its deadline counts ``deadline`` from its timestamp; an interval that ends
    at it is at least ``start`` long."""

    deadline: int
    start: int


def finishes(
    competing: Sequence[Competing],
    sections: Sequence[Section],
    piece: int,
    waiting: Sequence[Waiting],
) -> list[int] | None:
    """The most that each job ends after its timestamp; None where that is too much to work out, or
    there is no bound. ``piece``: a section that may be under way whatever its deadline."""
    longest = max([piece, *(section.length for section in sections)])
    came = [Demand(one.urgent.curve, one.urgent.cost, one.entry) for one in competing]
    busy = busy_period(came, longest)
    if busy is None:
        return None
    blocks = _blocks(competing)
    lengths = _lengths(blocks, waiting, busy)
    if lengths is None or len(lengths) * sum(len(block.costs) for block in blocks) > MOST_CELLS:
        return None
    blocking = Blocking(sections)
    found = [0] * len(waiting)
    for begin in range(0, len(lengths), CHUNK):
        part = lengths[begin : begin + CHUNK]
        late = _ends(blocks, np.maximum(blocking.at(part), piece), part, busy) - part
        for index, one in enumerate(waiting):
            first = int(np.searchsorted(part, one.start, side="left"))
            if first < len(part):
                found[index] = max(found[index], int(late[first:].max()) + one.deadline)
    return found


@dataclass(frozen=True, slots=True)
class _Block:
    """The classes of one arrival curve."""

    curve: ArrivalCurve
    costs: Times
    offsets: Times
    leasts: Times
    entries: Times


def _blocks(competing: Sequence[Competing]) -> list[_Block]:
    merged: dict[ArrivalCurve, dict[tuple[int, int, int], int]] = {}
    for one in competing:
        costs = merged.setdefault(one.urgent.curve, {})
        key = (one.urgent.offset, one.urgent.least, one.entry)
        costs[key] = costs.get(key, 0) + one.urgent.cost
    blocks = []
    for curve, costs in merged.items():
        keys = np.array(list(costs), dtype=np.int64)
        worth = np.fromiter(costs.values(), dtype=np.int64, count=len(costs))
        blocks.append(_Block(curve, worth, keys[:, 0], keys[:, 1], keys[:, 2]))
    return blocks


def _lengths(blocks: Sequence[_Block], waiting: Sequence[Waiting], busy: int) -> Times | None:
    """The lengths to look at: where a job's begin, and every step within a busy period of that;
    None if these are too many."""
    starts = np.unique(np.array([one.start for one in waiting], dtype=np.int64))
    low, high = int(starts[0]), int(starts[-1]) + busy
    found = [starts]
    for block in blocks:
        first, last = low + int(block.offsets.min()), high + int(block.offsets.max())
        for rate in block.curve.rates:
            begin = max(0, (max(first, 0) + rate.jitter) // rate.period)
            end = (max(last, 0) + rate.jitter) // rate.period + 1
            if (end - begin) * len(block.costs) > MOST_STEPS:
                return None
            steps = np.arange(begin, end + 1, dtype=np.int64) * rate.period - rate.jitter
            steps = np.append(np.maximum(steps, 0), 0)
            places = np.maximum(steps[None, :] - block.offsets[:, None], block.leasts[:, None])
            # A job of length s is done within a busy period: only steps that near matter.
            after = starts[np.maximum(np.searchsorted(starts, places, side="right") - 1, 0)]
            found.append(places[(places >= after) & (places - after <= busy)])
    return np.unique(np.concatenate(found))


def _ends(blocks: Sequence[_Block], blocking: Times, lengths: Times, busy: int) -> Times:
    """For each length the least f; at most a busy period."""
    urgent = []
    for block in blocks:
        counted = counts_of(block.curve, lengths[None, :] + block.offsets[:, None])
        urgent.append(np.where(lengths[None, :] >= block.leasts[:, None], counted, 0))
    ends = blocking.copy()
    ends[ends < 1] = 1
    while True:
        longer = blocking.copy()
        for block, most in zip(blocks, urgent, strict=True):
            came = counts_of(block.curve, ends[None, :] - 1 + block.entries[:, None])
            longer += (block.costs[:, None] * np.minimum(most, came)).sum(axis=0)
        longer = np.minimum(np.maximum(longer, ends), busy)
        if (longer == ends).all():
            return ends
        ends = longer
