"""One trial: a recorded drive through the engine of our car, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import partial

import numpy as np
from numpy.typing import NDArray

from headway.drive.alarms import Alarm, alarms
from headway.drive.collision_warning import RADIO, QueryInVehicle, Setting, plan_of
from headway.drive.encounters import Meeting, Risks, impacts_on, meetings
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.results import OutputRecord, RunResult
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, SECOND
from headway.model.schema import TIMESTAMP_COLUMN
from headway.world.drive_recording import OWN_ID, DriveRecording

Ids = NDArray[np.int64]
Times = NDArray[np.int64]
"""microseconds"""
Metres = NDArray[np.float64]
TruePlaces = Callable[[Ids, Times], tuple[Metres, Metres]]
"""Where cars were at given times; NaN where they were not there."""
US_PER_S = SECOND // MICROSECOND


# ----------------------------------------------------------------
# How far off positions are.
#
# The papers do not print at which moment they compare (AEDSMS section 6.5). Here an estimate is
# compared with the truth at the moment it is *about* (what filter and sensors can do) and at the
# moment it *comes out*: as it stands (a car at 60 km/h moves on by 1.7 m in 100 ms, so late is
# wrong), and *carried on* with its own velocity to that moment, as a reader of the output would.


class Moment(StrEnum):
    """When an estimate is compared with the truth."""

    ABOUT = "about"
    OUT = "out"
    CARRIED = "carried"


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Positions that somebody was told: of which car, about when, when they came out."""

    id: Ids
    about: Times
    produced: Times
    x: Metres
    y: Metres
    vx: Metres
    """m/s; NaN where no velocity was told"""
    vy: Metres

    def where(self, chosen: NDArray[np.bool_]) -> Estimates:
        return Estimates(*(getattr(self, field.name)[chosen] for field in fields(self)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSummary:
    """Distances from the truth in metres; ``count`` positions were compared."""

    count: int
    mean: float
    median: float
    quartile: float
    """the upper one"""
    high: float
    """95th percentile"""


def errors(estimates: Estimates, places: TruePlaces, moment: Moment) -> Metres:
    """The distance of each estimate from its car; those of cars that are not there are left out."""
    at = estimates.about if moment is Moment.ABOUT else estimates.produced
    x, y = places(estimates.id, at)
    carried = np.zeros(len(at))
    if moment is Moment.CARRIED:
        carried = (estimates.produced - estimates.about) / US_PER_S
        dx, dy = estimates.vx * carried, estimates.vy * carried
    else:
        dx = dy = carried
    found: Metres = np.hypot(estimates.x + dx - x, estimates.y + dy - y)
    return found[~np.isnan(found)]


def summarise(found: Metres) -> ErrorSummary:
    if not len(found):
        nan = float("nan")
        return ErrorSummary(count=0, mean=nan, median=nan, quartile=nan, high=nan)
    median, quartile, high = np.percentile(found, [50, 75, 95])
    return ErrorSummary(
        count=len(found),
        mean=float(found.mean()),
        median=float(median),
        quartile=float(quartile),
        high=float(high),
    )


Column = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trial:
    """A drive, how our car was equipped, and the engine's outputs. Times are microseconds from the
    begin of the drive."""

    recording: DriveRecording
    setting: Setting
    plan: Plan
    result: RunResult

    def columns(self, output: str) -> dict[str, Column]:
        """The columns of an output by name, NULL as NaN; times since the begin in microseconds."""
        stream = next(one.stream for one in self.plan.query.outputs if one.name == output)
        schema = dict(self.plan.schemas)[stream]
        record = self.result.outputs[output]
        found = {}
        for place, name in enumerate((TIMESTAMP_COLUMN, *schema.names)):
            found[name] = np.array([row[place] for row in record.rows], dtype=np.float64)
        for name in (TIMESTAMP_COLUMN, "at"):
            if name in found:
                found[name] -= self.recording.begin
        return found

    def produced(self, output: str) -> Times:
        """When each tuple came out."""
        return completed_us(self.result.outputs[output]) - self.recording.begin

    @property
    def impacts(self) -> dict[int, int]:
        """Cars on collision course -> when they hit ours, had nobody braked."""
        return impacts_on(self.recording.traffic, self.recording.car)

    def risks(self) -> Risks:
        """What output2 said."""
        columns, produced = self.columns("output2"), self.produced("output2")
        known = ~np.isnan(columns["ttc"])
        ids = columns["id"].astype(np.int64)
        return Risks(ids[known], produced[known], columns["ttc"][known])

    def meetings(self) -> tuple[Meeting, ...]:
        return meetings(self.risks(), self.impacts)

    def alarms(self) -> tuple[Alarm, ...]:
        """The cars that output2 warned of, whether they would have come near or not."""
        return alarms(self.risks(), self.recording.traffic, self.recording.car)

    def estimates(self) -> Estimates:
        """What output3 said."""
        columns = self.columns("output3")
        return Estimates(
            columns["id"].astype(np.int64),
            columns["at"].astype(np.int64),
            self.produced("output3"),
            *(columns[name] for name in ("x", "y", "vx", "vy")),
        )

    def errors(self, moment: Moment) -> Metres:
        """How far off output3 was, tuple by tuple."""
        return errors(self.estimates(), partial(true_places, self.recording), moment)


def run_trial(application: QueryInVehicle, recording: DriveRecording, setting: Setting) -> Trial:
    """The same recording and setting give the same outputs to the last bit."""
    plan = plan_of(application, setting)
    engine = Engine(plan=plan, policy=setting.policy, keep_trace=False)
    return Trial(recording, setting, plan, engine.run(arrivals(recording, plan, v2v=setting.v2v)))


def arrivals(recording: DriveRecording, plan: Plan, *, v2v: bool) -> Iterator[Arrival]:
    """What our car's sensors and, with a radio, its radio give the engine."""
    for arrived_at, source, row, _ in recording.arrivals(plan.query.sources):
        if v2v or source != RADIO:
            yield Arrival(arrived_at * MICROSECOND, source, row)


def completed_us(record: OutputRecord) -> Times:
    """Completions in microseconds, rounded up."""
    return -(-np.array(record.completed, dtype=np.int64) // MICROSECOND)


def true_places(recording: DriveRecording, ids: Ids, at: Times) -> tuple[Metres, Metres]:
    """Where cars really were (microseconds from the begin); our own has the id 0."""
    traffic = recording.traffic
    columns = _columns(traffic.ids, recording.car, ids)
    motion = traffic.of(np.maximum(columns, 0), at / US_PER_S)
    there = columns >= 0
    return np.where(there, motion.x, np.nan), np.where(there, motion.y, np.nan)


def _columns(known: Ids, own: int, ids: Ids) -> NDArray[np.int64]:
    """Each id's column in the traffic; -1 where there is no such car."""
    wanted = np.where(ids == OWN_ID, own, ids)
    found = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[found] == wanted, found, -1)
