"""What ``headway drive`` writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import isnan
from typing import Any

import pyarrow.parquet as pq

from headway.drive.collision_warning import QueryInVehicle, Setting
from headway.drive.trial import run_trial
from headway.drive.trial_results import (
    LatencyRow,
    Measured,
    MeetingRow,
    TrialRow,
    World,
    summaries,
    to_table,
)
from headway.report.drive_replay import replay_of
from headway.report.replay_page import replay_page
from headway.runtime.run_folder import RunFolder
from headway.world.recording import record


def write_rows(folder: RunFolder, found: Sequence[Sequence[Measured]]) -> None:
    every = [one for trial in found for one in trial]
    parts: dict[str, Sequence[TrialRow | MeetingRow | LatencyRow]] = {
        "trials.parquet": [one.trial for one in every],
        "meetings.parquet": [row for one in every for row in one.meetings],
        "latency.parquet": [row for one in every for row in one.latencies],
    }
    for name, rows in parts.items():
        pq.write_table(to_table(rows), folder.part(name))


def replay_of_first(app: QueryInVehicle, world: World, settings: Sequence[Setting]) -> str:
    """The first drive again: it is the same to the last bit."""
    recording = record(world, trial=0)
    runs = [run_trial(app, recording, setting) for setting in settings]
    return replay_page(replay_of(app.query.name, runs))


def summary_of_drives(
    settings: Sequence[Setting], found: Sequence[Sequence[Measured]], world: World, trials: int
) -> dict[str, Any]:
    results = summaries(settings, found)
    return {
        "trials": trials,
        "seed": world.seed,
        "settings": [
            {name: _plain(value) for name, value in asdict(one).items()} for one in results
        ],
    }


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return None if isnan(value) else round(value, 6)
    return value
