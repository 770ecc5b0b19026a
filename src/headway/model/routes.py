"""The architectural graph (AEDSMS section 5.5) and the routes through it.

A vertex is a node, bus, gateway or link; an edge joins a bus or link to what attaches to it. Nodes
do not forward, so a route passes through buses, links and gateways only.
"""

from __future__ import annotations

from dataclasses import dataclass

from headway.model.plan import Hop, HopKind
from headway.model.vehicle import Bus, Link, Vehicle, transfer_time


@dataclass(frozen=True, slots=True)
class Architecture:
    """Adjacency of the architectural graph; neighbours in the vehicle's order."""

    vehicle: Vehicle
    neighbours: dict[str, tuple[str, ...]]
    media: dict[str, Bus | Link]
    gateway_delay: dict[str, int]

    def hops(self, route: tuple[str, ...], size: int) -> tuple[Hop, ...]:
        """The route with the time an uncontended tuple of that size spends at each step."""
        steps = []
        for name in route:
            if name in self.media:
                medium = self.media[name]
                kind = HopKind.BUS if isinstance(medium, Bus) else HopKind.LINK
                steps.append(Hop(kind=kind, name=name, delay=transfer_time(size, medium)))
            else:
                steps.append(Hop(kind=HopKind.GATEWAY, name=name, delay=self.gateway_delay[name]))
        return tuple(steps)


def architecture_of(vehicle: Vehicle) -> Architecture:
    """The architectural graph of a checked vehicle."""
    media: dict[str, Bus | Link] = {}
    edges: dict[str, list[str]] = {node.name: [] for node in vehicle.nodes}
    edges |= {gateway.name: [] for gateway in vehicle.gateways}

    def connect(one: str, other: str) -> None:
        edges[one].append(other)
        edges[other].append(one)

    for bus in vehicle.buses:
        media[bus.name] = bus
        edges[bus.name] = []
        for node in bus.nodes:
            connect(bus.name, node)
    for gateway in vehicle.gateways:
        for name in gateway.buses:
            connect(gateway.name, name)
    for link in vehicle.links:
        media[link.name] = link
        edges[link.name] = []
        for end in link.ends:
            connect(link.name, end)
    return Architecture(
        vehicle=vehicle,
        neighbours={name: tuple(found) for name, found in edges.items()},
        media=media,
        gateway_delay={gateway.name: gateway.delay for gateway in vehicle.gateways},
    )
