"""Pass: where the placement of least traffic breaks a promise, the search goes on to one that keeps
all of them.

Promises come first, then traffic, then balance. A placement that keeps all promises is left as it
is, to the byte. Otherwise placements near it and some others are judged, each by the latency
analysis itself, until the number of tries is used up; of those that keep all promises the one with
the least network usage counts. If there is none, one that keeps at least all hard promises; and if
there is none of these either, the placement of least traffic stays. How many are looked at, and how
many of them are judged, follows from the size of the query and never from the clock, so the same
input gives the same placement.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from math import inf, prod

from headway.compiler.compilation import Compilation
from headway.compiler.deadlines import deadlines
from headway.compiler.latency.verdict import judged_within
from headway.compiler.node_queries import split
from headway.compiler.placement.placement_problem import (
    Layout,
    PlacementProblem,
    lay_out,
    measure,
    problem_of,
    respects_capacities,
)
from headway.compiler.processor_costs import settle_costs
from headway.compiler.trains import trains
from headway.model.plan import Asked, Requirement
from headway.model.routes import architecture_of

MOST_TRIES = 240
LEAST_TRIES = 12
MOST_WORK = 2_400
"""tries times operators"""
MOST_LOOKS = 600_000
"""placements that are laid out and measured, judged or not, times operators: on a large vehicle
most moves are out of the question, and there are many"""
MANY_NODES = 16
"""above so many an operator is first tried beside what it reads from and what reads it: the tries
would not reach far otherwise"""
_RESTARTS = 40

HOPELESS = 8.0
"""A bound of so many times its deadline tells a search no more than that there is none."""

Placement = Mapping[str, str]
Targets = frozenset[tuple[str, Asked]]
Score = tuple[float, ...]


def keep_promises(compilation: Compilation) -> Compilation:
    """Another placement where that of least traffic breaks promises and the other keeps them."""
    verdict = compilation.verdict
    if verdict is None or verdict.safe:
        return compilation
    problem = problem_of(compilation)
    if problem.settled:
        return compilation
    compilation.tell("Looking for a placement that keeps all promises …")
    return PromiseSearch(compilation, problem).run() or compilation


def tries_for(operators: int) -> int:
    """How many placements may be judged for a query of that many operators."""
    return max(LEAST_TRIES, min(MOST_TRIES, MOST_WORK // max(1, operators)))


@dataclass(frozen=True)
class _Judged:
    """A placement that respects the capacities; ``compilation`` holds what can be promised with it,
    and is None where something has no bound or one that is of no use."""

    placement: Placement
    compilation: Compilation | None
    usage: float
    peak: float
    shortest: float
    """the worst ratio of what no run can be below to its deadline"""

    def asked(self, targets: Targets) -> list[Requirement]:
        verdict = self.compilation.verdict if self.compilation is not None else None
        found = verdict.requirements if verdict is not None else ()
        return [requirement for requirement in found if requirement.key in targets]

    def worst(self, targets: Targets) -> float:
        """The largest ratio of a bound to what is allowed."""
        return max((_ratio(one) for one in self.asked(targets)), default=0.0)

    def score(self, targets: Targets) -> Score:
        """The smaller the better. Where there is no bound, a flatter load and shorter ways are."""
        if self.compilation is None:
            return (1.0, self.peak, self.shortest, self.usage)
        excess = [max(0.0, _ratio(one) - 1) for one in self.asked(targets)]
        return (0.0, max(1.0, self.worst(targets)), sum(excess), self.usage, self.peak)

    def keeps(self, targets: Targets) -> bool:
        return self.compilation is not None and all(one.kept for one in self.asked(targets))


def _ratio(one: Requirement) -> float:
    return HOPELESS if one.bound is None else one.bound / one.limit


@dataclass
class PromiseSearch:
    """Looks for a placement whose promises hold, by judging few of them.

    ``tries`` counts down with each that is judged; what was judged is remembered."""

    compilation: Compilation
    problem: PlacementProblem
    others: tuple[Placement, ...] = ()
    """placements of other algorithms, to start from"""
    tries: int = field(init=False)
    looks: int = field(init=False)
    _limits: dict[tuple[str, Asked], int] = field(default_factory=dict, init=False)
    _known: dict[tuple[str, ...], _Judged] = field(default_factory=dict, init=False)
    _beyond: dict[tuple[str, ...], float] = field(default_factory=dict, init=False)
    """placement -> the limit beyond which it is known to be"""

    def __post_init__(self) -> None:
        operators = len(self.compilation.graph.operators)
        self.tries = tries_for(operators)
        self.looks = MOST_LOOKS // max(1, operators)
        self.movable = [p.name for p in self.problem.processes.values() if len(p.nodes) > 1]
        vehicle = self.compilation.vehicle
        self._architecture = architecture_of(vehicle)
        self._speed = {node.name: node.speed for node in vehicle.nodes}
        self._kinds = {node.name: node.core_kind for node in vehicle.nodes}

    def run(self, *, all_or_none: bool = False) -> Compilation | None:
        """The compilation with the placement found, judged; None when none was. Half of the tries
        are for the hard promises alone, unless it is to be ``all_or_none``."""
        verdict = self.compilation.verdict
        assert verdict is not None
        asked = verdict.requirements
        self._limits = {one.key: max(1, one.limit) for one in asked}
        shortest = self._shortest()
        everything = frozenset(one.key for one in asked)
        hard = frozenset(one.key for one in asked if one.hard)
        wanted = {everything: self.tries}
        if hard < everything and not all_or_none:
            wanted = {everything: self.tries - self.tries // 2, hard: self.tries // 2}
        looks = self.looks // len(wanted)
        for targets, tries in wanted.items():
            broken = any(not one.kept for one in asked if one.key in targets)
            if not broken or any(shortest[key[0]] > self._limits[key] for key in targets):
                continue
            self.tries = tries
            self.looks = looks
            self._known.clear()
            self._beyond.clear()
            if (found := self._search(targets)) is not None:
                return found.compilation
        return None

    def _search(self, targets: Targets) -> _Judged | None:
        choices = prod(len(self.problem.processes[name].nodes) for name in self.movable)
        if choices <= self.tries:
            return self._first_of_all(targets)
        for start in self._starts():
            if self.tries <= 0 or self.looks <= 0:
                break
            found = self._climbed(start, targets)
            if found is not None and found.keeps(targets):
                return found
        return None

    def _first_of_all(self, targets: Targets) -> _Judged | None:
        """With few placements: all of them, those of least traffic first."""
        ranked: list[tuple[float, float, int, Placement]] = []
        for nodes in product(*(self.problem.processes[name].nodes for name in self.movable)):
            chosen = dict(zip(self.movable, nodes, strict=True))
            placement: Placement = {**self.compilation.placement, **chosen}
            layout = lay_out(self.problem, placement)
            if layout is not None:
                found = measure(self.problem, layout)
                ranked.append((found.usage, found.peak, len(ranked), placement))
        for _, _, _, ranked_placement in sorted(ranked, key=lambda one: one[:3]):
            judged = self.judged(ranked_placement, targets, 1.0)
            if judged is not None and judged.keeps(targets):
                return judged
        return None

    # ------------------------------------------------------------ one placement

    def judged(
        self, placement: Placement, targets: Targets, limit: float = HOPELESS
    ) -> _Judged | None:
        """What can be promised with a placement. None when it does not fit, when an output is later
        than ``limit`` times its deadline, or when the tries are used up."""
        key = tuple(placement[name] for name in self.movable)
        known = self._known.get(key)
        if known is not None or self._beyond.get(key, -1.0) >= limit:
            return known
        if self.looks <= 0:
            return None
        self.looks -= 1
        layout = lay_out(self.problem, placement)
        found = None if layout is None else measure(self.problem, layout)
        if layout is None or found is None or not respects_capacities(self.problem, found):
            self._beyond[key] = inf
            return None
        shortest = self._shortest(layout)
        worst = max((shortest[key[0]] / self._limits[key] for key in targets), default=0.0)
        trial: Compilation | None = None
        if worst <= limit:
            if self.tries <= 0:
                return None
            self.tries -= 1
            trial = replace(
                self.compilation, placement=layout.placement, routes=layout.routes, verdict=None
            )
            for run_pass in (settle_costs, split, trains, deadlines):
                trial = run_pass(trial)
            most = {
                key[0]: int(self._limits[key] * limit)
                for key in targets
                if key[1] is Asked.DEADLINE
            }
            trial = judged_within(trial, most)
        if trial is None and limit < HOPELESS:
            self._beyond[key] = limit
            return None
        self._known[key] = _Judged(layout.placement, trial, found.usage, found.peak, worst)
        return self._known[key]

    def _shortest(self, layout: Layout | None = None) -> dict[str, int]:
        """For each output what no run can be below: the age of the tuples that enter, and the costs
        and transfers on the longest way. Without a layout: what no placement can be below."""
        graph, schemas = self.compilation.graph, self.compilation.schemas
        times = {name: source.age for name, source in graph.sources.items()}
        for name in graph.order:
            operator = graph.operators[name]
            allowed = self.problem.processes[name].nodes
            if layout is not None:
                allowed = (layout.placement[name],)
            cost = operator.cost
            own = 0
            if cost is not None:
                own = min(
                    (cost.on(self._kinds[n]) or cost).per_tuple(self._speed[n]) for n in allowed
                )
            ways = [0]
            for stream in operator.streams:
                route = () if layout is None else layout.routes.get((stream, allowed[0]), ())
                hops = self._architecture.hops(route, schemas[stream].size_bytes)
                ways.append(times[stream] + sum(hop.delay for hop in hops))
            times[name] = own + max(ways)
        return {output.name: times[output.stream] for output in graph.outputs.values()}

    # ------------------------------------------------------------ many

    def _starts(self) -> Iterator[Placement]:
        """The placement of least traffic; all on one node as far as may be; the flattest load; then
        some drawn at random around these."""
        default = dict(self.compilation.placement)
        yield default
        given = [*self.others, self._flat()]
        given += [self._all_on(node.name) for node in self.compilation.vehicle.nodes]
        yield from given
        draw = random.Random(0)
        for number in range(_RESTARTS):
            base = dict((default, *given)[number % (1 + len(given))])
            for name in self.movable:
                if draw.random() < 0.4:
                    base[name] = draw.choice(self.problem.processes[name].nodes)
            yield base

    def _all_on(self, node: str) -> Placement:
        placement = dict(self.compilation.placement)
        for name in self.movable:
            if node in self.problem.processes[name].nodes:
                placement[name] = node
        return placement

    def _flat(self) -> Placement:
        """The longest work first, each to where the load is then least."""
        placement = dict(self.compilation.placement)
        capacity = self.problem.node_capacity
        used = dict.fromkeys(capacity, 0.0)
        for process in self.problem.processes.values():
            if len(process.nodes) == 1:
                used[process.nodes[0]] += process.loads[process.nodes[0]]
        processes = self.problem.processes
        heaviest = {name: -max(processes[name].loads.values()) for name in self.movable}
        for name in sorted(self.movable, key=lambda one: (heaviest[one], one)):
            process = self.problem.processes[name]
            node = min(
                process.nodes,
                key=lambda n: (used[n] + process.loads[n]) / (capacity[n] or 1e-9),
            )
            used[node] += process.loads[node]
            placement[name] = node
        return placement

    def _climbed(self, start: Placement, targets: Targets) -> _Judged | None:
        """Better and better neighbours, the first that is better each time."""
        here = self.judged(start, targets)
        if here is None:
            return None
        moved = True
        while moved and self.tries > 0 and self.looks > 0:
            moved = False
            limit = HOPELESS if here.compilation is None else max(1.0, here.worst(targets))
            for change in self._changes(here, targets):
                if self.tries <= 0 or self.looks <= 0:
                    break
                placement = {**here.placement, **change}
                if here.keeps(targets) and not self._lighter(placement, here):
                    continue
                there = self.judged(placement, targets, limit)
                if there is not None and there.score(targets) < here.score(targets):
                    here, moved = there, True
                    break
        return here

    def _lighter(self, placement: Placement, than: _Judged) -> bool:
        """Once all promises are kept only less traffic, or a flatter load, is better."""
        self.looks -= 1
        layout = lay_out(self.problem, placement)
        if layout is None:
            return False
        found = measure(self.problem, layout)
        return (found.usage, found.peak) < (than.usage, than.peak)

    def _changes(self, here: _Judged, targets: Targets) -> Iterator[dict[str, str]]:
        """Single moves, near ones first where there are many nodes, then neighbours in the query
        together, then swaps; of operators on the way to the outputs that are the latest first."""
        order = self._by_urgency(here, targets)
        nodes = {name: self.problem.processes[name].nodes for name in order}
        placed = here.placement
        graph = self.compilation.graph
        if len(self.compilation.vehicle.nodes) > MANY_NODES:
            at = dict(self.compilation.vehicle.sensors) | dict(placed)
            for name in order:
                near = (*graph.operators[name].streams, *graph.consumers[name])
                beside = {at.get(one) for one in near}
                for node in nodes[name]:
                    if node in beside and node != placed[name]:
                        yield {name: node}
        for name in order:
            for node in nodes[name]:
                if node != placed[name]:
                    yield {name: node}
        for name in order:
            for reader in graph.consumers[name]:
                for node in nodes[name]:
                    if reader in nodes and node in nodes[reader] and node != placed[name]:
                        yield {name: node, reader: node}
        for place, name in enumerate(order):
            for other in order[place + 1 :]:
                one, two = placed[name], placed[other]
                if one != two and two in nodes[name] and one in nodes[other]:
                    yield {name: two, other: one}

    def _by_urgency(self, here: _Judged, targets: Targets) -> list[str]:
        """Movable operators: first those on the way to what breaks its promise, and of these first
        those where most of the time goes; then those that share a node with them."""
        late = [one for one in here.asked(targets) if not one.kept]
        graph = self.compilation.graph
        time_at: dict[str, int] = {}
        on_way: set[str] = set()
        for requirement in late:
            for step in requirement.steps:
                time_at[step.place] = max(time_at.get(step.place, 0), step.time)
            waiting = [graph.outputs[requirement.output].stream]
            while waiting:
                stream = waiting.pop()
                if stream in graph.operators and stream not in on_way:
                    on_way.add(stream)
                    waiting += graph.operators[stream].streams
        placed = here.placement
        number = {name: index for index, name in enumerate(self.movable)}
        return sorted(
            self.movable,
            key=lambda one: (one not in on_way, -time_at.get(placed[one], 0), number[one]),
        )
