"""Sources and clocks whose instants are known: not all of them can come at once.

A source with an ``offset`` sends at ``k * period + offset`` since the epoch, at most its jitter
later; so does a ``sample``. The analysis of a node counts, for an interval that begins at t0, what
arrives at most ``entry`` before t0. Without offsets the worst is taken for every source by itself.
With them, for one t0 after the other, what can come of each source *there*: the first instant of
which something may arrive at or after ``t0 - entry`` is known, and from it on the source is
periodic. Moving t0 later changes nothing but brings the ends nearer, until an instant drops out;
so only t0 = instant + jitter + entry need be looked at, for each source and entry, within one
hyperperiod, and of these only where no other t0 is worse for every source. (Tindell, "Adding
time-offsets to schedulability analysis", YCS 221, York, 1994, takes such critical instants for
fixed priorities; Pellizzoni and Lipari, "Feasibility analysis of real-time periodic tasks with
offsets", Real-Time Systems 30, 2005, for EDF.) All other arrivals count as ever.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import lcm

from headway.compiler.latency.demand import Demand
from headway.compiler.latency.finishing import Competing
from headway.model.graph import Graph
from headway.model.quantities import ArrivalCurve, Rate

MOST_INSTANTS = 2_000
"""t0 that are thought of; with more, arrivals count as if nothing were known"""
MOST_CASES = 100
"""t0 that are looked at"""


@dataclass(frozen=True, slots=True)
class Phase:
    """Instants that are known: ``count`` arrivals at ``k * period + offset``, displaced by up to
    ``jitter``."""

    rate: Rate
    offset: int

    def reach(self, begin: int, entry: int) -> int:
        """How far before ``begin`` the first instant lies of which something may arrive no more
        than ``entry`` before it; negative: after it."""
        period = self.rate.period
        first = -((self.offset + self.rate.jitter + entry - begin) // period)
        return begin - (first * period + self.offset)

    def instants(self, entry: int, until: int) -> range:
        """The t0 up to which an instant counts."""
        begin = (self.offset + self.rate.jitter + entry) % self.rate.period
        return range(begin, until, self.rate.period)


def phases_of(graph: Graph) -> dict[str, Phase]:
    """By source and clock; none, unless the query tells the offset of a source."""
    found = {
        source.name: Phase(source.rate, source.offset)
        for source in graph.sources.values()
        if source.offset is not None and source.rate is not None and source.shedder is None
    }
    if not found:
        return {}
    for operator in graph.operators.values():
        if (clock := operator.clock) is not None:
            rate = Rate(1, clock.every, clock.jitter)
            found[operator.name] = Phase(rate, clock.offset % clock.every)
    return found


Reaches = dict[tuple[str, int], int]
"""(source or clock, entry) -> how far before t0 its first instant lies"""


def worst_instants(
    phases: Mapping[str, Phase], entries: Sequence[tuple[str, int]]
) -> list[Reaches] | None:
    """What can come at each t0 that matters; None where that is too much, or tells nothing."""
    known = sorted({(name, entry) for name, entry in entries if name in phases})
    if len({name for name, _ in known}) < 2:
        return None
    until = lcm(*(phases[name].rate.period for name, _ in known))
    if sum(until // phases[name].rate.period for name, _ in known) > MOST_INSTANTS:
        return None
    begins = {t0 for name, entry in known for t0 in phases[name].instants(entry, until)}
    found = {tuple(phases[name].reach(t0, entry) for name, entry in known) for t0 in begins}
    kept: list[tuple[int, ...]] = []
    for one in sorted(found, reverse=True):
        if not any(all(a >= b for a, b in zip(other, one, strict=True)) for other in kept):
            kept.append(one)
            if len(kept) > MOST_CASES:
                return None
    return [dict(zip(known, one, strict=True)) for one in kept]


@dataclass(frozen=True, slots=True)
class Loads:
    """The work that a node can be asked for: by deadlines, by what has come, by both."""

    demands: Sequence[Demand]
    pending: Sequence[Demand]
    competing: Sequence[Competing]


def cases_of(loads: Loads, phases: Mapping[str, Phase]) -> list[Loads]:
    """What can come together; one case where nothing is known of instants."""
    entries = [(one.cause, one.offset) for one in loads.pending]
    entries += [(one.urgent.cause, one.entry) for one in loads.competing]
    instants = worst_instants(phases, entries) if phases else None
    if instants is None:
        return [loads]
    return [_at(loads, phases, reaches) for reaches in instants]


def _at(loads: Loads, phases: Mapping[str, Phase], reaches: Reaches) -> Loads:
    def moved(demand: Demand, entry: int) -> Demand:
        """With what can come from the first instant on in place of ``entry`` and jitter."""
        rate = phases[demand.cause].rate
        further = reaches[demand.cause, entry] - entry
        curve = ArrivalCurve((Rate(rate.count, rate.period),))
        return replace(demand, curve=curve, offset=demand.offset + further)

    competing = [
        Competing(moved(one.urgent, one.entry), reaches[one.urgent.cause, one.entry])
        if one.urgent.cause in phases
        else one
        for one in loads.competing
    ]
    return Loads(
        [one.urgent for one in competing],
        [moved(one, one.offset) if one.cause in phases else one for one in loads.pending],
        competing,
    )
