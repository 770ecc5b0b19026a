"""What may befall a simulated car, and what does under one seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from headway.model.quantities import MILLISECOND, SECOND
from headway.simulation.simulated_network import LinkManners


class FaultKind(StrEnum):
    RESET = "reset"
    """all connections between two nodes break"""
    PARTITION = "partition"
    """two nodes do not hear each other for a while"""
    ISOLATION = "isolation"
    """a node hears nobody for a while"""
    CRASH = "crash"
    """a node's process is killed, at any of its calls; its system closes its connections"""
    POWER_CUT = "power_cut"
    """a node is gone, and nobody is told"""
    PAUSE = "pause"
    """a node's process does not run for a while: it neither reads nor speaks"""
    SLOW = "slow"
    """a node's operators take longer than they declare"""
    FULL_DISK = "full_disk"
    """nothing can be written on a node for a while"""

    @property
    def on_link(self) -> bool:
        return self in (FaultKind.RESET, FaultKind.PARTITION)

    @property
    def ends_process(self) -> bool:
        return self in (FaultKind.CRASH, FaultKind.POWER_CUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRate:
    """``chance`` that a run has any of this kind, then one to ``most``; for ``shortest`` to
    ``longest`` ns. ``returns``: the chance that a process that ended is started again.
    ``factor``: the most by which operators slow down."""

    chance: float
    most: int = 1
    shortest: int = 100 * MILLISECOND
    longest: int = SECOND
    returns: float = 1.0
    factor: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultSpec:
    """What may happen. ``manners`` hold in the share ``rough`` of the runs; in the others the
    network is as the plan takes it to be. ``drift`` is the most that a clock runs fast or slow
    (billionths), ``offset`` the most that clocks differ at the start (ns). All faults begin within
    the share ``within`` of the recording, so that what comes after them is seen."""

    name: str = "faults"
    rates: tuple[tuple[FaultKind, FaultRate], ...] = ()
    manners: LinkManners = field(default_factory=LinkManners)
    rough: float = 1.0
    drift: int = 0
    offset: int = 0
    within: float = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What happens: from ``at`` to ``until`` (ns from the start of the recording; None: for good),
    to a node or between two. ``calls``: a process ends at that many calls of its machine later."""

    kind: FaultKind
    at: int
    until: int | None
    nodes: tuple[str, ...]
    factor: float = 1.0
    calls: int = 0

    def __str__(self) -> str:
        where = " and ".join(self.nodes)
        span = "for good" if self.until is None else f"for {(self.until - self.at) / 1e6:.0f} ms"
        if self.kind is FaultKind.RESET:
            span = ""
        factor = f", {self.factor:.1f} times" if self.kind is FaultKind.SLOW else ""
        what = self.kind.value.replace("_", " ")
        return f"{self.at / 1e6:9.1f} ms  {what} {where}{factor} {span}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultPlan:
    """All that one seed brings."""

    seed: int
    faults: tuple[Fault, ...]
    manners: LinkManners
    drifts: tuple[tuple[str, int], ...]
    offsets: tuple[tuple[str, int], ...]

    @property
    def rough(self) -> bool:
        """Whether the network loses, delays or changes anything."""
        manners = self.manners
        return bool(manners.loss or manners.jitter or manners.corrupt)


def draw(
    spec: FaultSpec, seed: int, nodes: Sequence[str], links: Sequence[tuple[str, str]], span: int
) -> FaultPlan:
    """The faults of one seed for a car of those nodes and links, over a recording of ``span``
    ns."""
    chooser = random.Random(f"{seed} faults")
    faults: list[Fault] = []
    for kind, rate in spec.rates:
        if chooser.random() >= rate.chance or (kind.on_link and not links):
            continue
        times, latest = chooser.randint(1, rate.most), int(span * spec.within)
        faults += [_one(chooser, kind, rate, nodes, links, latest) for _ in range(times)]
    calm = LinkManners(window=spec.manners.window)
    return FaultPlan(
        seed=seed,
        faults=tuple(sorted(faults, key=lambda fault: (fault.at, fault.kind, fault.nodes))),
        manners=spec.manners if chooser.random() < spec.rough else calm,
        drifts=tuple((name, chooser.randint(-spec.drift, spec.drift)) for name in nodes),
        offsets=tuple((name, chooser.randint(-spec.offset, spec.offset)) for name in nodes),
    )


def _one(
    chooser: random.Random,
    kind: FaultKind,
    rate: FaultRate,
    nodes: Sequence[str],
    links: Sequence[tuple[str, str]],
    latest: int,
) -> Fault:
    at = chooser.randrange(max(1, latest))
    until: int | None = at + chooser.randint(rate.shortest, max(rate.shortest, rate.longest))
    if kind.ends_process and chooser.random() >= rate.returns:
        until = None
    return Fault(
        kind=kind,
        at=at,
        until=until,
        nodes=tuple(chooser.choice(links)) if kind.on_link else (chooser.choice(nodes),),
        factor=chooser.uniform(1.0, rate.factor) if kind is FaultKind.SLOW else 1.0,
        calls=chooser.randrange(400) if kind is FaultKind.CRASH else 0,
    )
