"""Chain (Babcock, Babu, Datar and Motwani 2003): the order that keeps queues short.

What a tuple takes of memory falls as operators drop or shrink it. Drawn over processor time that is
the *progress chart* of its way: one point for each operator, down to nothing where the last one
gives it away. The pieces of the chart's lower envelope are the *chains*: a tuple anywhere on a
piece has what that piece falls in a unit of time as its priority.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from headway.schedule.online.policy import (
    ROOTS,
    KeyBase,
    KeyFunction,
    KeyRule,
    Policy,
    UnitFacts,
)

if TYPE_CHECKING:  # a node is told its places and computes none
    from headway.model.plan import Task


class ChainPolicy(Policy):
    """The chain along which most memory is freed in a unit of time first; in it the oldest tuple.

    The paper has queries that are paths, and proves the order near-optimal for them. Here an
    operator may stand on several ways: it has the steepest of its chains, and behind a branch the
    steepest follower goes on with the chain. Sizes are by declared selectivity, a tuple as large as
    any other, over the nodes of the car together. It knows no deadlines.
    """

    name = "chain"
    summary = "the operators that free most memory in a unit of time first; knows no deadlines"
    paper = "Babcock et al. 2003, doi:10.1145/872757.872789"
    fuse = False
    preemptive = False

    def key(self, unit: UnitFacts) -> KeyFunction:
        chain, rank = unit.chain, unit.rank
        return lambda timestamp, root: (chain, root, rank)

    def key_rule(self, unit: UnitFacts) -> KeyRule:
        return KeyRule(KeyBase.ROOT, unit.chain << ROOTS, unit.rank)


class EnvelopeSegment(NamedTuple):
    """Of a lower envelope that begins with a tuple of size 1."""

    time: int
    fall: float
    tasks: int
    """how many it spans"""

    @property
    def slope(self) -> float:
        return self.fall / self.time


def chain_places(tasks: Sequence[Task], selectivity: Mapping[str, float]) -> dict[str, int]:
    """The place of each task's chain among all, the steepest first; equal ones share it.

    ``tasks`` stand in topological order; ``selectivity`` is that of operators."""
    found = _steepness(tasks, selectivity)
    alike = {name: float(f"{slope:.9g}") for name, slope in found.items()}
    places = {slope: place for place, slope in enumerate(sorted(set(alike.values()), reverse=True))}
    return {name: places[slope] for name, slope in alike.items()}


def _steepness(tasks: Sequence[Task], selectivity: Mapping[str, float]) -> dict[str, float]:
    passes: dict[str, float] = {}
    for task in tasks:
        share = 1.0
        for name in task.operators:
            share *= selectivity[name]
        passes[task.name] = share
    ahead: dict[str, tuple[EnvelopeSegment, ...]] = {}
    along: dict[str, str | None] = {}
    for task in reversed(tasks):
        followers = [follower.task for follower in task.successors]
        best = max(followers, key=lambda name: ahead[name][0].slope, default=None)
        along[task.name] = best
        ahead[task.name] = _envelope(task.cost, passes[task.name], ahead[best] if best else ())
    size: dict[str, float] = {}
    given: dict[str, list[tuple[float, int]]] = {}
    found: dict[str, float] = {}
    for task in tasks:
        name = task.name
        first = ahead[name][0]
        own = (first.slope * size.get(name, 1.0), first.tasks)
        found[name], more = max(given.get(name) or [own])
        after = size.get(name, 1.0) * passes[name]
        for follower in task.successors:
            size[follower.task] = max(size.get(follower.task, 0.0), after)
        for follower in task.successors:
            if follower.task == along[name] and more > 1:
                goes_on = (found[name], more - 1)
            else:
                begins = ahead[follower.task][0]
                goes_on = (begins.slope * after, begins.tasks)
            given.setdefault(follower.task, []).append(goes_on)
    return found


def _envelope(
    cost: int, passes: float, behind: Sequence[EnvelopeSegment]
) -> tuple[EnvelopeSegment, ...]:
    """The envelope that begins before an operator, from the one that begins behind it: where its
    own piece is not steeper than the next, both are one."""
    first = EnvelopeSegment(max(cost, 1), 1.0 - passes if behind else 1.0, 1)
    rest = [piece._replace(fall=piece.fall * passes) for piece in behind]
    while rest and first.slope <= rest[0].slope:
        taken = rest.pop(0)
        first = EnvelopeSegment(
            first.time + taken.time, first.fall + taken.fall, first.tasks + taken.tasks
        )
    return (first, *rest)
