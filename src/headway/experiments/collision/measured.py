"""What a trial gave, as tidy rows: one for the trial, one a meeting, one a second of the drive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from headway.engine.results import weighted_miss_ratio
from headway.experiments.collision.application import RADIO
from headway.experiments.collision.encounters import Meeting, crash_rate, worst_ttc
from headway.experiments.collision.positions import Moment, summarise
from headway.experiments.collision.setting import Setting
from headway.experiments.collision.trial import US_PER_S, Trial
from headway.model.quantities import MILLISECOND

WEIGHTS = {"output1": 1.0, "output2": 1.0, "output3": 0.0}
"""α of equation 4 in the study (S-EDF section 6.2.3): navigation does not count."""


@dataclass(frozen=True, kw_only=True)
class TrialRow:
    """One trial. Latencies in milliseconds, TTC in seconds, errors in metres."""

    trial: int
    policy: str
    v2v: bool
    shed: int | None
    keep: str
    v2v_arrived: int
    v2v_entered: int
    v2v_peak: int
    """most V2V tuples that arrived in a second"""
    latency1_max: float
    latency1_median: float
    latency2_max: float
    latency3_max: float
    tuples1: int
    misses1: int
    tuples2: int
    misses2: int
    tuples3: int
    misses3: int
    miss_ratio: float
    """weighted with :data:`WEIGHTS`"""
    preemptions: int
    late: int
    failed: int
    meetings: int
    crashes: int
    crash_rate: float
    worst_ttc: float
    mean_ttc: float
    """over the cars that were detected"""
    error_mean: float
    """of output3's positions at the moment they are about"""
    error_high: float
    """its 95th percentile"""
    error_carried_mean: float
    """of the same positions, carried on to the moment they come out"""
    error_out_mean: float
    """at that moment, as they stand"""
    error_count: int


@dataclass(frozen=True, kw_only=True)
class MeetingRow:
    """How it went with one car on collision course; times in seconds from the begin."""

    trial: int
    policy: str
    v2v: bool
    shed: int | None
    car: int
    impact: float
    detected: float | None
    ttc: float | None
    computed_ttc: float | None
    crash: bool


@dataclass(frozen=True, kw_only=True)
class LatencyRow:
    """The longest latency of output1 (ms) among tuples sensed in one second of the drive, and the
    V2V tuples that arrived in it."""

    trial: int
    policy: str
    v2v: bool
    shed: int | None
    second: int
    latency: float
    v2v_tuples: int


@dataclass(frozen=True)
class Measured:
    """All rows of a trial."""

    trial: TrialRow
    meetings: tuple[MeetingRow, ...]
    latencies: tuple[LatencyRow, ...]


def measure(trial: Trial, number: int) -> Measured:
    """``number`` is the trial's in its study."""
    found = trial.meetings()
    return Measured(
        _trial_row(trial, number, found),
        tuple(_meeting_rows(trial.setting, number, found)),
        tuple(_latency_rows(trial, number)),
    )


def _trial_row(trial: Trial, number: int, found: Sequence[Meeting]) -> TrialRow:
    summary, setting = trial.result.summary(), trial.setting
    by_name = {one.output: one for one in summary.outputs}
    first, second, third = (by_name[name] for name in WEIGHTS)
    weighted = [replace(by_name[name], weight=weight) for name, weight in WEIGHTS.items()]
    detected = [meeting.ttc for meeting in found if meeting.ttc is not None]
    about = summarise(trial.errors(Moment.ABOUT))
    per_second = v2v_per_second(trial)
    arrived = int(per_second.sum())
    return TrialRow(
        trial=number,
        policy=setting.policy,
        v2v=setting.v2v,
        shed=setting.shed,
        keep=setting.keep.value,
        v2v_arrived=arrived,
        v2v_entered=arrived - summary.shed,
        v2v_peak=int(per_second.max(initial=0)),
        latency1_max=first.latency_max / MILLISECOND,
        latency1_median=first.latency_median / MILLISECOND,
        latency2_max=second.latency_max / MILLISECOND,
        latency3_max=third.latency_max / MILLISECOND,
        tuples1=first.tuples,
        misses1=first.misses,
        tuples2=second.tuples,
        misses2=second.misses,
        tuples3=third.tuples,
        misses3=third.misses,
        miss_ratio=weighted_miss_ratio(weighted),
        preemptions=summary.preemptions,
        late=summary.late,
        failed=summary.failed,
        meetings=len(found),
        crashes=sum(meeting.crash for meeting in found),
        crash_rate=crash_rate(found),
        worst_ttc=worst_ttc(found),
        mean_ttc=float(np.mean(detected)) if detected else 0.0,
        error_mean=about.mean,
        error_high=about.high,
        error_carried_mean=summarise(trial.errors(Moment.CARRIED)).mean,
        error_out_mean=summarise(trial.errors(Moment.OUT)).mean,
        error_count=about.count,
    )


def v2v_per_second(trial: Trial) -> Any:
    """How many V2V tuples arrived in each second of the drive."""
    seconds = int(np.ceil(trial.recording.traffic.duration)) + 1
    if not trial.setting.v2v:
        return np.zeros(seconds, dtype=np.int64)
    table = trial.recording.streams[RADIO]
    at = table.column("arrived_at").to_numpy().astype("datetime64[us]").astype(np.int64)
    return np.bincount((at - trial.recording.begin) // US_PER_S, minlength=seconds)


def _meeting_rows(setting: Setting, number: int, found: Sequence[Meeting]) -> Iterator[MeetingRow]:
    for one in found:
        yield MeetingRow(
            trial=number,
            policy=setting.policy,
            v2v=setting.v2v,
            shed=setting.shed,
            car=one.car,
            impact=one.impact / US_PER_S,
            detected=None if one.detected is None else one.detected / US_PER_S,
            ttc=one.ttc,
            computed_ttc=one.computed_ttc,
            crash=one.crash,
        )


def _latency_rows(trial: Trial, number: int) -> Iterator[LatencyRow]:
    record, setting = trial.result.outputs["output1"], trial.setting
    latencies = record.latencies / MILLISECOND
    sensed = trial.columns("output1")["timestamp"]
    heard = v2v_per_second(trial)
    seconds = (sensed // US_PER_S).astype(np.int64)
    for second in np.unique(seconds):
        yield LatencyRow(
            trial=number,
            policy=setting.policy,
            v2v=setting.v2v,
            shed=setting.shed,
            second=int(second),
            latency=float(latencies[seconds == second].max()),
            v2v_tuples=int(heard[second]),
        )


def to_table(rows: Sequence[TrialRow | MeetingRow | LatencyRow]) -> pa.Table:
    """The rows as columns, for a file."""
    return pa.Table.from_pylist([asdict(row) for row in rows])
