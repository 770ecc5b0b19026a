"""Many trials: each drives once through the world and meets every setting with the same drive."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from math import isnan
from multiprocessing.connection import wait
from pathlib import Path
from statistics import fmean
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from headway.drive.braking import Braking, stops
from headway.drive.car_broadcasts import broadcasting, broadcasts_of
from headway.drive.collision_warning import RADIO, QueryInVehicle, Setting, plan_for
from headway.drive.encounters import Meeting, crash_rate, worst_ttc
from headway.drive.trial import US_PER_S, Moment, Trial, run_trial, summarise
from headway.drive.warning_results import AlarmRow, StopRow, alarm_rows, stop_rows
from headway.engine.results import weighted_miss_ratio
from headway.model.quantities import MILLISECOND
from headway.world.drive_recording import DriveRecording, record
from headway.world.drive_scenario import Scenario
from headway.world.grid_traffic import GridTraffic
from headway.world.traffic import Traffic

Task = TypeVar("Task")
Result = TypeVar("Result")


# ----------------------------------------------------------------
# Trials side by side in processes of their own, results in the order of the tasks.


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_parallel(
    function: Callable[[Task], Result], tasks: Sequence[Task], workers: int
) -> Iterator[Result]:
    """``function`` of every task; with one worker, or one task, in this process.

    Processes are started afresh (spawn), so a worker shares nothing with its parent, and a run
    with many workers gives what a run with one gives.
    """
    if workers <= 1 or len(tasks) <= 1:
        yield from map(function, tasks)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        min(workers, len(tasks)), mp_context=context, initializer=_end_with_parent
    ) as pool:
        try:
            yield from pool.map(function, tasks)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _end_with_parent() -> None:
    """Ends this worker when its parent is killed: it waits for tasks on a pipe whose other end it
    holds, too, so it would wait for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, name="end with the parent", daemon=True).start()


# ----------------------------------------------------------------
# What a trial gave, as tidy rows: one for the trial, one a meeting, one a second of the drive.


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
    alarms: tuple[AlarmRow, ...] = ()
    stops: tuple[StopRow, ...] = ()
    """where our car brakes"""


def measure(trial: Trial, number: int, braking: Braking | None = None) -> Measured:
    """``number`` is the trial's in its study."""
    found, recording, setting = trial.meetings(), trial.recording, trial.setting
    acted = stops(recording.traffic, recording.car, found, braking) if braking else ()
    return Measured(
        _trial_row(trial, number, found),
        tuple(_meeting_rows(setting, number, found)),
        tuple(_latency_rows(trial, number)),
        tuple(alarm_rows(setting, number, trial.alarms())),
        tuple(stop_rows(setting, number, acted)),
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


MeasuredRow = TrialRow | MeetingRow | LatencyRow | AlarmRow | StopRow


def to_table(rows: Sequence[MeasuredRow]) -> pa.Table:
    """The rows as columns, for a file."""
    return pa.Table.from_pylist([asdict(row) for row in rows])


# ----------------------------------------------------------------
# Trials of one setting in numbers: what the papers' tables print.


@dataclass(frozen=True, kw_only=True)
class SettingSummary:
    """Over all trials of a setting. Latencies in milliseconds, TTC in seconds, errors in metres."""

    setting: str
    trials: int
    v2v_peak: float
    """mean over the trials of the most V2V tuples in a second"""
    v2v_entered: float
    """mean share of the V2V tuples that passed the load shedder"""
    latency1_max: float
    """mean over the trials of the longest latency of output1"""
    latency1_worst: float
    """the longest of all"""
    latency2_worst: float
    miss_ratio1: float
    miss_ratio2: float
    miss_ratio3: float
    miss_ratio: float
    meetings: int
    crashes: int
    crash_rate: float
    worst_ttc: float
    mean_ttc: float
    error_mean: float
    error_carried_mean: float
    error_out_mean: float


def summary_of(setting: Setting, rows: Sequence[TrialRow]) -> SettingSummary:
    """``rows`` are those of one setting."""
    met = sum(row.meetings for row in rows)
    crashes = sum(row.crashes for row in rows)
    return SettingSummary(
        setting=setting.label,
        trials=len(rows),
        v2v_peak=fmean(row.v2v_peak for row in rows),
        v2v_entered=_ratio(sum(r.v2v_entered for r in rows), sum(r.v2v_arrived for r in rows)),
        latency1_max=fmean(row.latency1_max for row in rows),
        latency1_worst=max(row.latency1_max for row in rows),
        latency2_worst=max(row.latency2_max for row in rows),
        miss_ratio1=_ratio(sum(r.misses1 for r in rows), sum(r.tuples1 for r in rows)),
        miss_ratio2=_ratio(sum(r.misses2 for r in rows), sum(r.tuples2 for r in rows)),
        miss_ratio3=_ratio(sum(r.misses3 for r in rows), sum(r.tuples3 for r in rows)),
        miss_ratio=fmean(row.miss_ratio for row in rows),
        meetings=met,
        crashes=crashes,
        crash_rate=_ratio(crashes, met),
        worst_ttc=min(row.worst_ttc for row in rows),
        mean_ttc=fmean(row.mean_ttc for row in rows),
        error_mean=mean_of(row.error_mean for row in rows),
        error_carried_mean=mean_of(row.error_carried_mean for row in rows),
        error_out_mean=mean_of(row.error_out_mean for row in rows),
    )


def summaries(
    settings: Sequence[Setting], trials: Iterable[Sequence[Measured]]
) -> list[SettingSummary]:
    """``trials`` holds for each trial what every setting gave, in the order of ``settings``."""
    by_setting: list[list[TrialRow]] = [[] for _ in settings]
    for trial in trials:
        for place, measured in enumerate(trial):
            by_setting[place].append(measured.trial)
    return [summary_of(one, rows) for one, rows in zip(settings, by_setting, strict=True)]


def mean_of(values: Iterable[float]) -> float:
    """Of those that are numbers; NaN if none is."""
    known = [value for value in values if not isnan(value)]
    return fmean(known) if known else float("nan")


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


World = Scenario | Traffic
"""What is driven through: the papers' grid, or any traffic."""


@dataclass(frozen=True, kw_only=True)
class Drive:
    """One trial's task: travels to the process that runs it."""

    application: QueryInVehicle
    world: World
    number: int
    """other phases, noise and losses in the same traffic"""
    settings: tuple[Setting, ...]
    folder: Path | None = None
    """where the recording is kept"""
    cars_speak: bool = False
    """what our car hears are the other cars' own outputs: each runs the query, too"""
    braking: Braking | None = None
    """how our car brakes when it is warned; without, it does not"""


def recorded(drive: Drive) -> DriveRecording:
    """What our car senses and hears."""
    if not drive.cars_speak:
        return record(drive.world, trial=drive.number)
    world = drive.world
    traffic = GridTraffic(world) if isinstance(world, Scenario) else world
    said = broadcasts_of(
        broadcasting(plan_for(drive.application)), traffic, drive.number, but=traffic.own
    )
    return record(traffic, trial=drive.number, said=said)


def run_drive(drive: Drive) -> list[Measured]:
    """Records once and runs every setting over it."""
    recording = recorded(drive)
    if drive.folder is not None:
        recording.write(drive.folder)
    return [
        measure(run_trial(drive.application, recording, setting), drive.number, drive.braking)
        for setting in drive.settings
    ]


def run_trials(
    application: QueryInVehicle,
    world: World,
    settings: Sequence[Setting],
    *,
    trials: int,
    first: int = 0,
    workers: int = 1,
    keep: Path | None = None,
    cars_speak: bool = False,
    braking: Braking | None = None,
) -> Iterator[list[Measured]]:
    """A list per trial, in their order, as they are done."""
    drives = [
        Drive(
            application=application,
            world=world,
            number=number,
            settings=tuple(settings),
            folder=None if keep is None else keep / f"trial{number:04d}",
            cars_speak=cars_speak,
            braking=braking,
        )
        for number in range(first, first + trials)
    ]
    return in_parallel(run_drive, drives, workers)
