"""What our car would know without any fusion, in our car or in others.

Our own position is the GPS fix. What the radar sees is added to the fix of its cycle. What comes by
V2V is what a sender without fusion would have sent: its tuples hold its fused position (or that
plus what its radar saw), so they are moved by the difference between its fix and that position.
All tuples count, before the load shedder.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headway.experiments.collision.positions import Estimates, Ids, Metres
from headway.world.car_sensors import CYCLE_MS, SensorModel, phases, read_own
from headway.world.drive_recording import OWN_ID, DriveRecording

Columns = dict[str, Any]
_COLUMNS = ("timestamp", "arrived_at", "id", "sender", "x", "y", "dx", "dy")
_US_PER_MS = 1000


def unfused(recording: DriveRecording, trial: int) -> Estimates:
    """``trial`` is the one that was recorded, with the usual sensors."""
    gps, radar, radio = (_columns(recording, name) for name in ("gps", "radar", "v2v"))
    fix = np.searchsorted(gps["timestamp"], radar["timestamp"])
    moved_x, moved_y = _to_the_fix(recording, radio, trial)
    ids = [np.full(len(gps["x"]), OWN_ID), radar["id"], radio["id"]]
    times = [
        np.concatenate([table[name] for table in (gps, radar, radio)]) - recording.begin
        for name in ("timestamp", "arrived_at")
    ]
    x = np.concatenate([gps["x"], gps["x"][fix] + radar["dx"], radio["x"] + moved_x])
    y = np.concatenate([gps["y"], gps["y"][fix] + radar["dy"], radio["y"] + moved_y])
    unknown = np.full(len(x), np.nan)
    return Estimates(np.concatenate(ids), times[0], times[1], x, y, unknown, unknown)


def _to_the_fix(recording: DriveRecording, radio: Columns, trial: int) -> tuple[Metres, Metres]:
    """What leads from the sender's fused position to its GPS fix, for each V2V tuple; NaN where the
    sender's own tuple of that cycle was not heard."""
    traffic = recording.traffic
    phase = phases(traffic.seed, trial, len(traffic.ids))
    cycles = int(traffic.duration * 1000) // CYCLE_MS
    sensed_at = (phase[None, :] + CYCLE_MS * np.arange(cycles)[:, None]) * _US_PER_MS
    seconds = (sensed_at / 1e6).astype(np.float64)
    motion = traffic.of(np.arange(len(traffic.ids))[None, :], seconds)
    fixes = read_own(SensorModel(), motion, traffic.seed, trial)
    column: Ids = np.searchsorted(traffic.ids, np.asarray(radio["sender"], np.int64))
    cycle: Ids = (radio["timestamp"] - recording.begin) // (CYCLE_MS * _US_PER_MS)
    told_x, told_y = (np.full(sensed_at.shape, np.nan) for _ in range(2))
    of_itself = radio["id"] == radio["sender"]
    place = cycle[of_itself], column[of_itself]
    told_x[place], told_y[place] = radio["x"][of_itself], radio["y"][of_itself]
    return (fixes.x - told_x)[cycle, column], (fixes.y - told_y)[cycle, column]


def _columns(recording: DriveRecording, name: str) -> Columns:
    table = recording.streams[name]
    return {
        column: _numbers(table.column(column))
        for column in _COLUMNS
        if column in table.column_names
    }


def _numbers(column: Any) -> Any:
    values = column.to_numpy()
    if values.dtype.kind == "M":
        return values.astype("datetime64[us]").astype(np.int64)
    return values if values.dtype.kind == "i" else values.astype(np.float64)
