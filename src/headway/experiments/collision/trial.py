"""One trial: a recorded drive through the engine of our car, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.results import OutputRecord, RunResult
from headway.experiments.collision.application import RADIO, Application, plan_for
from headway.experiments.collision.encounters import Meeting, Risks, meetings
from headway.experiments.collision.impacts import impacts_on
from headway.experiments.collision.positions import (
    Estimates,
    Ids,
    Metres,
    Moment,
    Times,
    errors,
)
from headway.experiments.collision.setting import Setting
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, SECOND
from headway.model.schema import TIMESTAMP_COLUMN
from headway.world.drive_recording import OWN_ID, DriveRecording

US_PER_S = SECOND // MICROSECOND
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


def run_trial(application: Application, recording: DriveRecording, setting: Setting) -> Trial:
    """The same recording and setting give the same outputs to the last bit."""
    plan = plan_for(application, setting.shed, setting.keep, setting.item_cost)
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
