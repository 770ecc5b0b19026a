"""A second opinion on chains over several nodes and buses, after the textbooks.

Holistic analysis (K. Tindell and J. Clark, Holistic schedulability analysis for distributed hard
real-time systems, Microprocessing and Microprogramming 40, 1994): each stage of a chain is looked
at by itself, with a release jitter that is how differently late its tuples can be when they get
there; jitters and responses are raised from below until nothing changes.

On a node under EDF a job ends within the longest busy period, and by its deadline and the most by
which demand can exceed an interval (S. Baruah, L. Rosier and R. Howell, 1990, with one section of a
less urgent job before it: K. Jeffay, D. Stanat and C. Martel, 1991; with release jitter: M. Spuri,
Holistic analysis for deadline scheduled real-time distributed systems, INRIA RR-2873, 1996).

On a bus the queueing of every instance in the busy period of a priority is worked out (R. Davis,
A. Burns, R. Bril and J. Lukkien, Controller Area Network (CAN) schedulability analysis: refuted,
revisited and revised, Real-Time Systems 35, 2007), behind one frame of a lower priority. A tuple of
several frames is won or lost frame by frame, so only its last one is not interrupted.

It imports nothing of the compiler. Of a plan it takes what was decided (nodes, ways, priorities,
relative deadlines, sizes), not what was computed from that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count as counting

PERIODS = 10
"""what takes longer than so many of the longest period counts as without a bound"""


@dataclass(frozen=True)
class Train:
    """Operators of a chain on a node, one after the other; urgent by sensing and ``deadline``."""

    node: str
    costs: tuple[int, ...]
    deadline: int

    @property
    def work(self) -> int:
        return sum(self.costs)


@dataclass(frozen=True)
class Message:
    """A tuple on a bus; the least ``priority`` goes first."""

    bus: str
    priority: int
    frames: tuple[int, ...]

    @property
    def work(self) -> int:
        return sum(self.frames)


@dataclass(frozen=True)
class Holding:
    """A gateway that holds a tuple for ``most`` or less."""

    most: int


Stage = Train | Message | Holding


@dataclass(frozen=True)
class Way:
    """Tuples come ``count`` at a time, a ``period`` apart or more, displaced by up to ``jitter``,
    at most ``delay`` after sensing."""

    count: int
    period: int
    jitter: int
    delay: int
    stages: tuple[Stage, ...]


@dataclass(frozen=True)
class Times:
    """Of a tuple when it gets to a stage, at most: how long ago it came at its source, and was
    sensed. At least it is nothing: executions and frames may be shorter than declared."""

    latest: int
    oldest: int


@dataclass(frozen=True)
class Visit:
    """A stage and what comes to it."""

    way: Way
    stage: Stage
    at: Times

    @property
    def jitter(self) -> int:
        return self.way.jitter + self.at.latest

    def comes(self, number: int) -> int:
        """When that tuple comes at the earliest, after the instant of the first or later."""
        return max(0, number // self.way.count * self.way.period - self.jitter)

    def among(self, length: int) -> int:
        """Most tuples that come in a half-open interval."""
        return self.way.count * max(0, -(-(length + self.jitter) // self.way.period))

    def due(self, number: int) -> int:
        """When that job of a train is due at the earliest, after the instant at which the first
        comes or later: by when it comes here, or by when it was to come at the source."""
        assert isinstance(self.stage, Train)
        ideal = number // self.way.count * self.way.period - self.way.jitter
        by_source = ideal - self.at.latest - self.way.delay
        return self.stage.deadline + max(self.comes(number) - self.at.oldest, by_source)


def can_bits(payload: int) -> int:
    """Of a frame with an 11-bit identifier, at worst stuffing (Davis et al., equation 1)."""
    return 34 + 8 * payload + 13 + (34 + 8 * payload - 1) // 4


def can_frames(size: int, bit_rate: int) -> tuple[int, ...]:
    """Of a tuple in frames of 8 bytes, in nanoseconds."""
    payloads = [min(8, size - begin) for begin in range(0, size, 8)]
    return tuple(-(-can_bits(payload) * 10**9 // bit_rate) for payload in payloads)


# ---------------------------------------------------------------- all stages together


def opinion(ways: Sequence[Way], *, coarse: bool = False) -> list[int | None]:
    """The latest that a tuple of each chain can be done, from its sensing; None without a bound.

    ``coarse`` looks at no instances on a bus: a tuple has passed it when the busy period ends."""
    times = [[Times(0, way.delay)] * (len(way.stages) + 1) for way in ways]
    most = PERIODS * max(way.period for way in ways)
    while True:
        visits: dict[str, list[Visit]] = {}
        for way, own in zip(ways, times, strict=True):
            for stage, at in zip(way.stages, own, strict=False):
                if not isinstance(stage, Holding):
                    place = stage.node if isinstance(stage, Train) else stage.bus
                    visits.setdefault(place, []).append(Visit(way, stage, at))
        left = {
            visit: _left(visit, on_place, coarse=coarse)
            for on_place in visits.values()
            for visit in on_place
        }
        found = []
        for way, own in zip(ways, times, strict=True):
            after = [own[0]]
            for stage, at in zip(way.stages, own, strict=False):
                if isinstance(stage, Holding):
                    more = Times(at.latest + stage.most, at.oldest + stage.most)
                else:
                    known = left[Visit(way, stage, at)]
                    if known is None:  # somewhere there is more to do than time
                        return [None] * len(ways)
                    more = known
                after.append(more)
            found.append(after)
        if found == times:
            return [own[-1].oldest for own in times]
        if any(own[-1].oldest > most for own in found):
            return [None] * len(ways)
        times = found


def _left(visit: Visit, on_place: Sequence[Visit], *, coarse: bool) -> Times | None:
    if isinstance(visit.stage, Train):
        return _done(visit, on_place)
    return _sent(visit, on_place, coarse=coarse)


def share(visits: Sequence[Visit]) -> Fraction:
    """Of the time of a node or bus."""
    parts = (Fraction(_work(one) * one.way.count, one.way.period) for one in visits)
    return sum(parts, Fraction(0))


def _work(visit: Visit) -> int:
    assert not isinstance(visit.stage, Holding)
    return visit.stage.work


# ---------------------------------------------------------------- on a node


def _done(visit: Visit, on_node: Sequence[Visit]) -> Times | None:
    """When a job has ended: within a busy period and by its deadline and the lateness."""
    if share(on_node) >= 1:
        return None
    assert isinstance(visit.stage, Train)
    at = visit.at
    busy = busy_period(on_node)
    oldest = min(at.oldest + busy, visit.stage.deadline + lateness(visit, on_node))
    return Times(min(at.latest + busy, oldest), oldest)


def busy_period(visits: Sequence[Visit], blocking: int = 0) -> int:
    """The longest time in which there is always something to do, behind what was under way."""
    length = blocking + 1
    while (work := blocking + sum(_work(one) * one.among(length) for one in visits)) > length:
        length = work
    return max(work, blocking)


def lateness(visit: Visit, on_node: Sequence[Visit]) -> int:
    """The most by which demand and a section under way exceed an interval that can end with a
    deadline of this train: from its arrival on, at least."""
    assert isinstance(visit.stage, Train)
    least = visit.stage.deadline - visit.at.oldest
    sections = [
        (one.stage.deadline, max(one.stage.costs))
        for one in on_node
        if isinstance(one.stage, Train)
    ]

    def excess(length: int, demand: int) -> int:
        return demand + max((took for due, took in sections if due > length), default=0) - length

    demand = 0
    ahead: list[tuple[int, int]] = []
    following = [counting() for _ in on_node]
    for one, numbers in zip(on_node, following, strict=True):
        while (due := one.due(next(numbers))) <= least:
            demand += _work(one)
        ahead.append((due, _work(one)))
    worst = excess(least, demand)
    # Beyond this length the long-run share leaves no room for more excess: a job due at ``due(n)``
    # has at most n + 1 before it, and due(n) is at least n // count periods after ``due(0)`` less
    # the jitter.
    spare = sum(
        Fraction(_work(one) * one.way.count, one.way.period)
        * (one.way.period + abs(one.due(0)) + one.jitter)
        for one in on_node
    ) + max(took for _, took in sections)
    end = max(least, int((spare - worst) / (1 - share(on_node))) + 1)
    while True:
        due, work = min(ahead)
        if due > end:
            return worst
        place = ahead.index((due, work))
        demand += work
        ahead[place] = (on_node[place].due(next(following[place])), work)
        if min(ahead)[0] > due:
            worst = max(worst, excess(due, demand))


# ---------------------------------------------------------------- on a bus


def _sent(visit: Visit, on_bus: Sequence[Visit], *, coarse: bool) -> Times | None:
    """When a tuple has passed a bus: each instance in the busy period, counted from when it came
    there and from when it was to come at its source."""
    own = visit.stage
    assert isinstance(own, Message)
    stages = [(one, one.stage) for one in on_bus if isinstance(one.stage, Message)]
    urgent = [one for one, stage in stages if stage.priority < own.priority]
    blocking = max(
        (max(stage.frames) for _, stage in stages if stage.priority > own.priority), default=0
    )
    if share([*urgent, visit]) >= 1:
        return None
    busy = busy_period([*urgent, visit], blocking)
    way, at = visit.way, visit.at
    if coarse:
        return Times(at.latest + busy, at.oldest + busy)
    last = own.frames[-1]
    latest = oldest = 0
    for number in range(visit.among(busy)):
        before = blocking + number * own.work + own.work - last
        begins = before
        # What comes at the very instant at which a frame could begin goes first.
        while (
            waits := before + sum(_work(one) * one.among(begins + 1) for one in urgent)
        ) > begins:
            begins = waits
        passed = begins + last
        ideal = number // way.count * way.period
        by_source = at.latest + passed - max(0, ideal - way.jitter)
        latest = max(latest, by_source)
        here = at.oldest + passed - visit.comes(number)
        oldest = max(oldest, min(here, by_source + way.delay))
    return Times(min(latest, oldest), oldest)
