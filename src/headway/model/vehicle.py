"""The physical structure: nodes (ECUs), buses, gateways, links, and where the sensors are."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction


@dataclass(frozen=True, kw_only=True)
class Node:
    """An ECU. ``rate`` is its execution rate (1 is the machine the costs were measured on).

    ``capacity`` is the share of its time the query may use. The costs of a scheduling decision
    and of a preemption are charged by the engine and by the promise alike."""

    name: str
    rate: float = 1.0
    cores: int = 1
    capacity: float = 1.0
    decision_cost: int = 0
    preemption_cost: int = 0

    @property
    def speed(self) -> Fraction:
        """The rate as an exact number: 0.1 means one tenth."""
        return Fraction(str(self.rate))


class BusKind(StrEnum):
    CAN = "can"
    CAN_FD = "can_fd"
    ETHERNET = "ethernet"


@dataclass(frozen=True, kw_only=True)
class Bus:
    """A shared medium. ``data_bit_rate`` is CAN FD's faster phase; ``capacity`` the usable
    share."""

    name: str
    kind: BusKind
    bit_rate: int
    nodes: tuple[str, ...]
    data_bit_rate: int | None = None
    identifier_bits: int = 11
    capacity: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Gateway:
    """Forwards between buses and links, holding each tuple for at most ``delay``."""

    name: str
    buses: tuple[str, ...]
    delay: int = 0


@dataclass(frozen=True, kw_only=True)
class Link:
    """A point-to-point link between two nodes or gateways, ``speed`` in bits per second."""

    name: str
    ends: tuple[str, str]
    speed: int
    capacity: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Vehicle:
    """``sensors`` says at which node a source enters; ``pins`` keeps an operator on a node."""

    name: str
    nodes: tuple[Node, ...]
    buses: tuple[Bus, ...] = ()
    gateways: tuple[Gateway, ...] = ()
    links: tuple[Link, ...] = ()
    sensors: tuple[tuple[str, str], ...] = ()
    pins: tuple[tuple[str, str], ...] = ()
