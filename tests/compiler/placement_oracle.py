"""An independent reading of the placement problem: a checker and an exhaustive search.

Nothing here uses ``headway.compiler.placement`` or ``headway.model.vehicle``: the architectural
graph is built anew, routes are found by depth-first search, and every placement is tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product

from headway.compiler.compilation import Compilation
from headway.compiler.utilisation import operator_load
from headway.model.vehicle import Bus, Link, transfer_time

Ways = frozenset[tuple[str, str]]
ROUNDING = 1e-6


class Oracle:
    """Placement by brute force, for small cases."""

    def __init__(self, compilation: Compilation) -> None:
        self.compilation = compilation
        vehicle = compilation.vehicle
        self.nodes = {node.name: node for node in vehicle.nodes}
        self.media: dict[str, Bus | Link] = {bus.name: bus for bus in vehicle.buses}
        self.media |= {link.name: link for link in vehicle.links}
        pairs = [(bus.name, node) for bus in vehicle.buses for node in bus.nodes]
        pairs += [(gateway.name, bus) for gateway in vehicle.gateways for bus in gateway.buses]
        pairs += [(link.name, end) for link in vehicle.links for end in link.ends]
        self.edges = set(pairs) | {(second, first) for first, second in pairs}
        self.options = cache(self._options)

    def candidates(self) -> dict[str, tuple[str, ...]]:
        """Where each source and operator may be."""
        graph, vehicle = self.compilation.graph, self.compilation.vehicle
        sensors, pins = dict(vehicle.sensors), dict(vehicle.pins)
        allowed: dict[str, tuple[str, ...]] = {}
        allowed |= {name: (sensors[name],) for name in graph.sources}
        for name in graph.order:
            streams = graph.operators[name].streams
            homes = {sensors.get(stream, "") for stream in streams}
            if name in pins:
                allowed[name] = (pins[name],)
            elif len(homes) == 1 and "" not in homes:
                allowed[name] = tuple(homes)
            else:
                allowed[name] = tuple(self.nodes)
        return allowed

    def node_loads(self, placement: Mapping[str, str]) -> dict[str, float]:
        """Load over capacity of each node."""
        loads = dict.fromkeys(self.nodes, 0.0)
        for name, operator in self.compilation.graph.operators.items():
            node = self.nodes[placement[name]]
            rates = [self.compilation.rates[stream] for stream in operator.streams]
            loads[node.name] += operator_load(operator, rates, node) / node.capacity / node.cores
        return loads

    def streams(self) -> Iterator[tuple[str, float, dict[str, float]]]:
        """Each stream that is read, its bytes per second, and what it takes of each medium."""
        for stream, readers in self.compilation.graph.consumers.items():
            if readers:
                rate = self.compilation.rates[stream]
                size = self.compilation.schemas[stream].size_bytes
                shares = {
                    name: rate * transfer_time(size, medium) / 1e9 / medium.capacity
                    for name, medium in self.media.items()
                }
                yield stream, rate * size, shares

    def best(self) -> tuple[float, float, int] | None:
        """The least (usage, peak, tie rule), or None when no placement is possible."""
        allowed = self.candidates()
        streams = list(self.streams())
        movable = [name for name, nodes in allowed.items() if len(nodes) > 1]
        position = {name: index for index, name in enumerate(self.nodes)}
        found: list[tuple[float, float, int]] = []
        least = float("inf")
        for nodes in product(*allowed.values()):
            placement = dict(zip(allowed, nodes, strict=True))
            peak = max(self.node_loads(placement).values())
            if peak > 1 + ROUNDING:
                continue
            usage = self._least_usage(placement, streams, least)
            if usage is None:
                continue
            least = min(least, usage)
            tie = sum(
                (len(movable) - index) * position[placement[name]]
                for index, name in enumerate(movable)
            )
            found.append((usage, peak, tie))
        if not found:
            return None
        found = [entry for entry in found if entry[0] <= least * (1 + 1e-9)]
        flattest = min(peak for _, peak, _ in found)
        ties = [tie for _, peak, tie in found if peak <= flattest * (1 + 1e-9)]
        return least, flattest, min(ties)

    def _least_usage(
        self,
        placement: dict[str, str],
        streams: list[tuple[str, float, dict[str, float]]],
        limit: float,
    ) -> float | None:
        choices: list[tuple[float, dict[str, float], tuple[Ways, ...]]] = []
        for stream, volume, shares in streams:
            receivers = frozenset(
                placement[reader] for reader in self.compilation.graph.consumers[stream]
            )
            ways = self.options(placement[stream], receivers - {placement[stream]})
            if not ways:
                return None
            choices.append((volume, shares, ways))
        if sum(volume * len(ways[0]) for volume, _, ways in choices) > limit * (1 + 1e-9):
            return None
        best: float | None = None

        def choose(index: int, usage: float, loads: dict[str, float]) -> None:
            nonlocal best
            if best is not None and usage >= best:
                return
            if index == len(choices):
                best = usage
                return
            volume, shares, options = choices[index]
            for ways in options:
                grown = dict(loads)
                for _, medium in ways:
                    grown[medium] += shares[medium]
                if all(load <= 1 + ROUNDING for load in grown.values()):
                    choose(index + 1, usage + volume * len(ways), grown)

        choose(0, 0.0, dict.fromkeys(self.media, 0.0))
        return best

    def _options(self, start: str, receivers: frozenset[str]) -> tuple[Ways, ...]:
        """The sets of ways into media by which a stream can reach all receivers, smallest first."""
        sets: set[Ways] = {frozenset()}
        for receiver in receivers:
            paths = [self.ways(start, route) for route in self.routes(start, receiver)]
            sets = {ways | path for ways in sets for path in paths}
        return tuple(sorted(sets, key=lambda ways: (len(ways), sorted(ways))))

    def routes(self, start: str, end: str, passed: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
        """All routes without a repeated vertex."""
        here = passed[-1] if passed else start
        found = [passed] if passed and (here, end) in self.edges else []
        for one, other in sorted(self.edges):
            if one == here and other not in self.nodes and other not in passed:
                found += self.routes(start, end, (*passed, other))
        return found

    def ways(self, start: str, route: tuple[str, ...]) -> Ways:
        steps = zip((start, *route), route, strict=False)
        return frozenset((before, vertex) for before, vertex in steps if vertex in self.media)


@dataclass(frozen=True)
class Checked:
    """What a placement and its routes amount to, and what is wrong with them."""

    complaints: tuple[str, ...]
    usage: float
    peak: float


def check(compilation: Compilation) -> Checked:
    """Checks the answer in a compilation against every rule."""
    oracle = Oracle(compilation)
    placement, routes = compilation.placement, compilation.routes
    allowed = oracle.candidates()
    complaints = [
        f"{name} may not be on {placement.get(name)}"
        for name, nodes in allowed.items()
        if placement.get(name) not in nodes
    ]
    if complaints:
        return Checked(tuple(complaints), 0.0, 0.0)
    loads = oracle.node_loads(placement)
    complaints += [f"{name} is overloaded" for name, load in loads.items() if load > 1 + 2e-6]
    media = dict.fromkeys(oracle.media, 0.0)
    usage, needed = 0.0, set()
    for stream, volume, shares in oracle.streams():
        start = placement[stream]
        readers = {placement[reader] for reader in compilation.graph.consumers[stream]} - {start}
        ways: Ways = frozenset()
        for receiver in sorted(readers):
            needed.add((stream, receiver))
            route = routes.get((stream, receiver))
            if not route:
                complaints.append(f"{stream} has no route to {receiver}")
                continue
            steps = zip((start, *route), (*route, receiver), strict=True)
            if any(step not in oracle.edges for step in steps):
                complaints.append(f"{stream}: {route} does not lead from {start} to {receiver}")
            if any(vertex in oracle.nodes for vertex in route) or len({*route}) < len(route):
                complaints.append(f"{stream}: {route} passes a node or a vertex twice")
            ways |= oracle.ways(start, route)
        for _, medium in ways:
            usage += volume
            media[medium] += shares[medium]
    complaints += [f"{name} is overloaded" for name, load in media.items() if load > 1 + 2e-6]
    complaints += [f"route {key} is not needed" for key in routes if key not in needed]
    return Checked(tuple(complaints), usage, max(loads.values()))
