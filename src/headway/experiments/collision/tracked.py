"""One other car as output3 tells of it: where, how surely, and where it was (AEDSMS figure 20).

output3 carries the variances of x and y. Their covariance is not needed: the measurements of type 2
fusion have none, so its filter's is 0, and the larger variance is the larger eigenvalue.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from headway.experiments.collision.application import RADIO
from headway.experiments.collision.positions import Metres, Times
from headway.experiments.collision.trial import Trial, true_places
from headway.fusion.state import NORMAL_95
from headway.world.drive_recording import OWN_ID, DriveRecording


@dataclass(frozen=True, slots=True, eq=False)
class Tracked:
    """Told positions of a car in the order of the moments they are about (µs from the begin)."""

    about: Times
    x: Metres
    y: Metres
    true_x: Metres
    true_y: Metres
    half_x: Metres
    """of the symmetric 95 % interval of x (1.96 σ)"""
    half_y: Metres

    @property
    def error(self) -> Metres:
        """The distance from the truth."""
        distance: Metres = np.hypot(self.x - self.true_x, self.y - self.true_y)
        return distance

    @property
    def radius(self) -> Metres:
        """Of the circle: the half-width of the interval along the axis that is known less well."""
        return np.maximum(self.half_x, self.half_y)

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Whether the truth is in the circle. Of a normal law it holds 85 % (both σ alike) to
        95 % (one of them 0); the interval of each axis holds 95 %."""
        return self.error <= self.radius

    @property
    def inside_axes(self) -> Metres:
        """How many of the two axes' intervals hold the truth, as a share."""
        within_x = np.abs(self.x - self.true_x) <= self.half_x
        within_y = np.abs(self.y - self.true_y) <= self.half_y
        return (within_x.astype(np.float64) + within_y) / 2

    def where(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> Tracked:
        """Those that are chosen, or in the order of these places."""
        return Tracked(*(getattr(self, field.name)[chosen] for field in fields(self)))


def most_told(recording: DriveRecording) -> int:
    """The other car that most V2V tuples tell of; of several the one with the least id."""
    ids, counts = np.unique(recording.streams[RADIO].column("id").to_numpy(), return_counts=True)
    others = ids != OWN_ID
    return int(ids[others][counts[others].argmax()])


def tracked(trial: Trial, car: int) -> Tracked:
    """What output3 told of a car."""
    columns = trial.columns("output3")
    mine = columns["id"] == car
    about = columns["at"][mine].astype(np.int64)
    x, y = true_places(trial.recording, np.full(len(about), car), about)
    found = Tracked(
        about, columns["x"][mine], columns["y"][mine], x, y,
        NORMAL_95 * np.sqrt(columns["var_x"][mine]), NORMAL_95 * np.sqrt(columns["var_y"][mine]),
    )  # fmt: skip
    return found.where(np.argsort(about, kind="stable"))


def nearest(recording: DriveRecording, car: int, about: Times) -> int:
    """At which of these times the car was nearest to ours."""
    x, y = true_places(recording, np.full(len(about), car), about)
    own_x, own_y = true_places(recording, np.full(len(about), OWN_ID), about)
    return int(about[np.hypot(x - own_x, y - own_y).argmin()])
