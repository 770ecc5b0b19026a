"""Checks that a vehicle holds together: names, attachments, numbers. Pure; no query is needed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches

from headway.errors import Problem
from headway.model.names import NAME, NAME_FORM
from headway.model.vehicle import Bus, BusKind, Node, Vehicle


def vehicle_problems(vehicle: Vehicle) -> list[Problem]:
    """Everything that is wrong with the structure of a vehicle, in its own order."""
    return [
        *_names(vehicle),
        *_nodes(vehicle.nodes),
        *_buses(vehicle),
        *_gateways(vehicle),
        *_links(vehicle),
        *_placed("sensors", vehicle.sensors, vehicle),
        *_placed("pins", vehicle.pins, vehicle),
    ]


def _names(vehicle: Vehicle) -> Iterator[Problem]:
    """Nodes, buses, gateways and links share one name space: routes name them all."""
    if not vehicle.nodes:
        yield Problem("a vehicle without nodes", at="nodes", want="declare at least one")
    seen: dict[str, str] = {}
    for kind, items in (
        ("nodes", vehicle.nodes),
        ("buses", vehicle.buses),
        ("gateways", vehicle.gateways),
        ("links", vehicle.links),
    ):
        for item in items:
            at = f"{kind}.{item.name}"
            if NAME.fullmatch(item.name) is None:
                yield Problem("not a name", at=at, got=repr(item.name), want=f"use {NAME_FORM}")
            if item.name in seen:
                yield Problem(
                    f"the name '{item.name}' is taken",
                    at=at,
                    want=f"rename it; the other is under '{seen[item.name]}'",
                )
            seen.setdefault(item.name, kind)


def _nodes(nodes: Sequence[Node]) -> Iterator[Problem]:
    for node in nodes:
        at = f"nodes.{node.name}"
        yield from _positive(f"{at}.rate", node.rate)
        yield from _share(f"{at}.capacity", node.capacity)
        if node.cores < 1:
            yield Problem("a node needs a core", at=f"{at}.cores", got=str(node.cores))
        yield from _not_negative(f"{at}.decision_cost", node.decision_cost)
        yield from _not_negative(f"{at}.preemption_cost", node.preemption_cost)


def _buses(vehicle: Vehicle) -> Iterator[Problem]:
    nodes = [node.name for node in vehicle.nodes]
    for bus in vehicle.buses:
        at = f"buses.{bus.name}"
        yield from _known(f"{at}.nodes", "node", bus.nodes, nodes)
        yield from _positive(f"{at}.bit_rate", bus.bit_rate)
        yield from _share(f"{at}.capacity", bus.capacity)
        yield from _frames(bus, at)


def _frames(bus: Bus, at: str) -> Iterator[Problem]:
    if bus.identifier_bits not in (11, 29):
        yield Problem(
            "no such identifier",
            at=f"{at}.identifier_bits",
            got=str(bus.identifier_bits),
            want="write 11 or 29",
        )
    if bus.data_bit_rate is None:
        return
    if bus.kind is not BusKind.CAN_FD:
        yield Problem(
            "only CAN FD has a second bit rate",
            at=f"{at}.data_bit_rate",
            got=f"kind {bus.kind.value}",
            want="leave it out, or write 'kind: can_fd'",
        )
    yield from _positive(f"{at}.data_bit_rate", bus.data_bit_rate)


def _gateways(vehicle: Vehicle) -> Iterator[Problem]:
    buses = [bus.name for bus in vehicle.buses]
    for gateway in vehicle.gateways:
        at = f"gateways.{gateway.name}"
        yield from _known(f"{at}.buses", "bus", gateway.buses, buses)
        yield from _not_negative(f"{at}.delay", gateway.delay)
        linked = sum(gateway.name in link.ends for link in vehicle.links)
        if len(set(gateway.buses)) + linked < 2:
            yield Problem(
                "a gateway joins at least two buses or links",
                at=at,
                got=str(len(gateway.buses) + linked),
                want="attach it to another one or leave it out",
            )


def _links(vehicle: Vehicle) -> Iterator[Problem]:
    ends = [node.name for node in vehicle.nodes]
    ends += [gateway.name for gateway in vehicle.gateways]
    for link in vehicle.links:
        at = f"links.{link.name}"
        yield from _known(f"{at}.ends", "node or gateway", dict.fromkeys(link.ends), ends)
        if link.ends[0] == link.ends[1]:
            yield Problem(
                "both ends of the link are the same",
                at=f"{at}.ends",
                got=f"'{link.ends[0]}' twice",
                want="name two different nodes or gateways",
            )
        yield from _positive(f"{at}.speed", link.speed)
        yield from _share(f"{at}.capacity", link.capacity)


def _placed(kind: str, pairs: Iterable[tuple[str, str]], vehicle: Vehicle) -> Iterator[Problem]:
    """Sensors and pins: each at one node that exists. What they name, the query's check tells."""
    nodes = [node.name for node in vehicle.nodes]
    seen: set[str] = set()
    for name, node in pairs:
        if name in seen:
            yield Problem(f"'{name}' stands twice", at=f"{kind}.{name}", want="keep one")
        seen.add(name)
        yield from _known(f"{kind}.{name}", "node", (node,), nodes)


def _known(at: str, kind: str, names: Iterable[str], known: list[str]) -> Iterator[Problem]:
    """Names that must exist, each once."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield Problem(f"the {kind} '{name}' stands twice", at=at, want="keep one")
        elif name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"did you mean '{close[0]}'? " if close else ""
            listing = ", ".join(known) or "none"
            yield Problem(f"no {kind} '{name}'", at=at, want=f"{hint}known: {listing}")
        seen.add(name)


def _positive(at: str, number: float) -> Iterator[Problem]:
    if not (math.isfinite(number) and number > 0):
        yield Problem("must be positive", at=at, got=str(number), want="write a number above 0")


def _share(at: str, number: float) -> Iterator[Problem]:
    if not 0 < number <= 1:
        yield Problem("not a share", at=at, got=str(number), want="write a number in (0, 1]")


def _not_negative(at: str, time: int) -> Iterator[Problem]:
    if time < 0:
        yield Problem("a time below zero", at=at, got=f"{time} ns", want="write 0 ms or more")
