"""How much work can come: demand-bound functions for EDF and busy periods.

A :class:`Demand` is the work ``cost * curve(length + offset)`` that a class of jobs can ask for in
an interval of some length. Sums of such step functions are evaluated at their steps, all at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headway.model.quantities import ArrivalCurve, Rate

# ---------------------------------------------- arithmetic of bounds: None means that there is none


def plus(one: int | None, other: int | None) -> int | None:
    """Sum of bounds; None, no bound, is infectious."""
    return None if one is None or other is None else one + other


def most(values: list[int | None]) -> int | None:
    """The largest bound; None when any is missing."""
    largest = 0
    for value in values:
        if value is None:
            return None
        largest = max(largest, value)
    return largest


def least(one: int | None, other: int | None) -> int | None:
    """The smaller of two bounds on the same, if there is one."""
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


# ---------------------------------------------------------------- demand


Times = npt.NDArray[np.int64]

MOST_STEPS = 400_000
"""Steps that are looked at at once; beyond it neighbouring ones are taken together."""
MOST_OFFSETS = 2_000
LONGEST = 3_600_000_000_000
"""Bounds beyond an hour are of no use to a vehicle: they count as none."""
FARTHEST = 2**55
"""Times beyond it (more than a year) have no bound: their sums could exceed a machine word."""
_FARTHEST_HORIZON = 2**58
_MOST_TUPLES = 2**61


@dataclass(frozen=True, slots=True)
class Demand:
    """``cost`` nanoseconds for each arrival of ``curve`` in an interval longer by ``offset``;
    none in intervals shorter than ``least``, which cannot hold both entry and deadline of such a
    job."""

    curve: ArrivalCurve
    cost: int
    offset: int
    least: int = 0
    cause: str = ""
    """the source or clock whose arrivals these are, where that is of use"""


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch without a preemption point, in jobs with that relative deadline."""

    deadline: int
    length: int


def utilisation(demands: Sequence[Demand]) -> float:
    """Long-run share of the processor or medium; beyond a million it is not told apart."""
    share = 0.0
    for demand in demands:
        rate = demand.curve.sustained
        share += min(demand.cost * rate.count, rate.period * 10**6) / rate.period
    return share


def busy_period(demands: Sequence[Demand], blocking: int = 0, begin: int = 0) -> int | None:
    """The longest time without idling: the least W from ``begin`` on with ``W = blocking +
    work(W)``; None if endless."""
    if utilisation(demands) >= 1.0 - 1e-12 or not _countable(demands, (blocking,)):
        return None
    groups = _grouped(demands)
    length = max(begin, blocking + sum(_work(*group[:3], 0) for group in groups))
    while length <= LONGEST:
        longer = blocking + sum(_work(*group[:3], length) for group in groups)
        if longer <= length:
            return length
        length = longer
    return None


def work_in(demands: Sequence[Demand], length: int) -> int:
    """All that can come in an interval of that length, deadlines left out."""
    return sum(d.cost * d.curve.in_interval(length + d.offset) for d in demands)


def lateness(
    demands: Sequence[Demand], sections: Sequence[Section], starts: Sequence[int]
) -> list[int] | None:
    """For each start s: the most that EDF finishes a job after its deadline, given that the
    interval from the last instant without pending work of its urgency to its deadline is at least
    s long.

    That is the largest ``work(D) + blocking(D) - D`` over lengths D >= s, where an operator
    blocks when its job's relative deadline exceeds D (no preemption inside operators). Negative
    values are slack. None when the demand outgrows the processor."""
    share = utilisation(demands)
    others = (*starts, *(n for s in sections for n in (s.deadline, s.length)))
    if share >= 1.0 - 1e-12 or not _countable(demands, others):
        return None
    if min(starts, default=0) < -LONGEST:  # as late as that already on entry
        return None
    blocking = Blocking(sections)
    # Work is at most share * D + constant, once every class is in play.
    constant = sum(
        d.cost * r.count * (1 + (d.offset + r.jitter) / r.period)
        for d in demands
        for r in (d.curve.sustained,)
    )
    begin = max([0, *starts, *(max(d.least, -d.offset) for d in demands)])
    begin = max([begin, *(section.deadline for section in sections)])
    horizon = begin + 2 * max((r.period for d in demands for r in d.curve.rates), default=0)
    best: list[int] | None = None
    while True:
        steps, work = _steps(demands, min(starts, default=0), horizon)
        found = _largest_from(steps, work, blocking, starts)
        tail = int(np.ceil((share - 1.0) * horizon + constant + 1)) + int(blocking.at(horizon))
        above = [max(value, tail) for value in found]
        best = above if best is None else [min(pair) for pair in zip(best, above, strict=True)]
        longer = int(min(constant + 2 - min(found, default=0), LONGEST) / (1.0 - share)) + 1
        longer = min(longer, horizon * 4 + 4, _FARTHEST_HORIZON)
        if tail <= min(found, default=tail) or longer <= horizon or len(steps) > MOST_STEPS // 4:
            return best
        horizon = longer


def _largest_from(
    steps: Times, work: Times, blocking: Blocking, starts: Sequence[int]
) -> list[int]:
    """For each start the largest ``work(D) + blocking(D) - D`` from there to the last step."""
    values = work + blocking.at(steps) - steps
    suffix = np.maximum.accumulate(values[::-1])[::-1]
    found = []
    for start in starts:
        after = int(np.searchsorted(steps, start, side="right"))
        here = int(blocking.at(start)) - start + (int(work[after - 1]) if after else 0)
        found.append(max(here, int(suffix[after])) if after < len(suffix) else here)
    return found


def _countable(demands: Sequence[Demand], others: Iterable[int]) -> bool:
    """Whether all times are small enough that their sums stay within machine words."""
    times = [n for d in demands for n in (d.cost, d.offset, d.least)]
    times += [n for d in demands for r in d.curve.rates for n in (r.period, r.jitter)]
    return all(abs(n) <= FARTHEST for n in (*times, *others))


class Blocking:
    """The longest section among jobs whose relative deadline exceeds a length."""

    def __init__(self, sections: Sequence[Section]) -> None:
        ordered = sorted(sections, key=lambda section: section.deadline)
        self._deadlines = np.array([s.deadline for s in ordered], dtype=np.int64)
        lengths = np.array([s.length for s in ordered] + [0], dtype=np.int64)
        self._longest = np.maximum.accumulate(lengths[::-1])[::-1]

    def at(self, lengths: Times | int) -> Times:
        index = np.searchsorted(self._deadlines, lengths, side="right")
        found: Times = self._longest[index]
        return found


Group = tuple[ArrivalCurve, Times, Times, Times]
"""A curve with costs, offsets and least lengths"""


def _grouped(demands: Sequence[Demand]) -> list[Group]:
    """Costs, offsets and least lengths by curve; equal ones are added up.

    Very many offsets are first rounded up to a grid: more work, never less.
    """
    merged: dict[ArrivalCurve, dict[tuple[int, int], int]] = {}
    for demand in demands:
        costs = merged.setdefault(demand.curve, {})
        key = (demand.offset, demand.least)
        costs[key] = costs.get(key, 0) + demand.cost
    groups = []
    for curve, costs in merged.items():
        if len(costs) > MOST_OFFSETS:
            costs = _coarser(costs)
        keys = np.array(list(costs), dtype=np.int64)
        worth = np.fromiter(costs.values(), dtype=np.int64, count=len(costs))
        groups.append((curve, worth, keys[:, 0], keys[:, 1]))
    return groups


def _coarser(costs: dict[tuple[int, int], int]) -> dict[tuple[int, int], int]:
    offsets = [offset for offset, _ in costs]
    grid = (max(offsets) - min(offsets)) // (MOST_OFFSETS // 2) + 1
    coarse: dict[tuple[int, int], int] = {}
    for (offset, least), cost in costs.items():
        key = (-(-offset // grid) * grid, least // grid * grid)
        coarse[key] = coarse.get(key, 0) + cost
    return coarse


def counts_of(curve: ArrivalCurve, lengths: Times) -> Times:
    """Most arrivals in closed intervals of these lengths; none in negative ones."""
    found: Times | None = None
    for rate in curve.rates:
        bursts = np.minimum(1 + (lengths + rate.jitter) // rate.period, _MOST_TUPLES // rate.count)
        term = np.where(lengths < 0, 0, rate.count * bursts)
        found = term if found is None else np.minimum(found, term)
    assert found is not None
    return found


def _work(curve: ArrivalCurve, costs: Times, offsets: Times, length: int) -> int:
    return int((costs * counts_of(curve, offsets + length)).sum())


def _steps(demands: Sequence[Demand], floor: int, horizon: int) -> tuple[Times, Times]:
    """Lengths where the total work steps up, ascending, and the work there, up to ``horizon``.

    Where it steps up below ``floor`` is not told apart."""
    places: list[Times] = []
    gains: list[Times] = []
    groups = [part for group in _grouped(demands) for part in _parted(group, horizon - floor + 1)]
    for curve, costs, offsets, leasts in groups:
        lowest, furthest = floor + int(offsets.min()), horizon + int(offsets.max())
        most = max(1, MOST_STEPS // (len(groups) * len(offsets)))
        curve = ArrivalCurve(
            tuple(_coarser_rate(rate, furthest - lowest, most) for rate in curve.rates)
        )
        instants = np.concatenate([_instants(rate, lowest, furthest) for rate in curve.rates])
        instants.sort()  # doubles do no harm: they add nothing
        counts = counts_of(curve, instants)
        increments = np.diff(counts, prepend=0)
        kept = increments > 0
        instants, increments = instants[kept], increments[kept]
        places.append(np.maximum(instants[None, :] - offsets[:, None], leasts[:, None]).ravel())
        gains.append((increments[None, :] * costs[:, None]).ravel())
    if not places:
        empty = np.zeros(0, dtype=np.int64)
        return empty, empty
    place, gain = np.concatenate(places), np.concatenate(gains)
    order = np.argsort(place, kind="stable")
    place, total = place[order], np.cumsum(gain[order])
    last = np.append(place[1:] != place[:-1], True) & (place <= horizon)
    return place[last], total[last]


def _parted(group: Group, span: int) -> list[Group]:
    """The group in parts whose offsets lie close together, so that they share their instants."""
    curve, costs, offsets, leasts = group
    part = offsets // span
    if (part == part[0]).all():
        return [group]
    return [
        (curve, costs[here], offsets[here], leasts[here])
        for here in (part == number for number in np.unique(part))
    ]


def _instants(rate: Rate, lowest: int, furthest: int) -> Times:
    """Lengths >= 0 at which a rate admits more tuples; the first has all up to ``lowest``."""
    begin = max(lowest, 0)
    first = (begin + rate.jitter) // rate.period + 1
    last = max(first, (furthest + rate.jitter) // rate.period)
    later = np.arange(first, last + 1, dtype=np.int64) * rate.period - rate.jitter
    return np.append(np.full(1, begin, dtype=np.int64), later)


def _coarser_rate(rate: Rate, span: int, most: int) -> Rate:
    """A rate that admits at least as much at every length, with about ``most`` steps in a span."""
    together = -(-(span // rate.period) // most)
    if together <= 1:
        return rate
    return Rate(rate.count * together, rate.period * together, rate.jitter)
