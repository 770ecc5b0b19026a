"""Position errors of one drive as tidy rows: all cars, our own, the others."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import isnan

from headway.experiments.collision.positions import Estimates, Moment, errors, summarise
from headway.experiments.collision.setting import Setting
from headway.experiments.collision.slow_gps import with_slow_gps
from headway.experiments.collision.trial import run_trial, true_places
from headway.experiments.collision.unfused import unfused
from headway.experiments.collision.vehicles import THREE_NODES, application_on
from headway.experiments.quantiles import KEYS, Quantiles, quantiles
from headway.experiments.rows import number, sample, values, where, whole
from headway.experiments.study import Row
from headway.world.drive_recording import OWN_ID, DriveRecording


def error_rows(
    recording: DriveRecording, trial: int, label: str, estimates: Estimates
) -> list[Row]:
    """Means at every moment of comparison, and the quantiles at the moment a position is about."""
    places = partial(true_places, recording)
    own = estimates.id == OWN_ID
    rows: list[Row] = []
    for which, chosen in (("all", own | True), ("own", own), ("others", ~own)):
        mine = estimates.where(chosen)
        means = {
            moment.value: _known(summarise(errors(mine, places, moment)).mean) for moment in Moment
        }
        about = errors(mine, places, Moment.ABOUT)
        at = quantiles(about).at if len(about) else (None,) * len(KEYS)
        rows.append(
            {
                "trial": trial,
                "setting": label,
                "which": which,
                "count": len(about),
                **means,
                **dict(zip(KEYS, at, strict=True)),
            }
        )
    return rows


def _known(mean: float) -> float | None:
    return None if isnan(mean) else mean


def drift_row(recording: DriveRecording, trial: int, drift: int) -> Row:
    """Our own position only, without and with fusion, when the receiver's error drifts with a time
    constant (s)."""
    slow = with_slow_gps(recording, drift, trial)
    places = partial(true_places, slow)
    raw = unfused(slow, trial)
    fused = run_trial(application_on(THREE_NODES), slow, Setting(v2v=False)).estimates()
    means = {
        name: float(errors(one.where(one.id == OWN_ID), places, Moment.ABOUT).mean())
        for name, one in (("raw", raw), ("fused", fused))
    }
    return {"trial": trial, "drift": drift, **means}


def mean_error(rows: Sequence[Row], label: str, moment: str = "about", which: str = "all") -> float:
    """Metres, mean over the trials."""
    return sample(values(where(rows, setting=label, which=which), moment)).mean


def trials_quantiles(rows: Sequence[Row], label: str, which: str = "all") -> list[Quantiles]:
    """Of each trial in which anything was compared."""
    return [
        Quantiles(whole(row, "count"), tuple(number(row, key) for key in KEYS))
        for row in where(rows, setting=label, which=which)
        if row["count"]
    ]
