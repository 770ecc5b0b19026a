"""A placement that changes step by step, for local search; streams take the shortest routes."""

from __future__ import annotations

from dataclasses import dataclass, field

from headway.compile.placement.layout import (
    Layout,
    Measures,
    lay_out,
    measure,
    respects_capacities,
    routes_from,
)
from headway.compile.placement.problem import PlacementProblem


@dataclass
class State:
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
