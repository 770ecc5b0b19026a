"""AEDSMS figure 21: position errors with and without fusion, and by policy.

*With fusion* is output3; *without* is what sensors and radio said, as if no car fused anything. The
paper does not print at which moment it compares: here at the moment a position is about, and, for
output3, at the moment it comes out, carried on with its velocity and as it stands.

How much fusion gains hangs on how long a receiver's error stays: a few drives are repeated with
errors of our own GPS that drift, without V2V.

Grid: trial, each with every setting; 8 trials x time constants of the drift.
"""

from __future__ import annotations

from collections.abc import Sequence

from headway.experiments.collision.cells import (
    PUBLISHED,
    S_EDF_RATE,
    SETTINGS,
    drive,
    driven,
    trials_of,
)
from headway.experiments.collision.error_pictures import error_boxes, error_table
from headway.experiments.collision.error_rows import drift_row, error_rows, mean_error
from headway.experiments.collision.positions import Moment
from headway.experiments.collision.setting import Setting
from headway.experiments.collision.unfused import unfused
from headway.experiments.findings import NO_REASON, Claim, Findings, beyond, stated
from headway.experiments.rows import same_scale, sample, values, where, whole
from headway.experiments.study import Cell, Paper, Row, Study

UNFUSED = "without fusion"
BEST = Setting(policy="s-edf", shed=S_EDF_RATE)
FIFO = Setting(policy="fifo+", shed=PUBLISHED["fifo+"])
SHOWN = (BEST.label, FIFO.label)
OTHERS = tuple(setting.label for setting in SETTINGS if setting.label not in SHOWN)
PUBLISHED_ERRORS = {BEST.label: 2.32, FIFO.label: 3.37, UNFUSED: 7.30}
"""metres"""
PUBLISHED_GAIN = PUBLISHED_ERRORS[UNFUSED] / PUBLISHED_ERRORS[BEST.label]
DRIFTS = (0, 1, 10)
"""seconds"""
DRIFTING, QUICK_DRIFTING = 8, 1
WHITE_NOISE = (
    "the noise here is drawn anew each cycle and every car drives straight on, as the filter "
    "assumes, so type 1 alone averages most of it away"
)
ASSUMED = "the papers print no figures of their sensors; those assumed here err by"


def cells(quick: bool) -> list[Cell]:
    few = range(QUICK_DRIFTING if quick else DRIFTING)
    return [
        *({"trial": trial} for trial in trials_of(quick)),
        *({"trial": trial, "drift": drift} for trial in few for drift in DRIFTS),
    ]


def run(cell: Cell) -> list[Row]:
    trial = whole(cell, "trial")
    if "drift" in cell:
        return [drift_row(drive(trial), trial, whole(cell, "drift"))]
    recording = drive(trial)
    rows = error_rows(recording, trial, UNFUSED, unfused(recording, trial))
    for setting in SETTINGS:
        estimates = driven(trial, setting).estimates()
        rows += error_rows(recording, trial, setting.label, estimates)
    return rows


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(
        claims=(_gain(rows), _policies(rows), _metres(rows), *_out(rows), _drifts(rows)),
        pictures=(
            error_boxes(rows, "Figure 21: position error of all cars", (*SHOWN, UNFUSED)),
            error_boxes(rows, "The same for every setting with fusion", (*SHOWN, *OTHERS)),
            error_table(rows, (UNFUSED, *SHOWN, *OTHERS)),
        ),
    )


def _gain(rows: Sequence[Row]) -> Claim:
    ours, raw = mean_error(rows, BEST.label), mean_error(rows, UNFUSED)
    return stated(
        "figure 21",
        f"fusion cuts the mean error from 7.30 m to 2.32 m, {PUBLISHED_GAIN:.1f} times",
        f"from {raw:.2f} m to {ours:.2f} m, {raw / ours:.1f} times",
        holds=same_scale(raw / ours, PUBLISHED_GAIN),
        why=_why_more(rows) if raw / ours > PUBLISHED_GAIN else NO_REASON,
    )


def _why_more(rows: Sequence[Row]) -> str:
    """That noise is drawn anew, if the gain of a receiver whose error stays is the published one or
    less."""
    gains = {drift: _own(rows, drift, "raw") / _own(rows, drift, "fused") for drift in DRIFTS}
    shortest = next((drift for drift in DRIFTS if gains[drift] <= PUBLISHED_GAIN), 0)
    if not shortest:
        return NO_REASON
    return (
        f"{WHITE_NOISE}; when the receiver's error stays for {shortest} s fusion gains "
        f"{gains[shortest]:.1f} times for our own position, less than published"
    )


def _policies(rows: Sequence[Row]) -> Claim:
    ours, fifo = mean_error(rows, BEST.label), mean_error(rows, FIFO.label)
    less = 1 - PUBLISHED_ERRORS[BEST.label] / PUBLISHED_ERRORS[FIFO.label]
    return stated(
        "figure 21",
        f"EDF's error is {100 * less:.0f} % smaller than FIFO's",
        f"{1 - ours / fifo:.0%} smaller: {ours:.3f} m ({BEST.label}), {fifo:.3f} m ({FIFO.label})",
        holds=same_scale(1 - ours / fifo, less),
    )


def _metres(rows: Sequence[Row]) -> Claim:
    found = {label: mean_error(rows, label) for label in PUBLISHED_ERRORS}
    return stated(
        "figure 21",
        "the errors themselves: 2.32 m with EDF, 3.37 m with FIFO, 7.30 m without fusion",
        ", ".join(f"{metres:.2f} m ({label})" for label, metres in found.items()),
        holds=all(same_scale(found[label], PUBLISHED_ERRORS[label]) for label in found),
        why=_why_fewer_metres(rows),
    )


def _why_fewer_metres(rows: Sequence[Row]) -> str:
    """What the receiver does to both: how large its error is, and how long it stays."""
    raw, wanted = mean_error(rows, UNFUSED), PUBLISHED_ERRORS[BEST.label]
    metres = {drift: _own(rows, drift, "fused") for drift in DRIFTS}
    near = next((drift for drift in DRIFTS if same_scale(metres[drift], wanted)), 0)
    if raw >= PUBLISHED_ERRORS[UNFUSED] or not near or metres[0] >= metres[near]:
        return NO_REASON
    return (
        f"{ASSUMED} {raw:.2f} m without fusion, anew each cycle; with a receiver's error that "
        f"stays for {near} s our own position after fusion is off by {metres[near]:.2f} m instead "
        f"of {metres[0]:.2f} m"
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


def _own(rows: Sequence[Row], drift: int, key: str) -> float:
    """Metres of our own position, without V2V, when the receiver's error stays so long."""
    return sample(values(where(rows, drift=drift), key)).mean


def _drifts(rows: Sequence[Row]) -> Claim:
    told = []
    for drift in DRIFTS:
        gain = _own(rows, drift, "raw") / _own(rows, drift, "fused")
        told.append(f"{gain:.1f} times {f'at {drift} s' if drift else 'drawn anew each cycle'}")
    return beyond(
        "figure 21",
        "how much fusion gains for our own position when the receiver's error drifts with a time "
        "constant",
        ", ".join(told),
    )


STUDY = Study(
    name="position-error",
    paper=Paper.AEDSMS,
    figures=("figure 21",),
    title="Position errors with and without fusion",
    seconds=185,
    cells=cells,
    run=run,
    analyse=analyse,
    seed=1,
)
