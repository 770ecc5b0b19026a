"""Task graphs from compiled queries, and placements from schedules.

Time 0 is when the tuples were sensed. A source is a task without computation, pinned to where its
sensor is and released when its tuple has come; an operator is a task with
the longest cost it can have; a stream is a message of one tuple. A node is a processor (its cores
are not counted: a task graph has one), a gateway a switch, a bus or link a link with the times of
its own frames. Nodes do not forward, and a gateway passes a tuple on only when it has all of it.
Times are nanoseconds, volumes bits."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from headway.errors import GraphError
from headway.model import static_network
from headway.model.graph import graph_of
from headway.model.plan import Plan
from headway.model.quantities import SECOND
from headway.model.routes import architecture_of
from headway.model.taskgraph import Edge, GraphTask, TaskGraph
from headway.model.vehicle import Vehicle, transfer_time


def graph_of_plan(plan: Plan) -> tuple[TaskGraph, static_network.ProcessorNetwork]:
    """The query of a plan as a task graph, its vehicle as a network. Where the plan has placed its
    operators does not matter, except for the sources."""
    if plan.verdict is None:
        raise GraphError(
            "this plan was compiled without a vehicle",
            at=plan.query.name,
            want="compile the query for a vehicle: a schedule needs nodes and costs",
        )
    query, vehicle, schemas = plan.query, plan.vehicle, dict(plan.schemas)
    graph = graph_of(query)
    placed, pins = dict(plan.placement), dict(vehicle.pins)
    media = architecture_of(vehicle).media
    tasks = [
        GraphTask(name=name, work=0, processors=(placed[name],), release=source.age)
        for name, source in graph.sources.items()
    ]
    for name in graph.order:
        cost = graph.operators[name].cost
        on = {node.name: cost and cost.on(node.core_kind) for node in vehicle.nodes}
        able = [node for node in vehicle.nodes if cost is None or on[node.name] is not None]
        times = {n.name: one.worst(n.speed) if (one := on[n.name]) else 0 for n in able}
        pinned_to: tuple[str, ...] = (pins[name],) if name in pins else ()
        if not pinned_to and len(able) < len(vehicle.nodes):
            pinned_to = tuple(node.name for node in able)
        due = [graph.outputs[output].deadline for output in graph.outputs_of[name]]
        deadline = min((time for time in due if time is not None), default=None)
        tasks.append(GraphTask(name=name, times=times, processors=pinned_to, deadline=deadline))
    edges = []
    for stream in (*graph.sources, *graph.order):
        size = schemas[stream].size_bytes
        times = {name: transfer_time(size, medium) for name, medium in media.items()}
        edges += [
            Edge(sender=stream, receiver=reader, volume=8 * size, times=times)
            for reader in graph.consumers[stream]
        ]
    arrivals = [source.arrivals for source in graph.sources.values()]
    fastest = max((found.sustained.per_second for found in arrivals if found), default=0.0)
    period = SECOND / Fraction(str(fastest)) if fastest else None
    return (
        TaskGraph(name=query.name, tasks=tuple(tasks), edges=tuple(edges), period=period),
        network_of(vehicle),
    )


def network_of(vehicle: Vehicle) -> static_network.ProcessorNetwork:
    """A vehicle's nodes, gateways, buses and links."""
    gateways_at: dict[str, list[str]] = {}
    for gateway in vehicle.gateways:
        for name in gateway.buses:
            gateways_at.setdefault(name, []).append(gateway.name)
    return static_network.ProcessorNetwork(
        name=vehicle.name,
        processors=tuple(
            static_network.Processor(name=node.name, rate=node.speed) for node in vehicle.nodes
        ),
        switches=tuple(
            static_network.Switch(name=one.name, delay=one.delay) for one in vehicle.gateways
        ),
        links=(
            *(
                static_network.NetworkLink(
                    name=bus.name,
                    ends=tuple(dict.fromkeys((*bus.nodes, *gateways_at.get(bus.name, ())))),
                    speed=Fraction(bus.bit_rate, SECOND),
                )
                for bus in vehicle.buses
            ),
            *(
                static_network.NetworkLink(
                    name=link.name,
                    ends=tuple(dict.fromkeys((*link.ends, *gateways_at.get(link.name, ())))),
                    speed=Fraction(link.speed, SECOND),
                )
                for link in vehicle.links
            ),
        ),
        processors_forward=False,
        switching=static_network.Switching.STORE_AND_FORWARD,
    )


def placement_of(schedule: static_network.Schedule) -> dict[str, str]:
    """task (source or operator) -> node"""
    return schedule.placement


def pinned(vehicle: Vehicle, plan: Plan, schedule: static_network.Schedule) -> Vehicle:
    """The vehicle with every operator pinned where the schedule has put it, ready to compile the
    query again."""
    operators = {operator.name for operator in plan.query.operators}
    pins = {name: node for name, node in placement_of(schedule).items() if name in operators}
    return replace(vehicle, pins=tuple(pins.items()))
