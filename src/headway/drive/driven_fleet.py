"""Fleets that drive: every car of a grid, or many seeded variations of ours.

Each vehicle has a world made where its engine runs, so nothing but numbers travels to the tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from headway.drive.collision_warning import RADIO
from headway.drive.encounters import Meeting, Risks, impacts_on, meetings
from headway.drive.trial import US_PER_S, completed_us
from headway.engine.jobs import Arrival
from headway.engine.results import RunResult
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.model.query import Source
from headway.world.drive_recording import BEGIN, record
from headway.world.drive_scenario import Scenario
from headway.world.grid_traffic import GridTraffic
from headway.world.traffic import Traffic

# ----------------------------------------------------------------
# Vehicles that drive: what a fleet made in Spark tasks must be able to say of each of its own.


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


@dataclass(frozen=True)
class DrivenFleet:
    """``cars``: their ids in one traffic, or None for ``count`` traffics, each with a seed of its
    own, in which our car drives."""

    scenario: Scenario
    sources: tuple[Source, ...]
    columns: tuple[str, ...]
    """of output2's rows"""
    count: int
    cars: tuple[int, ...] | None = None
    v2v: bool = True

    def name(self, number: int) -> str:
        if self.cars is not None:
            return f"car{self.cars[number]:0{len(str(max(self.cars)))}d}"
        return f"v{number:0{len(str(self.count - 1))}d}"

    def arrivals(self, number: int) -> Iterator[Arrival]:
        traffic, car = self._world(number)
        recording = record(traffic, car)
        for arrived_at, source, row, _ in recording.arrivals(self.sources):
            if self.v2v or source != RADIO:
                yield Arrival(arrived_at * MICROSECOND, source, row)

    def met(self, number: int, result: RunResult) -> Iterable[Met]:
        traffic, car = self._world(number)
        found = meetings(self._risks(result), impacts_on(traffic, car))
        return [_met(one) for one in found]

    def _world(self, number: int) -> tuple[Traffic, int]:
        if self.cars is None:
            traffic = GridTraffic(replace(self.scenario, seed=self.scenario.seed + number))
            return traffic, traffic.own
        return GridTraffic(self.scenario), self.cars[number]

    def _risks(self, result: RunResult) -> Risks:
        record = result.outputs["output2"]
        id, ttc = self.columns.index("id"), self.columns.index("ttc")
        known = [row[ttc] is not None for row in record.rows]
        rows = [row for row in record.rows if row[ttc] is not None]
        return Risks(
            np.array([row[id] for row in rows], dtype=np.int64),
            (completed_us(record) - BEGIN)[np.array(known, dtype=np.bool_)],
            np.array([row[ttc] for row in rows], dtype=np.float64),
        )


def driven_fleet(
    plan: Plan, scenario: Scenario, vehicles: int | None, *, v2v: bool = True
) -> DrivenFleet:
    """``vehicles`` variations of our car's drive; without, every car of the grid with a radio."""
    stream = next(one.stream for one in plan.query.outputs if one.name == "output2")
    columns = ("timestamp", *dict(plan.schemas)[stream].names)
    if vehicles is not None:
        return DrivenFleet(scenario, plan.query.sources, columns, vehicles, v2v=v2v)
    traffic = GridTraffic(scenario)
    cars = tuple(int(car) for car in traffic.ids[traffic.radio])
    return DrivenFleet(scenario, plan.query.sources, columns, len(cars), cars, v2v=v2v)


def _met(meeting: Meeting) -> Met:
    return Met(meeting.car, meeting.impact / US_PER_S, meeting.ttc, meeting.crash)
