"""Vehicles that drive: what a fleet made in Spark tasks must be able to say of each of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import pyarrow as pa

from headway.runtime.engine import RunResult
from headway.runtime.happenings import Arrival


class Met(NamedTuple):
    """A car on collision course with a vehicle of the fleet; times in seconds of the drive. ``ttc``
    is what was left when the vehicle first knew of it, None if it never did in time."""

    car: int
    impact: float
    ttc: float | None
    crash: bool


MET_COLUMNS = {
    "car": pa.int64(), "impact": pa.float64(), "ttc": pa.float64(), "crash": pa.bool_(),
}  # fmt: skip


class Vehicles(Protocol):
    """A fleet by number, from 0; travels to the tasks."""

    @property
    def count(self) -> int: ...

    def name(self, number: int) -> str: ...

    def arrivals(self, number: int) -> Iterator[Arrival]:
        """What arrives at one vehicle's sources, in order."""

    def met(self, number: int, result: RunResult) -> Iterable[Met]:
        """Who was on collision course with it, once its engine has run."""
