"""Runs a plan over a recording: one engine per vehicle, vehicle by vehicle in order of name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.runtime.engine import RunResult
from headway.runtime.kernel import Arrival
from headway.sources.recordings import Contents, read_recording


class Runs(Protocol):
    """An engine, in virtual or wall-clock time."""

    def run(self, arrivals: Iterable[Arrival]) -> RunResult: ...


class VehicleRun(NamedTuple):
    """A finished run; ``vehicle`` is None where the recording names none."""

    vehicle: str | None
    result: RunResult


def replay(
    plan: Plan,
    folder: Path,
    contents: Contents,
    make_engine: Callable[[], Runs],
    on_tuple: Callable[[], None] = lambda: None,
) -> Iterator[VehicleRun]:
    """``make_engine`` gives a fresh engine for each vehicle; ``on_tuple`` is called for each tuple
    that arrives."""
    for vehicle in contents.vehicles:
        yield VehicleRun(vehicle, make_engine().run(_arrivals(plan, folder, vehicle, on_tuple)))


def _arrivals(
    plan: Plan, folder: Path, vehicle: str | None, on_tuple: Callable[[], None]
) -> Iterator[Arrival]:
    for arrived_at, source, row, _ in read_recording(folder, plan.query.sources, vehicle):
        on_tuple()
        yield Arrival(arrived_at * MICROSECOND, source, row)
