"""What a run under reservations must know of operator paths, as plain tables.

They are computed from the whole plan before anything runs (:mod:`headway.engine.path_tasks`), and
say by the names of units, ports and sources which task a tuple's job belongs to, how much work it
brings, and which sources are held to their declared rates. The executable of a node carries those
of the node, and so needs neither the compiler nor the rest of the plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from headway.engine.declared_limits import RateWatch
from headway.model.quantities import ArrivalCurve
from headway.schedule.online.reservation import TaskFacts


@dataclass(frozen=True, slots=True)
class PathPlace:
    """Where a job belongs: a task on a node, behind so many gatherings."""

    node: str
    task: int
    hard: bool
    stage: int


@dataclass(frozen=True, slots=True)
class JobWork:
    """What a job brings to a node at most, by declared costs, decisions included (ns)."""

    once: int
    """paid once by a gathering head"""
    each: int
    """for each tuple"""
    bounded: bool
    """no join on the way makes pairs that are charged to the tuples of its other side"""
    last: int
    """relative deadline of the last train of the path on this node"""

    def of(self, items: int) -> int:
        return self.once + items * self.each


@dataclass(frozen=True, slots=True)
class Entrance:
    """A source that a hard path begins at, and who may take what is beyond its rate: soft units
    (each with a port) and soft outputs."""

    units: tuple[tuple[str, str], ...]
    outputs: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservedPaths:
    """The tables. Units that declare no cost are in none of them: nothing is reserved there."""

    sources: tuple[str, ...]
    """of the whole plan"""
    facts: Mapping[str, tuple[TaskFacts, ...]]
    """node -> its tasks"""
    overheads: Mapping[str, int]
    """node -> α: what stays free because operators are not interrupted"""
    places: Mapping[tuple[str, str], PathPlace]
    """(unit, source)"""
    works: Mapping[tuple[str, str, str], JobWork]
    """(unit, port, source)"""
    first_source: Mapping[str, str]
    """unit -> the source of what a timer or a window made"""
    entrances: Mapping[str, Entrance]
    """source"""

    def place(self, unit: str, source: str | None) -> PathPlace | None:
        """The task of a tuple from a source before a unit; none where nothing is reserved."""
        return self.places.get((unit, source or self.first_source[unit]))

    def work(self, unit: str, port: str, source: str | None) -> JobWork:
        """What a job that enters by this unit and port brings, on this node."""
        return self.works[unit, port, source or self.first_source[unit]]

    def on(self, node: str) -> ReservedPaths:
        """Those of one node."""
        mine = {unit for (unit, _), place in self.places.items() if place.node == node}
        return ReservedPaths(
            sources=self.sources,
            facts={node: self.facts.get(node, ())},
            overheads={name: share for name, share in self.overheads.items() if name == node},
            places={key: place for key, place in self.places.items() if key[0] in mine},
            works={key: work for key, work in self.works.items() if key[0] in mine},
            first_source=self.first_source,
            entrances=self.entrances,
        )


def paths_data(paths: ReservedPaths) -> dict[str, Any]:
    """The tables as JSON-able data."""
    return {
        "sources": list(paths.sources),
        "facts": {node: [asdict(one) for one in facts] for node, facts in paths.facts.items()},
        "overheads": dict(paths.overheads),
        "places": [[*key, asdict(place)] for key, place in paths.places.items()],
        "works": [[*key, asdict(work)] for key, work in paths.works.items()],
        "first_source": dict(paths.first_source),
        "entrances": {source: asdict(one) for source, one in paths.entrances.items()},
    }


def paths_from_data(data: dict[str, Any]) -> ReservedPaths:
    """Reads what :func:`paths_data` gave."""
    return ReservedPaths(
        sources=tuple(data["sources"]),
        facts={n: tuple(TaskFacts(**one) for one in facts) for n, facts in data["facts"].items()},
        overheads=data["overheads"],
        places={(unit, source): PathPlace(**place) for unit, source, place in data["places"]},
        works={(unit, port, source): JobWork(**w) for unit, port, source, w in data["works"]},
        first_source=data["first_source"],
        entrances={
            source: Entrance(
                tuple((unit, port) for unit, port in one["units"]),
                tuple(one["outputs"]),
                one["reason"],
            )
            for source, one in data["entrances"].items()
        },
    )


class Policer:
    """Whether a tuple at this time still keeps to all rates of an arrival curve
    (:class:`~headway.engine.declared_limits.RateWatch`); one that does not takes no place."""

    def __init__(self, curve: ArrivalCurve) -> None:
        self._watches = [RateWatch(rate) for rate in curve.rates]

    def lets_in(self, now: int) -> bool:
        """Decides on a tuple that comes now, and counts it if it may."""
        if any(now < watch.earliest[0] for watch in self._watches):
            return False
        for watch in self._watches:
            watch.arrived(now)
        return True
