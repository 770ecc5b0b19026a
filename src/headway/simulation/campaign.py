"""Many seeds, one after the other: which of them break a property, and what the others lost."""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from headway.errors import InputError
from headway.simulation.expected import expected_outputs
from headway.simulation.fault_plan import FaultPlan, FaultSpec, draw
from headway.simulation.properties import Judgement, judge
from headway.simulation.simulated_car import CarRun, CarSetting, SimulatedCar
from headway.simulation.simulated_network import pair_of

ENGINE_LOG = logging.getLogger("headway.engine")


@dataclass(frozen=True, kw_only=True)
class SeedResult:
    """What one seed gave."""

    faults: FaultPlan
    run: CarRun
    judgement: Judgement

    @property
    def failed(self) -> bool:
        return bool(self.judgement.violations)


class Campaign:
    """Made once for a setting and a spec; then runs any seed, each by itself: a seed gives the
    same whatever ran before it."""

    def __init__(self, setting: CarSetting, spec: FaultSpec) -> None:
        self.setting, self.spec = setting, spec
        self._parts = setting.parts
        if not self._parts or not setting.arrivals:
            what = "the recording is empty" if self._parts else "no node has anything to do"
            raise InputError(what, want="a query with sources, and a recording of them")
        self.nodes = [part.node for part in self._parts]
        pairs = [pair_of(part.node, other) for part in self._parts for _, other in part.sends]
        self.links = sorted(set(pairs))
        self.span = setting.arrivals[-1].time - setting.arrivals[0].time
        with _quiet():
            self.expected = expected_outputs(setting)

    def plan(self, seed: int) -> FaultPlan:
        return draw(self.spec, seed, self.nodes, self.links, self.span)

    def run(self, seed: int, *, keep_trace: bool = False) -> SeedResult:
        faults = self.plan(seed)
        with _quiet():
            run = SimulatedCar(self.setting, self._parts, faults, keep_trace=keep_trace).run()
        return SeedResult(faults=faults, run=run, judgement=judge(self.setting, self.expected, run))

    def runs(self, seeds: Iterable[int]) -> Iterator[SeedResult]:
        for seed in seeds:
            yield self.run(seed)


@contextmanager
def _quiet() -> Iterator[None]:
    """That a simulated node is late is no news for the log of this process."""
    before = ENGINE_LOG.disabled
    ENGINE_LOG.disabled = True
    try:
        yield
    finally:
        ENGINE_LOG.disabled = before


@dataclass(kw_only=True)
class CampaignTotals:
    """Added up over seeds. ``hash``: of the traces of all, in order."""

    seeds: int = 0
    failed: list[int] = field(default_factory=list)
    struck: Counter[str] = field(default_factory=Counter)
    """kind of fault -> how often it really struck"""
    missing: Counter[str] = field(default_factory=Counter)
    """reason -> tuples of outputs that are missing because of it"""
    tuples: int = 0
    simulated: int = 0
    """ns"""
    hash: str = ""

    def add(self, result: SeedResult) -> None:
        self.seeds += 1
        if result.failed:
            self.failed.append(result.faults.seed)
        self.struck.update(fault.kind.value for _, fault in result.run.struck)
        self.missing.update(result.judgement.missing)
        self.tuples += result.judgement.tuples
        self.simulated += result.run.took
        both = self.hash + result.run.trace_hash
        self.hash = hashlib.sha256(both.encode()).hexdigest()
