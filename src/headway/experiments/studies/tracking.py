"""AEDSMS figure 20: one other car as output3 tells of it, with its confidence, EDF against FIFO.

The paper follows "vehicle# in Fig. 11", which cannot be read from its text. Here it is the car that
most V2V tuples of the drive tell of: the paper's reason is that EDF fuses more of them.

*Confidence* is the radius of the circle, half of the symmetric 95 % interval (1.96 σ). Whether the
truth is inside is asked too, and again with reports whose errors are drawn anew each time.

Grid: trial, each with every setting. Trial 0 also keeps two stretches of the track for the maps.
"""

from __future__ import annotations

from collections.abc import Sequence

from headway.experiments.collision.cells import PUBLISHED, S_EDF_RATE, drive, driven
from headway.experiments.collision.fresh_reports import with_fresh_reports
from headway.experiments.collision.setting import Setting
from headway.experiments.collision.track_pictures import over_time, stretch_map
from headway.experiments.collision.track_rows import (
    STRETCH,
    place_rows,
    second_rows,
    summary_row,
)
from headway.experiments.collision.tracked import most_told, nearest, tracked
from headway.experiments.collision.trial import run_trial
from headway.experiments.collision.vehicles import THREE_NODES, application_on
from headway.experiments.findings import NO_REASON, Claim, Findings, Grid, beyond, stated
from headway.experiments.rows import number, sample, values, where, whole
from headway.experiments.study import Cell, Paper, Row, Study

TRIALS, QUICK_TRIALS = 20, 2
BEST = Setting(policy="s-edf", shed=S_EDF_RATE)
FIFO = Setting(policy="fifo+", shed=PUBLISHED["fifo+"])
SAME_RATE = Setting(policy="s-edf", shed=PUBLISHED["fifo+"])
SETTINGS = (BEST, FIFO, SAME_RATE)
FRESH = f"{BEST.label}, errors drawn anew"
SHOWN = (BEST.label, FIFO.label)
DRAWN = 0
"""the trial whose track is kept for the maps"""
REPEATS = (
    "reports of one sender err alike from cycle to cycle, so that more of them make a filter surer "
    "but not more right"
)


def cells(quick: bool) -> list[Cell]:
    return [{"trial": trial} for trial in range(QUICK_TRIALS if quick else TRIALS)]


def run(cell: Cell) -> list[Row]:
    trial = whole(cell, "trial")
    recording = drive(trial)
    car = most_told(recording)
    known: Row = {"trial": trial, "car": car}
    tracks = {setting.label: tracked(driven(trial, setting), car) for setting in SETTINGS}
    fresh = run_trial(application_on(THREE_NODES), with_fresh_reports(recording, trial), BEST)
    rows = [
        summary_row(known, label, one)
        for label, one in {**tracks, FRESH: tracked(fresh, car)}.items()
    ]
    for label in SHOWN:
        rows += second_rows(known, label, tracks[label])
    if trial == DRAWN:
        about = tracks[BEST.label].about
        passing = nearest(recording, car, about)
        for label in SHOWN:
            rows += place_rows(known, label, tracks[label], "first", int(about[0]))
            rows += place_rows(known, label, tracks[label], "passing", passing - STRETCH // 2)
    return rows


def analyse(rows: Sequence[Row]) -> Findings:
    trials = where(rows, part="trial")
    return Findings(
        claims=(
            _better(trials, "error", "positional accuracy", "mean error", _why_less_right(trials)),
            _better(trials, "radius", "confidence", "mean radius of the 95 % circle"),
            _same_rate(trials),
            _calibrated(trials),
        ),
        pictures=(
            stretch_map(rows, "first", SHOWN),
            stretch_map(rows, "passing", SHOWN),
            over_time(rows, SHOWN),
            _table(trials),
        ),
    )


def _mean(trials: Sequence[Row], label: str, key: str) -> float:
    return sample(values(where(trials, setting=label), key)).mean


def _better(
    trials: Sequence[Row], key: str, what: str, measure: str, why: str = NO_REASON
) -> Claim:
    ours, theirs = (values(where(trials, setting=label), key) for label in SHOWN)
    less = sum(one < other for one, other in zip(ours, theirs, strict=True))
    best, fifo = sample(ours).mean, sample(theirs).mean
    return stated(
        "figure 20",
        f"EDF improves the {what} of vehicle# compared with FIFO",
        f"{measure} {best:.2f} m ({BEST.label}), {fifo:.2f} m ({FIFO.label}); smaller in {less} of "
        f"{len(ours)} trials",
        holds=best < fifo,
        why=why,
    )


def _why_less_right(trials: Sequence[Row]) -> str:
    """Told only if the filter is surer than with FIFO and, with errors that do not repeat, right
    about it more often."""
    surer = _mean(trials, BEST.label, "radius") < _mean(trials, FIFO.label, "radius")
    repeated, fresh = (_mean(trials, label, "inside_axes") for label in (BEST.label, FRESH))
    if not surer or repeated >= fresh:
        return NO_REASON
    return f"{REPEATS}: {repeated:.0%} of the truth inside an interval, {fresh:.0%} if they do not"


def _same_rate(trials: Sequence[Row]) -> Claim:
    (error, radius), (fifo, fifo_radius) = (
        [_mean(trials, one.label, key) for key in ("error", "radius")] for one in (SAME_RATE, FIFO)
    )
    return beyond(
        "figure 20",
        "is it the order of execution, or that EDF lets more tuples in?",
        f"at the same {FIFO.shed}/s: error {error:.2f} m and radius {radius:.2f} m with EDF, "
        f"{fifo:.2f} m and {fifo_radius:.2f} m with FIFO",
    )


def _calibrated(trials: Sequence[Row]) -> Claim:
    told = [
        f"{_mean(trials, label, 'inside'):.0%} and {_mean(trials, label, 'inside_axes'):.0%} "
        f"({label})"
        for label in (*SHOWN, FRESH)
    ]
    return beyond(
        "figure 20",
        "how often the truth is inside the circle, whose radius is 1.96 of the larger σ (if the "
        "filter's variances were exact: between 85 %, both σ alike, and 95 %, one of them 0) and "
        "inside the interval of an axis (95 %); the last with reports whose senders do not repeat "
        "their errors from cycle to cycle, as the filter believes",
        ", ".join(told),
    )


def _table(trials: Sequence[Row]) -> Grid:
    headers = ("Setting", "Positions", "Error (m)", "Radius (m)", "In the circle", "In an interval")
    return Grid(
        title=f"The car most told of, mean over {len(where(trials, setting=FRESH))} trials",
        headers=headers,
        rows=tuple(
            (
                label,
                f"{_mean(trials, label, 'count'):.0f}",
                _spread(trials, label, "error"),
                _spread(trials, label, "radius"),
                f"{_mean(trials, label, 'inside'):.0%}",
                f"{_mean(trials, label, 'inside_axes'):.0%}",
            )
            for label in (*(setting.label for setting in SETTINGS), FRESH)
        ),
    )


def _spread(trials: Sequence[Row], label: str, key: str) -> str:
    found = sample([number(row, key) for row in where(trials, setting=label)])
    return f"{found.mean:.3f} ± {found.deviation:.3f}".replace(" ", "\N{NO-BREAK SPACE}")


STUDY = Study(
    name="tracking",
    paper=Paper.AEDSMS,
    figures=("figure 20",),
    title="Tracking one car with its confidence",
    seconds=35,
    cells=cells,
    run=run,
    analyse=analyse,
    seed=1,
)
