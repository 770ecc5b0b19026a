"""The same drive with a GPS whose error does not jump but drifts.

The world draws a receiver's error anew each cycle. A real one's stays for a while: here it is a
first-order Gauss-Markov process with the same standard deviation and a given time constant.
"""

from __future__ import annotations

from math import exp, sqrt

import numpy as np

from headway.experiments.collision.changed import changed, sensed_at
from headway.experiments.collision.positions import Metres
from headway.experiments.collision.trial import true_places
from headway.world.car_sensors import CYCLE, SensorModel
from headway.world.drive_recording import OWN_ID, DriveRecording

_DRIFT = 2_100
"""what sets these draws apart from the world's own"""


def with_slow_gps(recording: DriveRecording, seconds: float, trial: int) -> DriveRecording:
    """Our car's fixes only; V2V stays. ``seconds`` is the time constant, 0 for none."""
    sensed = sensed_at(recording, "gps")
    truth = true_places(recording, np.full(len(sensed), OWN_ID), sensed)
    random = np.random.default_rng([recording.traffic.seed, trial, _DRIFT])
    errors = _errors(len(sensed), seconds, random)
    return changed(recording, "gps", {"x": truth[0] + errors[0], "y": truth[1] + errors[1]})


def _errors(fixes: int, seconds: float, random: np.random.Generator) -> Metres:
    """East and north, metres."""
    stays = exp(-CYCLE / seconds) if seconds else 0.0
    drawn = random.standard_normal((2, fixes)) * SensorModel().gps
    errors = np.zeros((2, fixes))
    errors[:, 0] = drawn[:, 0]
    for cycle in range(1, fixes):
        errors[:, cycle] = stays * errors[:, cycle - 1] + sqrt(1 - stays**2) * drawn[:, cycle]
    return errors
