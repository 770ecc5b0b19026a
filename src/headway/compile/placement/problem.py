"""The placement problem of AEDSMS section 5.5, drawn from a compilation.

Sources and operators (*processes*) are to sit on node vertices of the architectural graph; streams
between processes are *traffic*. All numbers are for the worst case, the maximum input rates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from headway.compile.compilation import Compilation
from headway.compile.load import operator_load, stream_load
from headway.errors import PlacementError, Problem
from headway.model.routes import Architecture, architecture_of


@dataclass(frozen=True, kw_only=True)
class Process:
    """A source or operator. ``nodes`` are those it may sit on, in the vehicle's order; ``loads``
    its share of a core of each. ``pin`` says why there is only one."""

    name: str
    nodes: tuple[str, ...]
    loads: Mapping[str, float]
    pin: str = ""


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """A stream with its readers. ``volume`` is bytes a second; ``occupancy`` the share of each bus
    or link that it takes when it enters there."""

    stream: str
    readers: tuple[str, ...]
    volume: float
    occupancy: Mapping[str, float]


@dataclass(frozen=True)
class PlacementProblem:
    """Who may sit where, what it takes, and the capacities of nodes and of media (buses, links)."""

    architecture: Architecture
    processes: Mapping[str, Process]
    traffic: tuple[Traffic, ...]

    @cached_property
    def node_capacity(self) -> dict[str, float]:
        """The share of each node's cores that the query may use."""
        nodes = self.architecture.vehicle.nodes
        return {node.name: node.capacity * node.cores for node in nodes}

    @cached_property
    def medium_capacity(self) -> dict[str, float]:
        return {name: medium.capacity for name, medium in self.architecture.media.items()}

    @property
    def settled(self) -> bool:
        """Whether every process has one node only: nothing is left to choose but routes."""
        return all(len(process.nodes) == 1 for process in self.processes.values())


def problem_of(compilation: Compilation) -> PlacementProblem:
    """The placement problem of a compilation whose rates and schemas are known."""
    vehicle, graph, rates = compilation.vehicle, compilation.graph, compilation.rates
    architecture = architecture_of(vehicle)
    everywhere = tuple(node.name for node in vehicle.nodes)
    kept = _kept(compilation)
    processes: dict[str, Process] = {}
    for name in graph.sources:
        node, pin = kept[name]
        processes[name] = Process(name=name, nodes=(node,), loads={node: 0.0}, pin=pin)
    for name in graph.order:
        operator = graph.operators[name]
        input_rates = [rates.get(stream, 0.0) for stream in operator.streams]
        node, pin = kept.get(name, ("", ""))
        nodes = (node,) if node else everywhere
        loads = {
            node.name: operator_load(operator, input_rates, node)
            for node in vehicle.nodes
            if node.name in nodes
        }
        processes[name] = Process(name=name, nodes=nodes, loads=loads, pin=pin)
    traffic = []
    for stream in processes:
        if not graph.consumers[stream]:
            continue
        rate, size = rates.get(stream, 0.0), compilation.schemas[stream].size_bytes
        occupancy = {
            name: stream_load(rate, size, medium) for name, medium in architecture.media.items()
        }
        traffic.append(
            Traffic(
                stream=stream,
                readers=graph.consumers[stream],
                volume=rate * size,
                occupancy=occupancy,
            )
        )
    return PlacementProblem(architecture, processes, tuple(traffic))


def _kept(compilation: Compilation) -> dict[str, tuple[str, str]]:
    """What may not be moved, with its node and the reason.

    Sources sit at their sensors. The vehicle's pins hold; besides, a sensor's first operator stays
    where the sensor is: one that reads sources only, all of them at one node.
    """
    vehicle, graph = compilation.vehicle, compilation.graph
    sensors = dict(vehicle.sensors)
    if len(vehicle.nodes) == 1:
        only = vehicle.nodes[0].name
        sensors = dict.fromkeys(graph.sources, only) | sensors
    missing = [name for name in graph.sources if name not in sensors]
    if missing:
        raise PlacementError(
            Problem(
                f"no node is named for source {name}",
                at="sensors",
                want=f"say where it enters, such as '{name}: {vehicle.nodes[0].name}'",
            )
            for name in missing
        )
    pins = dict(vehicle.pins)
    kept = {name: (sensors[name], "its sensor is there") for name in graph.sources}
    for name in graph.order:
        streams = graph.operators[name].streams
        homes = {sensors[stream] for stream in streams if stream in graph.sources}
        if name in pins:
            kept[name] = (pins[name], "it is pinned there")
        elif len(homes) == 1 and all(stream in graph.sources for stream in streams):
            kept[name] = (homes.pop(), "it is its sensor's first operator")
    return kept
