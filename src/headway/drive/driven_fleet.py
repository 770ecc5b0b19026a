"""Fleets that drive: every car of a grid, or many seeded variations of ours.

Each vehicle has a world made where its engine runs, so nothing but numbers travels to the tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from headway.drive.car_broadcasts import broadcasting, broadcasts_of, speakers, told_by
from headway.drive.collision_warning import RADIO
from headway.drive.encounters import Meeting, Risks, impacts_on, meetings
from headway.drive.trial import US_PER_S, completed_us
from headway.engine.jobs import Arrival
from headway.engine.results import RunResult
from headway.model.codec import plan_from_json, plan_to_json
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.model.query import Source
from headway.world.broadcasts import Broadcasts, Told, on_air
from headway.world.car_sensors import SensorModel
from headway.world.drive_recording import BEGIN, record
from headway.world.drive_scenario import Scenario
from headway.world.grid_traffic import GridTraffic
from headway.world.radio import RadioModel
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
    speaking: str | None = None
    """the plan, as JSON, by which every car with a radio runs the query and broadcasts its output1;
    without, a model of them says what is sent"""
    policy: str = "s-edf"
    charged: bool = True
    """how those cars schedule, and whether their operators take time"""
    said: Broadcasts | None = None
    """what they broadcast in the one traffic, where that has been run"""

    def name(self, number: int) -> str:
        if self.cars is not None:
            return f"car{self.cars[number]:0{len(str(max(self.cars)))}d}"
        return f"v{number:0{len(str(self.count - 1))}d}"

    def arrivals(self, number: int) -> Iterator[Arrival]:
        traffic, car = self._world(number)
        recording = record(traffic, car, said=self._said(traffic, car))
        for arrived_at, source, row, _ in recording.arrivals(self.sources):
            if self.v2v or source != RADIO:
                yield Arrival(arrived_at * MICROSECOND, source, row)

    def met(self, number: int, result: RunResult) -> Iterable[Met]:
        traffic, car = self._world(number)
        found = meetings(self._risks(result), impacts_on(traffic, car))
        return [_met(one) for one in found]

    @property
    def speakers(self) -> tuple[int, ...]:
        """Whose queries are run before anybody can hear them: all cars of the one traffic. A
        variation has a traffic of its own, and runs its cars itself."""
        if self.speaking is None or self.cars is None or self.said is not None:
            return ()
        return speakers(self._world(0)[0])

    def told(self, number: int) -> Told:
        """What one of :attr:`speakers` has to say."""
        traffic, _ = self._world(0)
        car = self.speakers[number]
        return told_by(self._plan(), traffic, car, 0, policy=self.policy, charged=self.charged)

    def hearing(self, told: Sequence[Told]) -> DrivenFleet:
        """The fleet that hears what its :attr:`speakers` say, given in their order."""
        traffic, _ = self._world(0)
        return replace(self, said=on_air(traffic, told, SensorModel(), RadioModel(), 0))

    def _said(self, traffic: Traffic, car: int) -> Broadcasts | None:
        if self.speaking is None or self.said is not None:
            return self.said
        but = None if self.cars is not None else car
        return broadcasts_of(
            self._plan(), traffic, policy=self.policy, charged=self.charged, but=but
        )

    def _plan(self) -> Plan:
        assert self.speaking is not None, "only cars that run the query have a plan"
        return _plan_of(self.speaking)

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


_plan_of = cache(plan_from_json)
"""a task runs many cars by one plan"""


def driven_fleet(
    plan: Plan,
    scenario: Scenario,
    vehicles: int | None,
    *,
    v2v: bool = True,
    cars_speak: bool = False,
    policy: str = "s-edf",
    charged: bool = True,
) -> DrivenFleet:
    """``vehicles`` variations of our car's drive; without, every car of the grid with a radio.
    ``cars_speak``: what they hear is what the queries of the others say."""
    speaking = plan_to_json(broadcasting(plan)) if cars_speak else None
    stream = next(one.stream for one in plan.query.outputs if one.name == "output2")
    columns = ("timestamp", *dict(plan.schemas)[stream].names)
    cars = speakers(GridTraffic(scenario)) if vehicles is None else None
    return DrivenFleet(
        scenario,
        plan.query.sources,
        columns,
        vehicles or len(cars or ()),
        cars,
        v2v=v2v,
        speaking=speaking,
        policy=policy,
        charged=charged,
    )


def _met(meeting: Meeting) -> Met:
    return Met(meeting.car, meeting.impact / US_PER_S, meeting.ttc, meeting.crash)
