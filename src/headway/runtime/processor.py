"""A queue of ready jobs and the cores it feeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from headway.model.vehicle import Node
from headway.runtime.operators.base import Row
from headway.runtime.units import Flight, Unit


class Course:
    """How far a job has come in a train that is one fused function. Nobody sees its result before
    the end, so the function has run when the job begins."""

    __slots__ = ("done", "ran", "result")

    def __init__(self, result: Row | None, ran: int) -> None:
        self.result = result
        self.ran = ran
        """operators that take part"""
        self.done = 0
        """operators whose time is over, or is when the operator under way ends"""


class Ready(NamedTuple):
    """A ready job; the least (key, number) goes first."""

    key: Any
    number: int
    unit: Unit
    port: str
    row: Row
    root: int
    late: bool
    given: Any
    flight: Flight | None
    slots: Iterator[tuple[int, int]] | Course | None = None
    """the rest of a job that has begun"""
    slot: tuple[int, int] | None = None
    """(operator, its time): what comes next in it"""


class Processor:
    """One queue and its cores: all cores of a node (global), or one of them (partitioned)."""

    def __init__(self, index: int, node: Node, cores: Sequence[int], units: Sequence[Unit]) -> None:
        self.index = index
        self.units = tuple(units)
        self.ready: list[Ready] = []
        self.cores = len(cores)
        self.free = list(reversed(cores))
        self.penalty = 0
        """cost of preemptions, paid before the next job"""
        self.decision_cost = node.decision_cost
        self.preemption_cost = node.preemption_cost
        self.places = {
            core: f"{node.name}.{core}" if node.cores > 1 else node.name for core in cores
        }


def processors_of(
    node: Node, units: Sequence[Unit], first: int, *, partitioned: bool
) -> list[Processor]:
    """Global: one queue for all cores. Partitioned: each unit has its core, the costliest
    assigned first to the core with the least cost so far; trains that share a stateful operator
    stay together."""
    if not partitioned or node.cores == 1:
        return [Processor(first, node, range(node.cores), units)]
    shares: list[list[Unit]] = [[] for _ in range(node.cores)]
    for group in sorted(_groups(units), key=lambda g: (-sum(u.cost for u in g), g[0].index)):
        least = min(range(node.cores), key=lambda core: (sum(u.cost for u in shares[core]), core))
        shares[least] += group
    return [
        Processor(first + core, node, [core], sorted(share, key=lambda u: u.index))
        for core, share in enumerate(shares)
    ]


def _groups(units: Sequence[Unit]) -> list[list[Unit]]:
    """Units joined by a stateful operator they share."""
    groups: list[tuple[set[str], list[Unit]]] = []
    for unit in units:
        shared = {unit.operators[step.first] for step in unit.steps if step.stateful is not None}
        mine: tuple[set[str], list[Unit]] = (set(shared), [unit])
        rest = []
        for names, members in groups:
            if names & shared:
                mine = (mine[0] | names, members + mine[1])
            else:
                rest.append((names, members))
        groups = [*rest, mine]
    return [members for _, members in groups]
