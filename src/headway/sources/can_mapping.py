"""Which CAN messages become tuples, which signals their columns; and what became of the frames."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from headway.model.schema import DataType

OF_FRAME = ("frame.address", "frame.bus", "frame.message")
"""what a column may hold besides a signal; no signal has a dot in its name"""
FRAME_TYPES = dict(zip(OF_FRAME, (DataType.INT, DataType.INT, DataType.STRING), strict=True))


@dataclass(frozen=True)
class CanMapping:
    """``columns`` are (column, signal). ``messages`` are names with ``*`` and ``?``, or addresses;
    ``start`` (microseconds) is added to every time, for logs that count from zero."""

    dbc: Path
    columns: tuple[tuple[str, str], ...]
    messages: tuple[str, ...] = ("*",)
    bus: int | None = None
    vehicle: str | None = None
    start: int = 0


class Undecodable(NamedTuple):
    bus: int
    address: int
    message: str
    """as the DBC calls it, '' where it does not know the address"""
    reason: str


@dataclass
class FrameCounts:
    """``rows`` + ``other`` (buses and messages not asked for) + all ``undecodable`` = ``frames``"""

    frames: int = 0
    rows: int = 0
    other: int = 0
    undecodable: Counter[Undecodable] = field(default_factory=Counter)

    def __str__(self) -> str:
        told = [f"{self.frames:,} frames: {self.rows:,} rows, {self.other:,} not asked for"]
        for one, count in sorted(self.undecodable.items(), key=lambda item: (-item[1], item[0])):
            name = f"{one.message} " if one.message else ""
            told.append(f"{count:,} of {name}{one.address:#x} on bus {one.bus}: {one.reason}")
        return "; ".join(told)
