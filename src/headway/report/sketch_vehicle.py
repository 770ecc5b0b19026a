"""The vehicle's part of a sketch: ECUs, buses and links, gateways, and the routes through them."""

from __future__ import annotations

from headway.model.plan import Crossing, HopKind, Load, Plan
from headway.model.time import format_duration
from headway.model.vehicle import Bus, Link
from headway.report.plan_tables import node_of
from headway.report.sketch import Ecu, Junction, Medium
from headway.report.words import medium_text, percent

DIRECT = "direct"
"""The medium of a stream for which no route is known."""


def ecus_of(plan: Plan) -> tuple[Ecu, ...]:
    """The vehicle's nodes, and whatever else something was placed on."""
    nodes = {node.name: node for node in plan.vehicle.nodes}
    used = node_of(plan)
    missing = [used.get(step.name, "") for step in (*plan.query.sources, *plan.query.operators)]
    ecus = []
    for name in dict.fromkeys([*nodes, *missing]):
        title, node, load = f"node {name}", nodes.get(name), load_of(plan, "node", name)
        if node is not None:
            title += f": execution rate {node.rate:g}, {node.cores} core"
            title += "s" if node.cores != 1 else ""
        ecus.append(Ecu(name=name, title=title + _load_text(load), load=load))
    return tuple(ecus)


def media_of(plan: Plan) -> tuple[Medium, ...]:
    """Buses and links; those that join the same ECUs stay next to each other as declared."""
    vehicle = plan.vehicle
    found = [
        _medium(plan, bus, "bus", tuple(g.name for g in vehicle.gateways if bus.name in g.buses))
        for bus in vehicle.buses
    ]
    names = {gateway.name for gateway in vehicle.gateways}
    for link in vehicle.links:
        joined = [g.name for g in vehicle.gateways if link.name in g.buses]
        joined += [end for end in link.ends if end in names]
        found.append(_medium(plan, link, "link", tuple(joined)))
    known = {medium.name for medium in found}
    used = [name for crossing in plan.crossings for name in route_of(crossing)[0]]
    found += [
        Medium(name=name, detail="", title=name)
        for name in dict.fromkeys(used)
        if name not in known
    ]
    return tuple(found)


def junctions_of(plan: Plan) -> tuple[Junction, ...]:
    return tuple(
        Junction(
            name=gateway.name,
            detail=f"gateway · {format_duration(gateway.delay)}",
            title=f"gateway {gateway.name} between {', '.join(gateway.buses)}, "
            f"holds a tuple for at most {format_duration(gateway.delay)}",
        )
        for gateway in plan.vehicle.gateways
    )


def route_of(crossing: Crossing) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The media a stream passes, and the gateways between them ("" where none is named)."""
    media: list[str] = []
    gateways: list[str] = []
    pending = ""
    for hop in crossing.hops:
        if hop.kind is HopKind.GATEWAY:
            pending = hop.name
            continue
        if media:
            gateways.append(pending)
        media.append(hop.name)
        pending = ""
    return tuple(media) or (DIRECT,), tuple(gateways)


def load_of(plan: Plan, kind: str, name: str) -> Load | None:
    found = plan.verdict.loads if plan.verdict else ()
    return next((load for load in found if (load.kind, load.name) == (kind, name)), None)


def _medium(plan: Plan, medium: Bus | Link, kind: str, gateways: tuple[str, ...]) -> Medium:
    load = load_of(plan, kind, medium.name)
    return Medium(
        name=medium.name,
        detail=medium_text(medium),
        title=f"{kind} {medium.name}: {medium_text(medium)}{_load_text(load)}",
        load=load,
        gateways=tuple(dict.fromkeys(gateways)),
    )


def _load_text(load: Load | None) -> str:
    if load is None:
        return ""
    return f"\nused {percent(load.utilisation)} of a usable {percent(load.capacity)}"
