"""What a picture shows, before anything has a place: ECUs, items, streams, buses, gateways."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from headway.model.plan import Load
from headway.report.text import width_of

NAME_SIZE = 12.0
DETAIL_SIZE = 10.5
CHIP_SIZE = 10.0
PADDING = 9.0
LINE = 15.0
CHIP_GAP = 4.0
NARROWEST, WIDEST = 84.0, 184.0
PORT_SPACING = 9.0


class Role(StrEnum):
    SOURCE = "source"
    OPERATOR = "operator"
    OUTPUT = "output"


class State(StrEnum):
    """Whether a promise is kept; never shown by colour alone."""

    KEPT = "kept"
    BROKEN = "broken"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Item:
    """A box: a source, an operator or an output. ``chips`` number the trains it belongs to."""

    key: str
    role: Role
    node: str
    name: str
    details: tuple[str, ...] = ()
    chips: tuple[str, ...] = ()
    note: str = ""
    title: str = ""
    state: State = State.UNKNOWN
    inputs: int = 1

    @property
    def wanted_width(self) -> float:
        lines = [width_of(self.name, NAME_SIZE, bold=True)]
        lines += [width_of(detail, DETAIL_SIZE) for detail in self.details]
        lines.append(
            sum(chip_width(chip) + CHIP_GAP for chip in self.chips)
            + width_of(self.note, DETAIL_SIZE)
        )
        return min(WIDEST, max(NARROWEST, max(lines) + 2 * PADDING))

    @property
    def height(self) -> float:
        rows = 1 + len(self.details) + (1 if self.chips or self.note else 0)
        return max(rows * LINE + 10, (self.inputs + 1) * PORT_SPACING)


def chip_width(chip: str) -> float:
    return width_of(chip, CHIP_SIZE) + 8


@dataclass(frozen=True, kw_only=True)
class Edge:
    """A stream between two items of one ECU; ``train`` when it stays inside an operator train."""

    start: str
    end: str
    train: bool = False


@dataclass(frozen=True, kw_only=True)
class Transfer:
    """A stream from one ECU to another: through ``media``, joined by ``gateways`` (one fewer)."""

    start: str
    ends: tuple[str, ...]
    receiver: str
    media: tuple[str, ...]
    gateways: tuple[str, ...]
    label: str
    title: str


@dataclass(frozen=True, kw_only=True)
class Ecu:
    name: str
    title: str
    load: Load | None = None


@dataclass(frozen=True, kw_only=True)
class Medium:
    """A bus or link; ``gateways`` attach to it."""

    name: str
    detail: str
    title: str
    load: Load | None = None
    gateways: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Junction:
    """A gateway."""

    name: str
    detail: str
    title: str


@dataclass(frozen=True, kw_only=True)
class Sketch:
    """The whole picture. Items are in topological order: producers come before consumers."""

    heading: str
    summary: str
    state: State
    description: str
    ecus: tuple[Ecu, ...]
    items: tuple[Item, ...]
    edges: tuple[Edge, ...]
    transfers: tuple[Transfer, ...]
    media: tuple[Medium, ...]
    junctions: tuple[Junction, ...]
