"""The form of vehicle files, the vehicle it means, and back."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from headway.files.forms import (
    BitRate,
    Count,
    Duration,
    Form,
    Name,
    PositiveNumber,
    Share,
    StreamName,
    format_bit_rate,
)
from headway.model.quantities import format_duration
from headway.model.vehicle import Bus, BusCharge, BusKind, Gateway, Link, Node, Vehicle


class NodeForm(Form):
    """An ECU."""

    rate: PositiveNumber = Field(
        default=1.0, description="execution rate: 1 is the machine on which costs were measured"
    )
    cores: Count = Field(default=1, description="processor cores")
    capacity: Share = Field(default=1.0, description="the share of its time the query may use")
    decision_cost: Duration = Field(default=0, description="time of one scheduling decision")
    preemption_cost: Duration = Field(default=0, description="time of one preemption")
    core_kind: Name | None = Field(
        default=None,
        alias="kind",
        description="the kind of its processor, for costs by kinds: {a57: 120 us, gpu: 30 us}",
    )
    partitioned: bool = Field(
        default=False, description="each train has one of its cores; else they share one queue"
    )


class BusForm(Form):
    """A shared medium."""

    kind: Literal["can", "can_fd", "ethernet"] = Field(description="how its frames are built")
    bit_rate: BitRate = Field(description="such as '500 kbit/s'")
    data_bit_rate: BitRate | None = Field(
        default=None, description="CAN FD: the faster rate of the data phase"
    )
    nodes: list[Name] = Field(description="the nodes attached to it")
    identifier_bits: Literal[11, 29] = Field(default=11, description="CAN: length of identifiers")
    capacity: Share = Field(default=1.0, description="the share of the bus the query may use")


class GatewayForm(Form):
    """Forwards between buses and links."""

    buses: list[Name] = Field(default=[], description="the buses it joins")
    delay: Duration = Field(default=0, description="the longest time it holds a tuple")


class LinkForm(Form):
    """A point-to-point link."""

    ends: Annotated[list[Name], Field(min_length=2, max_length=2)] = Field(
        description="two nodes or gateways"
    )
    speed: BitRate = Field(description="such as '100 Mbit/s'")
    capacity: Share = Field(default=1.0, description="the share of the link the query may use")


class VehicleForm(Form):
    """A vehicle's ECUs and networks, and where its sensors are."""

    vehicle: Name = Field(description="the vehicle's name")
    nodes: dict[Name, NodeForm] = Field(description="the ECUs, by name; {} for one like any other")
    buses: dict[Name, BusForm] = Field(default={}, description="the buses, by name")
    gateways: dict[Name, GatewayForm] = Field(default={}, description="the gateways, by name")
    links: dict[Name, LinkForm] = Field(default={}, description="the links, by name")
    sensors: dict[Name, Name] = Field(
        default={}, description="source: the node at which its tuples enter"
    )
    pins: dict[StreamName, Name] = Field(
        default={}, description="operator: the node it must run on; 'use.operator' in a component"
    )
    bus_charge: Literal["own", "ahead"] = Field(
        default="own",
        description="what a task's deadline leaves for a bus: own, the frames of its tuple; ahead, "
        "and those of one tuple of each stream that goes ahead of it there",
    )

    def to_model(self) -> Vehicle:
        return Vehicle(
            name=self.vehicle,
            nodes=tuple(Node(name=name, **dict(form)) for name, form in self.nodes.items()),
            buses=tuple(_bus(name, form) for name, form in self.buses.items()),
            gateways=tuple(
                Gateway(name=name, buses=tuple(form.buses), delay=form.delay)
                for name, form in self.gateways.items()
            ),
            links=tuple(
                Link(
                    name=name,
                    ends=(form.ends[0], form.ends[1]),
                    speed=form.speed,
                    capacity=form.capacity,
                )
                for name, form in self.links.items()
            ),
            sensors=tuple(self.sensors.items()),
            pins=tuple(self.pins.items()),
            bus_charge=BusCharge(self.bus_charge),
        )


def _bus(name: str, form: BusForm) -> Bus:
    return Bus(
        name=name,
        kind=BusKind(form.kind),
        bit_rate=form.bit_rate,
        nodes=tuple(form.nodes),
        data_bit_rate=form.data_bit_rate,
        identifier_bits=form.identifier_bits,
        capacity=form.capacity,
    )


def vehicle_plain(vehicle: Vehicle) -> dict[str, Any]:
    """What a person would write for that vehicle."""
    result: dict[str, Any] = {
        "vehicle": vehicle.name,
        "nodes": {node.name: _node_plain(node) for node in vehicle.nodes},
        "buses": {bus.name: _bus_plain(bus) for bus in vehicle.buses},
        "gateways": {
            gateway.name: {
                "buses": list(gateway.buses),
                **({"delay": format_duration(gateway.delay)} if gateway.delay else {}),
            }
            for gateway in vehicle.gateways
        },
        "links": {
            link.name: {
                "ends": list(link.ends),
                "speed": format_bit_rate(link.speed),
                **({"capacity": link.capacity} if link.capacity != 1.0 else {}),
            }
            for link in vehicle.links
        },
        "sensors": dict(vehicle.sensors),
        "pins": dict(vehicle.pins),
    }
    if vehicle.bus_charge is not BusCharge.OWN:
        result["bus_charge"] = vehicle.bus_charge.value
    return {key: value for key, value in result.items() if value or key == "nodes"}


def _node_plain(node: Node) -> dict[str, Any]:
    result: dict[str, Any] = {"rate": node.rate}
    if node.cores != 1:
        result["cores"] = node.cores
    if node.capacity != 1.0:
        result["capacity"] = node.capacity
    if node.decision_cost:
        result["decision_cost"] = format_duration(node.decision_cost)
    if node.preemption_cost:
        result["preemption_cost"] = format_duration(node.preemption_cost)
    if node.core_kind is not None:
        result["kind"] = node.core_kind
    if node.partitioned:
        result["partitioned"] = True
    return result


def _bus_plain(bus: Bus) -> dict[str, Any]:
    result: dict[str, Any] = {
        "kind": bus.kind.value,
        "bit_rate": format_bit_rate(bus.bit_rate),
        "nodes": list(bus.nodes),
    }
    if bus.data_bit_rate is not None:
        result["data_bit_rate"] = format_bit_rate(bus.data_bit_rate)
    if bus.identifier_bits != 11:
        result["identifier_bits"] = bus.identifier_bits
    if bus.capacity != 1.0:
        result["capacity"] = bus.capacity
    return result
