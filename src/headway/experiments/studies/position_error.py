"""AEDSMS figures 20 and 21: position errors with and without fusion, and by policy.

*With fusion* is output3; *without* is what sensors and radio said, as if no car fused anything. The
paper does not print at which moment it compares: here at the moment a position is about, and, for
output3, at the moment it comes out, carried on with its velocity and as it stands.

How much fusion gains hangs on how long a receiver's error stays: a few drives are repeated with
errors of our own GPS that drift, without V2V.

Grid: trial, each with every setting; 8 trials x time constants of the drift.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import isnan

from headway.experiments.collision.cells import (
    PUBLISHED,
    S_EDF_RATE,
    SETTINGS,
    drive,
    driven,
    trials_of,
)
from headway.experiments.collision.positions import Estimates, Moment, errors, summarise
from headway.experiments.collision.setting import Setting
from headway.experiments.collision.slow_gps import with_slow_gps
from headway.experiments.collision.trial import run_trial, true_places
from headway.experiments.collision.unfused import unfused
from headway.experiments.collision.vehicles import THREE_NODES, application_on
from headway.experiments.findings import (
    BarChart,
    Claim,
    Findings,
    Grid,
    beyond,
    stated,
)
from headway.experiments.rows import sample, values, where, whole
from headway.experiments.study import Cell, Paper, Row, Study
from headway.world.recording import OWN_ID, DriveRecording

UNFUSED = "without fusion"
BEST = Setting(policy="s-edf", shed=S_EDF_RATE)
FIFO = Setting(policy="fifo+", shed=PUBLISHED["fifo+"])
PUBLISHED_ERRORS = {BEST.label: 2.32, FIFO.label: 3.37, UNFUSED: 7.30}
"""metres"""
DRIFTS = (0, 1, 10)
"""seconds"""
DRIFTING, QUICK_DRIFTING = 8, 1
WHITE_NOISE = (
    "the noise here is drawn anew each cycle and every car drives straight on, as the filter "
    "assumes, so type 1 alone averages most of it away; when the receiver's error stays for a "
    "second or more the gain is smaller than the published one (last line)"
)


def cells(quick: bool) -> list[Cell]:
    few = range(QUICK_DRIFTING if quick else DRIFTING)
    return [
        *({"trial": trial} for trial in trials_of(quick)),
        *({"trial": trial, "drift": drift} for trial in few for drift in DRIFTS),
    ]


def run(cell: Cell) -> list[Row]:
    trial = whole(cell, "trial")
    if "drift" in cell:
        return [_drifting(trial, whole(cell, "drift"))]
    recording = drive(trial)
    rows = _rows(recording, trial, UNFUSED, unfused(recording, trial))
    for setting in SETTINGS:
        estimates = driven(trial, setting).estimates()
        rows += _rows(recording, trial, setting.label, estimates)
    return rows


def _rows(recording: DriveRecording, trial: int, label: str, estimates: Estimates) -> list[Row]:
    places = partial(true_places, recording)
    own = estimates.id == OWN_ID
    rows: list[Row] = []
    for which, chosen in (("all", own | True), ("own", own), ("others", ~own)):
        mine = estimates.where(chosen)
        found = {moment: summarise(errors(mine, places, moment)) for moment in Moment}
        means = {
            moment.value: None if isnan(one.mean) else one.mean for moment, one in found.items()
        }
        about = found[Moment.ABOUT]
        rows.append(
            {
                "trial": trial,
                "setting": label,
                "which": which,
                "count": about.count,
                **means,
                "median": None if isnan(about.median) else about.median,
                "high": None if isnan(about.high) else about.high,
            }
        )
    return rows


def _drifting(trial: int, drift: int) -> Row:
    """Our own position only, without and with fusion."""
    recording = with_slow_gps(drive(trial), drift, trial)
    places = partial(true_places, recording)
    raw = unfused(recording, trial)
    fused = run_trial(application_on(THREE_NODES), recording, Setting(v2v=False)).estimates()
    means = {
        name: float(errors(one.where(one.id == OWN_ID), places, Moment.ABOUT).mean())
        for name, one in (("raw", raw), ("fused", fused))
    }
    return {"trial": trial, "drift": drift, **means}


def mean_error(rows: Sequence[Row], label: str, moment: str = "about", which: str = "all") -> float:
    """Metres, mean over the trials."""
    return sample(values(where(rows, setting=label, which=which), moment)).mean


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(
        claims=(_gain(rows), _policies(rows), *_out(rows), _drifts(rows)),
        pictures=(_bars(rows), _table(rows)),
    )


def _gain(rows: Sequence[Row]) -> Claim:
    ours, raw = mean_error(rows, BEST.label), mean_error(rows, UNFUSED)
    published = PUBLISHED_ERRORS[UNFUSED] / PUBLISHED_ERRORS[BEST.label]
    return stated(
        "figure 21",
        f"fusion cuts the mean error from 7.30 m to 2.32 m, {published:.1f} times",
        f"from {raw:.2f} m to {ours:.2f} m, {raw / ours:.1f} times",
        holds=published / 2 <= raw / ours <= published * 2,
        why=WHITE_NOISE,
    )


def _policies(rows: Sequence[Row]) -> Claim:
    ours, fifo = mean_error(rows, BEST.label), mean_error(rows, FIFO.label)
    return stated(
        "figure 21",
        "2.32 m with EDF, 3.37 m with FIFO: EDF's error is 31 % smaller",
        f"{ours:.3f} m ({BEST.label}), {fifo:.3f} m ({FIFO.label}): {1 - ours / fifo:.0%} smaller",
        holds=ours < fifo,
    )


def _out(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for moment, words in (
        (Moment.CARRIED, "carried on to the moment it comes out"),
        (Moment.OUT, "at the moment it comes out, as it stands"),
    ):
        ours, fifo = (mean_error(rows, one.label, moment.value) for one in (BEST, FIFO))
        claims.append(
            beyond(
                "figure 21",
                f"the error of a position {words}",
                f"{ours:.2f} m ({BEST.label}), {fifo:.2f} m ({FIFO.label})",
            )
        )
    return claims


def _drifts(rows: Sequence[Row]) -> Claim:
    told = []
    for drift in DRIFTS:
        mine = where(rows, drift=drift)
        gain = sample(values(mine, "raw")).mean / sample(values(mine, "fused")).mean
        told.append(f"{gain:.1f} times {f'at {drift} s' if drift else 'drawn anew each cycle'}")
    return beyond(
        "figure 21",
        "how much fusion gains for our own position when the receiver's error drifts with a time "
        "constant",
        ", ".join(told),
    )


def _labels() -> list[str]:
    return [UNFUSED, *(setting.label for setting in SETTINGS)]


def _bars(rows: Sequence[Row]) -> BarChart:
    kinds = ("all", "own", "others")
    return BarChart(
        title="Figure 21: mean position error",
        y="metres",
        groups=tuple(_labels()),
        bars=kinds,
        values=tuple(
            tuple(mean_error(rows, label, which=which) for which in kinds) for label in _labels()
        ),
        note="At the moment a position is about; mean over the trials.",
    )


def _table(rows: Sequence[Row]) -> Grid:
    def cell(label: str, moment: Moment) -> str:
        known = values(where(rows, setting=label, which="all"), moment.value)
        return f"{sample(known).mean:.3f}" if known else "–"

    return Grid(
        title="Mean position error in metres",
        headers=("Setting", "about", "when out, carried on", "when out, as it stands"),
        rows=tuple(
            (
                label,
                cell(label, Moment.ABOUT),
                cell(label, Moment.CARRIED),
                cell(label, Moment.OUT),
            )
            for label in _labels()
        ),
    )


STUDY = Study(
    name="position-error",
    paper=Paper.AEDSMS,
    figures=("figure 21",),
    title="Position errors with and without fusion",
    seconds=700,
    cells=cells,
    run=run,
    analyse=analyse,
    seed=1,
)
