"""A trial of the collision-warning study as a replay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from headway.drive.braking import Braking, stops
from headway.drive.encounters import STOPPING_TIME
from headway.drive.trial import US_PER_S, Trial
from headway.drive.trial_results import measure
from headway.model.quantities import MICROSECOND
from headway.report.plan.plan_tables import percent
from headway.report.replay.replay_data import (
    SENSORS,
    BrakedWay,
    CollisionWarning,
    Encounter,
    Fact,
    OutputLatency,
    Rectangle,
    Replay,
    ReplayCar,
    ReplayEstimates,
    ReplayMap,
    ReplayRun,
    ReplayTraffic,
    Street,
)
from headway.world.drive_recording import OWN_ID, DriveRecording
from headway.world.traffic import Traffic

FRAME = 100_000
"""microseconds"""
SHORT_TTC = 4.0
"""seconds: output2 has a tuple for every car around; a warning is one with less left than this"""


def replay_of(title: str, trials: Sequence[Trial], braking: Braking | None = None) -> Replay:
    """Runs of the same recording, one per setting; with ``braking`` our car acts when warned."""
    recording = trials[0].recording
    impacts = trials[0].impacts
    return Replay(
        title=title,
        own=OWN_ID,
        map=_map(recording),
        traffic=_traffic(recording, set(impacts)),
        runs=tuple(_run(trial, braking) for trial in trials),
        facts=(
            Fact("cars", f"{len(recording.traffic.ids):,}"),
            Fact("seed", str(recording.traffic.seed)),
            Fact("V2V tuples delivered", f"{recording.counts.delivered:,}"),
        ),
        stopping_time=STOPPING_TIME,
        brakes=braking is not None,
    )


def _map(recording: DriveRecording) -> ReplayMap:
    traffic = recording.traffic
    width = float(traffic.street_width)
    return ReplayMap(
        tuple(Rectangle(*one) for one in traffic.buildings.tolist()),
        tuple(Street(x1, y1, x2, y2, width) for x1, y1, x2, y2 in traffic.streets.tolist()),
    )


def _traffic(recording: DriveRecording, meeting: set[int]) -> ReplayTraffic:
    traffic = recording.traffic
    frames = int(traffic.duration * US_PER_S) // FRAME + 1
    motion = traffic.at(np.arange(frames) * FRAME / US_PER_S)
    cars = tuple(
        ReplayCar(OWN_ID if id == recording.car else int(id), bool(radio), int(id) in meeting)
        for id, radio in zip(traffic.ids, traffic.radio, strict=True)
    )
    return ReplayTraffic(cars, motion.x, motion.y, FRAME)


def _run(trial: Trial, braking: Braking | None) -> ReplayRun:
    measured = measure(trial, 0).trial
    encounters = tuple(_encounters(trial, braking))
    crashes = sum(one.crash for one in encounters)
    warned = trial.alarms()
    return ReplayRun(
        name=trial.setting.label,
        estimates=_estimates(trial),
        warnings=_warnings(trial),
        encounters=encounters,
        latencies=tuple(_latency(trial, output.name) for output in trial.plan.query.outputs),
        facts=(
            Fact("V2V tuples let in", f"{measured.v2v_entered:,} of {measured.v2v_arrived:,}"),
            Fact("output1, longest", f"{measured.latency1_max:.1f} ms", bad=measured.misses1 > 0),
            Fact("output2, longest", f"{measured.latency2_max:.1f} ms", bad=measured.misses2 > 0),
            Fact("crashes", percent(crashes / max(len(encounters), 1)), bad=crashes > 0),
            Fact("warned of cars never near", f"{sum(o.false for o in warned)} of {len(warned)}"),
            Fact("position error", f"{measured.error_mean:.2f} m"),
        ),
    )


def _encounters(trial: Trial, braking: Braking | None) -> Iterator[Encounter]:
    found = trial.meetings()
    if braking is None:
        for one in found:
            yield Encounter(one.car, one.impact, one.crash, one.detected, one.ttc)
        return
    traffic, own = trial.recording.traffic, trial.recording.car
    for stop in stops(traffic, own, found, braking):
        met = stop.meeting
        yield Encounter(
            met.car,
            met.impact if stop.hit is None else stop.hit,
            stop.crash,
            met.detected,
            met.ttc,
            None if met.detected is None else _way(traffic, own, met.detected, braking),
            stop.speed if stop.crash else None,
        )


def _way(traffic: Traffic, car: int, begin: int, braking: Braking) -> BrakedWay:
    column = np.searchsorted(traffic.ids, np.array([car]))
    motion = traffic.of(column, np.array([begin / US_PER_S]))
    speed = float(np.hypot(motion.vx, motion.vy)[0])
    return BrakedWay(begin, speed, braking.reaction, braking.deceleration)


def _estimates(trial: Trial) -> ReplayEstimates:
    columns, produced = trial.columns("output3"), trial.produced("output3")
    order = np.argsort(produced, kind="stable")
    about = np.minimum(columns["at"].astype(np.int64), produced)
    return ReplayEstimates(
        produced=produced[order],
        sensed=about[order],
        id=columns["id"].astype(np.int64)[order],
        x=columns["x"][order],
        y=columns["y"][order],
        vx=columns["vx"][order],
        vy=columns["vy"][order],
        var_x=columns["var_x"][order],
        var_y=columns["var_y"][order],
        cov_xy=np.zeros(len(order)),
        sensor=np.full(len(order), SENSORS.index("fused")),
    )


def _warnings(trial: Trial) -> tuple[CollisionWarning, ...]:
    """The tuples of output2 about cars on collision course that leave little time."""
    risks, impacts = trial.risks(), trial.impacts
    return tuple(
        CollisionWarning(int(produced), int(id), float(ttc))
        for id, produced, ttc in zip(risks.id, risks.produced, risks.ttc, strict=True)
        if int(id) in impacts and ttc < SHORT_TTC and produced < impacts[int(id)]
    )


def _latency(trial: Trial, output: str) -> OutputLatency:
    record = trial.result.outputs[output]
    return OutputLatency(
        output,
        record.relative_deadline // MICROSECOND or None,
        trial.produced(output),
        record.latencies // MICROSECOND,
    )
