"""Placements bettered step by step; streams take the shortest routes.

Annealing gives an answer when the exact search ran out of time: moves and swaps of operators are
accepted by the change of network usage plus a penalty for overload; the best placement within the
capacities is kept. Seeded. Evening out moves and swaps operators without more network usage: a
quick start for the exact search for the flattest load, and the answer when that runs out of time.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from headway.compiler.placement.placement_problem import (
    Layout,
    Measures,
    PlacementProblem,
    lay_out,
    measure,
    respects_capacities,
    routes_from,
)


@dataclass
class LocalPlacement:
    """A placement by index, with its usage and overload kept up to date. ``masks[a][b]`` are the
    ways into media on the route from a to b, as bits."""

    problem: PlacementProblem
    usage: float = 0.0
    overload: float = 0.0
    at: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        problem = self.problem
        self.nodes = list(problem.node_capacity)
        self.names = list(problem.processes)
        numbers = {node: number for number, node in enumerate(self.nodes)}
        indices = {name: index for index, name in enumerate(self.names)}
        processes = list(problem.processes.values())
        self.allowed = [[numbers[node] for node in process.nodes] for process in processes]
        self.loads = [[p.loads.get(node, 0.0) for node in self.nodes] for p in processes]
        self.capacity = list(problem.node_capacity.values())
        self._find_masks()
        self.streams = [
            (indices[t.stream], [indices[reader] for reader in t.readers], t.volume)
            for t in problem.traffic
        ]
        self.touches: list[list[int]] = [[] for _ in self.names]
        for number, (producer, readers, _) in enumerate(self.streams):
            for index in {producer, *readers}:
                self.touches[index].append(number)
        self.at = [nodes[0] for nodes in self.allowed]
        self.used = [0.0] * len(self.nodes)
        for index, node in enumerate(self.at):
            self.used[node] += self.loads[index][node]
        self.costs = [self._cost(number) for number in range(len(self.streams))]
        self.usage = sum(self.costs)
        self.overload = sum(self._over(node) for node in range(len(self.nodes)))

    def _find_masks(self) -> None:
        bits: dict[tuple[str, str], int] = {}
        self.complete = True
        self.masks: list[list[int]] = []
        for start in self.nodes:
            routes = routes_from(self.problem.architecture, start)
            self.complete &= len(routes) == len(self.nodes)
            row = []
            for end in self.nodes:
                mask, before = 0, start
                for vertex in routes.get(end, ()):
                    if vertex in self.problem.medium_capacity:
                        mask |= 1 << bits.setdefault((before, vertex), len(bits))
                    before = vertex
                row.append(mask)
            self.masks.append(row)

    def move(self, index: int, node: int) -> None:
        before = self.at[index]
        self.overload -= self._over(before) + (self._over(node) if node != before else 0.0)
        self.used[before] -= self.loads[index][before]
        self.used[node] += self.loads[index][node]
        self.overload += self._over(before) + (self._over(node) if node != before else 0.0)
        self.at[index] = node
        for number in self.touches[index]:
            cost = self._cost(number)
            self.usage += cost - self.costs[number]
            self.costs[number] = cost

    def measured(self, at: list[int]) -> tuple[Layout, Measures] | None:
        """The layout of a placement by index, if it respects the capacities of nodes and media."""
        placement = {name: self.nodes[node] for name, node in zip(self.names, at, strict=True)}
        layout = lay_out(self.problem, placement)
        found = None if layout is None else measure(self.problem, layout)
        if layout is None or found is None or not respects_capacities(self.problem, found):
            return None
        return layout, found

    def _cost(self, number: int) -> float:
        producer, readers, volume = self.streams[number]
        row, mask = self.masks[self.at[producer]], 0
        for reader in readers:
            mask |= row[self.at[reader]]
        return volume * mask.bit_count()

    def _over(self, node: int) -> float:
        return max(0.0, self.used[node] / self.capacity[node] - 1) if self.capacity[node] else 0.0


# ---------------------------------------------------------------- annealing


_STEPS_EACH = 8_000
_PENALTY = 1.0


def anneal(problem: PlacementProblem, seed: int = 0) -> tuple[Layout, Measures] | None:
    """The best layout met, or None when none respected the capacities."""
    state = LocalPlacement(problem)
    draw = random.Random(seed)
    movable = [index for index, nodes in enumerate(state.allowed) if len(nodes) > 1]
    volumes = [volume for _, _, volume in state.streams if volume]
    if not movable or not volumes or not state.complete:
        return None
    for index in movable:
        state.move(index, draw.choice(state.allowed[index]))
    hot, cold = max(volumes), min(volumes) / 4
    steps = _STEPS_EACH * len(movable)
    best: tuple[float, list[int]] | None = None
    for step in range(steps):
        temperature = hot * (cold / hot) ** (step / steps)
        index = draw.choice(movable)
        before, after = state.at[index], _destination(state, draw, index)
        if before == after:
            continue
        moves = [(index, before, after)]
        other = draw.choice(movable)
        if draw.random() < 0.5 and state.at[other] == after and before in state.allowed[other]:
            moves.append((other, after, before))
        old = state.usage + state.overload * hot * _PENALTY
        for who, _, to in moves:
            state.move(who, to)
        worse = state.usage + state.overload * hot * _PENALTY - old
        if worse > 0 and draw.random() >= math.exp(-worse / temperature):
            for who, back, _ in reversed(moves):
                state.move(who, back)
        elif state.overload <= 0 and (best is None or state.usage < best[0] - 1e-9):
            best = (state.usage, state.at.copy())
    return None if best is None else state.measured(best[1])


def _destination(state: LocalPlacement, draw: random.Random, index: int) -> int:
    """A node for an operator: half the time one where a partner of one of its streams is."""
    if state.touches[index] and draw.random() < 0.5:
        producer, readers, _ = state.streams[draw.choice(state.touches[index])]
        wanted = state.at[draw.choice((producer, *readers))]
        if wanted in state.allowed[index]:
            return wanted
    return draw.choice(state.allowed[index])


# ---------------------------------------------------------------- evening out


_POWER = 16  # a high power of the utilisations stands for the largest, and sees the next ones too
_MOST_SWEEPS = 20


def even_out(problem: PlacementProblem, layout: Layout, found: Measures) -> tuple[Layout, Measures]:
    """A layout of no more usage and no larger peak."""
    state = LocalPlacement(problem)
    numbers = {node: number for number, node in enumerate(state.nodes)}
    for index, name in enumerate(state.names):
        state.move(index, numbers[layout.placement[name]])
    most = found.usage * (1 + 1e-9)
    if not state.complete or state.usage > most:
        return layout, found
    movable = [index for index, nodes in enumerate(state.allowed) if len(nodes) > 1]
    for _ in range(_MOST_SWEEPS):
        if not (_sweep_moves(state, movable, most) | _sweep_swaps(state, movable, most)):
            break
    better = state.measured(state.at)
    if better is None or better[1].peak > found.peak or better[1].usage > most:
        return layout, found
    return better


def _sweep_moves(state: LocalPlacement, movable: Sequence[int], most: float) -> bool:
    moved = False
    for index in movable:
        for node in state.allowed[index]:
            moved |= _try(state, [(index, node)], most)
    return moved


def _sweep_swaps(state: LocalPlacement, movable: Sequence[int], most: float) -> bool:
    moved = False
    for place, one in enumerate(movable):
        for other in movable[place + 1 :]:
            here, there = state.at[one], state.at[other]
            if there in state.allowed[one] and here in state.allowed[other]:
                moved |= _try(state, [(one, there), (other, here)], most)
    return moved


def _try(state: LocalPlacement, moves: list[tuple[int, int]], most: float) -> bool:
    """Makes the moves if the load is flatter after them and the usage no larger."""
    back = [(index, state.at[index]) for index, _ in moves]
    nodes = {node for _, node in moves} | {node for _, node in back}
    if len(nodes) == 1:
        return False
    before = _unevenness(state, nodes)
    for index, node in moves:
        state.move(index, node)
    if state.usage <= most and _unevenness(state, nodes) < before * (1 - 1e-6):
        return True
    for index, node in back:
        state.move(index, node)
    return False


def _unevenness(state: LocalPlacement, nodes: set[int]) -> float:
    return sum(
        float((state.used[n] / (state.capacity[n] or 1e-9)) ** _POWER) for n in sorted(nodes)
    )
