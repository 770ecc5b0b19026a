"""The vehicle: nodes (ECUs), buses, gateways, links, and how long a tuple occupies each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from headway.model.names import Name, StreamName
from headway.model.quantities import SECOND

# ------------------------------------------------------------
# The physical structure: nodes (ECUs), buses, gateways, links, and where the sensors are.


@dataclass(frozen=True, kw_only=True)
class Node:
    """An ECU. ``rate`` is its execution rate (1 is the machine the costs were measured on).

    ``capacity`` is the share of its time the query may use. The costs of a scheduling decision
    and of a preemption are charged by the engine and by the promise alike."""

    name: Name
    rate: float = 1.0
    cores: int = 1
    capacity: float = 1.0
    decision_cost: int = 0
    preemption_cost: int = 0
    core_kind: Name | None = None
    """of its processor, where operators have costs by kinds"""
    partitioned: bool = False
    """each train has one of its cores; otherwise they share one queue"""

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

    name: Name
    kind: BusKind
    bit_rate: int
    nodes: tuple[Name, ...]
    data_bit_rate: int | None = None
    identifier_bits: int = 11
    capacity: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Gateway:
    """Forwards between buses and links, holding each tuple for at most ``delay``."""

    name: Name
    buses: tuple[Name, ...]
    delay: int = 0


@dataclass(frozen=True, kw_only=True)
class Link:
    """A point-to-point link between two nodes or gateways, ``speed`` in bits per second."""

    name: Name
    ends: tuple[Name, Name]
    speed: int
    capacity: float = 1.0


class BusCharge(StrEnum):
    """What EDF* subtracts for the way over a bus or link (AEDSMS equation 2)."""

    OWN = "own"
    """the frames of the tuple itself"""
    AHEAD = "ahead"
    """and those of one tuple of each stream that goes ahead of it there (AEDSMS table 1)"""


@dataclass(frozen=True, kw_only=True)
class Vehicle:
    """``sensors`` says at which node a source enters; ``pins`` keeps an operator on a node.
    ``bus_charge`` sets deadlines, and promises nothing: bounds hold under either."""

    name: Name
    nodes: tuple[Node, ...]
    buses: tuple[Bus, ...] = ()
    gateways: tuple[Gateway, ...] = ()
    links: tuple[Link, ...] = ()
    sensors: tuple[tuple[StreamName, Name], ...] = ()
    pins: tuple[tuple[StreamName, Name], ...] = ()
    bus_charge: BusCharge = BusCharge.OWN


# ------------------------------------------------------------
# How long a tuple occupies a bus or link: frame formats, one function a medium.


_FD_LENGTHS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 48, 64)
_ETHERNET_PAYLOAD = (46, 1500)
_ETHERNET_OVERHEAD = 38  # preamble 8, header 14, checksum 4, gap 12


def _bits(count: int, bit_rate: int) -> int:
    """Nanoseconds of so many bits, rounded up."""
    return -(-count * SECOND // bit_rate)


def can_frame_bits(payload: int, identifier_bits: int = 11) -> int:
    """Bits of a CAN frame at worst-case stuffing: g + 8s + 13 + floor((g + 8s - 1) / 4) (AEDSMS
    [38])."""
    stuffed = (34 if identifier_bits == 11 else 54) + 8 * payload
    return stuffed + 13 + (stuffed - 1) // 4


def can_frames(size: int, bus: Bus) -> tuple[int, ...]:
    """Frame times of a tuple split into frames of at most 8 bytes."""
    full, rest = divmod(size, 8)
    payloads = [8] * full + ([rest] if rest or not full else [])
    return tuple(_bits(can_frame_bits(s, bus.identifier_bits), bus.bit_rate) for s in payloads)


def can_fd_frames(size: int, bus: Bus) -> tuple[int, ...]:
    """Frames of at most 64 bytes: arbitration at the slow rate, data at the fast one, worst
    stuffing.

    After ISO 11898-1: about 30 (11-bit) or 50 (29-bit) slow bits with stuffing and 13 trailing
    ones; the data phase carries the length field, the payload and a 17- or 21-bit checksum with
    fixed stuff bits."""
    slow = (30 if bus.identifier_bits == 11 else 50) * 5 // 4 + 13
    full, rest = divmod(size, 64)
    payloads = [64] * full + ([rest] if rest or not full else [])
    times = []
    for payload in payloads:
        padded = next(length for length in _FD_LENGTHS if length >= payload)
        checksum = 28 if padded > 16 else 23
        fast = (8 + 8 * padded) * 5 // 4 + checksum
        times.append(_bits(slow, bus.bit_rate) + _bits(fast, bus.data_bit_rate or bus.bit_rate))
    return tuple(times)


def ethernet_frames(size: int, bus: Bus) -> tuple[int, ...]:
    """Ethernet frames of 46 to 1500 payload bytes."""
    least, most = _ETHERNET_PAYLOAD
    full, rest = divmod(size, most)
    payloads = [most] * full + ([max(rest, least)] if rest or not full else [])
    return tuple(_bits(8 * (s + _ETHERNET_OVERHEAD), bus.bit_rate) for s in payloads)


_FRAMES = {
    BusKind.CAN: can_frames,
    BusKind.CAN_FD: can_fd_frames,
    BusKind.ETHERNET: ethernet_frames,
}


def frame_times(size: int, medium: Bus | Link) -> tuple[int, ...]:
    """The frames that carry a tuple of that many bytes, each with its time on the medium."""
    if isinstance(medium, Link):
        return (_bits(8 * size, medium.speed),)
    return _FRAMES[medium.kind](size, medium)


def transfer_time(size: int, medium: Bus | Link) -> int:
    """Time of a whole tuple on an idle medium."""
    return sum(frame_times(size, medium))
