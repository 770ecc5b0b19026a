"""Vehicles built in Python."""

from __future__ import annotations

from collections.abc import Sequence

from headway.errors import VehicleError
from headway.files.forms import parse_bit_rate
from headway.fluent.accepted_values import Duration, to_choice, to_name, to_time
from headway.model.vehicle import Bus, BusCharge, BusKind, Gateway, Link, Node, Vehicle


class VehicleBuilder:
    """A vehicle in the making; every method returns the builder, so that calls can be chained."""

    def __init__(self, name: str, *, bus_charge: BusCharge | str = BusCharge.OWN) -> None:
        """``bus_charge``: what a task's deadline leaves for a bus (:class:`BusCharge`)."""
        self.name = to_name(name, "name")
        self._bus_charge = to_choice(BusCharge, bus_charge, "bus_charge")
        self._nodes: list[Node] = []
        self._buses: list[Bus] = []
        self._gateways: list[Gateway] = []
        self._links: list[Link] = []
        self._sensors: list[tuple[str, str]] = []
        self._pins: list[tuple[str, str]] = []

    def node(
        self,
        name: str,
        *,
        rate: float = 1.0,
        cores: int = 1,
        capacity: float = 1.0,
        decision_cost: Duration = 0,
        preemption_cost: Duration = 0,
        kind: str | None = None,
        partitioned: bool = False,
    ) -> VehicleBuilder:
        """An ECU; ``kind`` is that of its processor, for costs by kinds. ``partitioned``: each
        train has one of its cores, instead of one queue for all."""
        at = f"nodes.{name}"
        self._nodes.append(
            Node(
                name=to_name(name, at),
                rate=float(rate),
                cores=cores,
                capacity=float(capacity),
                decision_cost=to_time(decision_cost, f"{at}.decision_cost"),
                preemption_cost=to_time(preemption_cost, f"{at}.preemption_cost"),
                core_kind=None if kind is None else to_name(kind, f"{at}.kind"),
                partitioned=partitioned,
            )
        )
        return self

    def bus(
        self,
        name: str,
        nodes: Sequence[str],
        *,
        bit_rate: str | int,
        kind: BusKind | str = BusKind.CAN,
        data_bit_rate: str | int | None = None,
        identifier_bits: int = 11,
        capacity: float = 1.0,
    ) -> VehicleBuilder:
        """A shared medium and the nodes on it."""
        at = f"buses.{name}"
        data = None if data_bit_rate is None else _bits(data_bit_rate, f"{at}.data_bit_rate")
        self._buses.append(
            Bus(
                name=to_name(name, at),
                kind=to_choice(BusKind, kind, f"{at}.kind"),
                bit_rate=_bits(bit_rate, f"{at}.bit_rate"),
                nodes=tuple(nodes),
                data_bit_rate=data,
                identifier_bits=identifier_bits,
                capacity=float(capacity),
            )
        )
        return self

    def gateway(self, name: str, buses: Sequence[str], *, delay: Duration = 0) -> VehicleBuilder:
        """Joins buses (and the links that end at it)."""
        at = f"gateways.{name}"
        time = to_time(delay, f"{at}.delay")
        self._gateways.append(Gateway(name=to_name(name, at), buses=tuple(buses), delay=time))
        return self

    def link(
        self, name: str, one: str, other: str, *, speed: str | int, capacity: float = 1.0
    ) -> VehicleBuilder:
        """A point-to-point link between two nodes or gateways."""
        at = f"links.{name}"
        bits = _bits(speed, f"{at}.speed")
        self._links.append(
            Link(name=to_name(name, at), ends=(one, other), speed=bits, capacity=float(capacity))
        )
        return self

    def sensor(self, source: str, node: str) -> VehicleBuilder:
        """The node at which a source's tuples enter."""
        self._sensors.append((source, node))
        return self

    def pin(self, operator: str, node: str) -> VehicleBuilder:
        """Keeps an operator on a node."""
        self._pins.append((operator, node))
        return self

    def build(self) -> Vehicle:
        """The vehicle as a value of the model."""
        return Vehicle(
            name=self.name,
            nodes=tuple(self._nodes),
            buses=tuple(self._buses),
            gateways=tuple(self._gateways),
            links=tuple(self._links),
            sensors=tuple(self._sensors),
            pins=tuple(self._pins),
            bus_charge=self._bus_charge,
        )


def _bits(value: str | int, at: str) -> int:
    if isinstance(value, int) and value > 0:
        return value
    try:
        return parse_bit_rate(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        want = "write a bit rate such as '500 kbit/s', or whole bits per second"
        raise VehicleError("not a bit rate", at=at, got=repr(value), want=want) from None
