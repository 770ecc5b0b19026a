"""The same drive with V2V reports whose errors do not repeat.

What a car reports holds the error of its own fused position, which stays for many cycles. A
receiver's filter takes each report for a new draw. Here it is one: a normal error of the variance
that the report tells.
"""

from __future__ import annotations

import numpy as np

from headway.experiments.collision.application import RADIO
from headway.experiments.collision.changed import changed, sensed_at
from headway.experiments.collision.trial import true_places
from headway.world.drive_recording import DriveRecording

_FRESH = 2_000
"""what sets these draws apart from the world's own"""


def with_fresh_reports(recording: DriveRecording, trial: int) -> DriveRecording:
    """Positions only, and only of cars that were there; velocities, times and variances stay."""
    heard = recording.streams[RADIO]
    truth = true_places(recording, heard.column("id").to_numpy(), sensed_at(recording, RADIO))
    random = np.random.default_rng([recording.traffic.seed, trial, _FRESH])
    columns = {}
    for name, true in zip(("x", "y"), truth, strict=True):
        deviation = np.sqrt(heard.column(f"var_{name}").to_numpy().astype(np.float64))
        drawn = true + deviation * random.standard_normal(len(true))
        columns[name] = np.where(np.isnan(drawn), heard.column(name).to_numpy(), drawn)
    return changed(recording, RADIO, columns)
