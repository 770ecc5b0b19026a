"""AEDSMS figure 20: one other car as output3 tells of it, with its confidence, EDF against FIFO.

The paper follows "vehicle# in Fig. 11", which cannot be read from its text. Here it is the car that
most V2V tuples of the drive tell of: the paper's reason is that EDF fuses more of them.

*Confidence* is the radius of the circle, half of the symmetric 95 % interval (1.96 σ). Whether the
truth is inside is asked too, and again with reports whose errors are drawn anew each time.

Grid: trial, each with every setting. Trial 0 also keeps two stretches of the track for the maps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from headway.drive.collision_warning import RADIO, Setting
from headway.drive.trial import US_PER_S, Metres, Times, Trial, run_trial, true_places
from headway.fusion.state import NORMAL_95
from headway.report.charts import LineChart, Point, Series
from headway.world.drive_recording import OWN_ID, DriveRecording
from headway_studies.aedsms.collision_drives import (
    AS_PRINTED,
    FIFO,
    IN_ITEMS,
    OUR_DRIVES,
    SAME_RATE,
    THREE_NODES,
    application_on,
    came_of,
    drive,
    driven,
    sensed_at,
    with_columns,
)
from headway_studies.row_reading import distinct, number, sample, values, where, whole
from headway_studies.study import (
    NO_REASON,
    Cell,
    Claim,
    Findings,
    Paper,
    Row,
    Study,
    beyond,
    stated,
)
from headway_studies.study_charts import Grid, MapPlace, Track, TrackMap

# ----------------------------------------------------------------
# The same drive with V2V reports whose errors do not repeat.
#
# What a car reports holds the error of its own fused position, which stays for many cycles. A
# receiver's filter takes each report for a new draw. Here it is one: a normal error of the variance
# that the report tells.


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
    return with_columns(recording, RADIO, columns)


# ----------------------------------------------------------------
# One other car as output3 tells of it: where, how surely, and where it was (AEDSMS figure 20).
#
# output3 carries the variances of x and y. Their covariance is not needed: the measurements of type
# 2 fusion have none, so its filter's is 0, and the larger variance is the larger eigenvalue.


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


# ----------------------------------------------------------------
# One tracked car as tidy rows: the whole trial, its seconds, and places for a map.


STRETCH = 700_000
"""microseconds: 12 m at 60 km/h, so that errors of some 0.1 m are seen on a map of it"""


def summary_row(known: Row, label: str, one: Tracked) -> Row:
    """Means over all positions told; ``known`` is what all rows of the trial say."""
    return {
        **known,
        "part": "trial",
        "setting": label,
        "count": len(one.about),
        "error": float(one.error.mean()),
        "radius": float(one.radius.mean()),
        "inside": float(one.inside.mean()),
        "inside_axes": float(one.inside_axes.mean()),
    }


def second_rows(known: Row, label: str, one: Tracked) -> list[Row]:
    """Means over each second of the drive."""
    second = one.about // US_PER_S
    return [
        {
            **known,
            "part": "second",
            "setting": label,
            "second": int(which),
            "error": float(one.error[second == which].mean()),
            "radius": float(one.radius[second == which].mean()),
        }
        for which in np.unique(second)
    ]


def place_rows(known: Row, label: str, one: Tracked, stretch: str, start: int) -> list[Row]:
    """Every position about a moment of the stretch that starts there (µs from the begin)."""
    mine = one.where((one.about >= start) & (one.about < start + STRETCH))
    columns = {
        name: getattr(mine, name).tolist()
        for name in ("about", "x", "y", "radius", "true_x", "true_y")
    }
    return [
        {**known, "part": "place", "setting": label, "stretch": stretch}
        | dict(zip(columns, told, strict=True))
        for told in zip(*columns.values(), strict=True)
    ]


# ----------------------------------------------------------------
# Tracking one car as pictures: stretches of its way as a map (figure 20), and the whole trial.


STRETCHES = {"first": "from the first it is heard of", "passing": "where it passes us"}
MEANT = "where it was"


def stretch_map(rows: Sequence[Row], stretch: str, labels: Sequence[str]) -> TrackMap:
    """A line leads from each place told to the one at that moment."""
    mine = where(rows, part="place", stretch=stretch)
    tracks = [
        Track(name=label, places=tuple(_place(row) for row in where(mine, setting=label)))
        for label in labels
    ]
    passed = sorted(mine, key=lambda row: number(row, "about"))
    truth = Track(
        name=MEANT,
        places=tuple(MapPlace(x=number(row, "true_x"), y=number(row, "true_y")) for row in passed),
        true=True,
    )
    return TrackMap(
        title=f"Figure 20: tracking one car in a trial, {STRETCHES[stretch]}",
        x="metres east",
        y="metres north",
        tracks=(*tracks, truth),
        note=f"Car {_car(mine)}, of which most V2V tuples tell, in {STRETCH / US_PER_S:g} s of "
        f"trial {whole(mine[0], 'trial')}; the paper does not print which car it followed. "
        "Circles: the symmetric 95 % interval (1.96 σ) that output3 tells; short lines lead to "
        "where the car was at that moment.",
    )


def _place(row: Row) -> MapPlace:
    return MapPlace(
        x=number(row, "x"),
        y=number(row, "y"),
        radius=number(row, "radius"),
        truth=(number(row, "true_x"), number(row, "true_y")),
    )


def over_time(rows: Sequence[Row], labels: Sequence[str]) -> LineChart:
    """Every second of the drive in which output3 told of the car under each setting."""
    seconds = where(rows, part="second")
    return LineChart(
        title="The same car over the whole drive",
        x="seconds of the drive",
        y="metres",
        series=tuple(
            Series(name=f"{words}, {label}", points=_points(where(seconds, setting=label), key))
            for key, words in (("error", "error"), ("radius", "radius of the circle"))
            for label in labels
        ),
        note=f"Car {_car(seconds)}; mean over the positions of a second, then over "
        f"{len(distinct(seconds, 'trial'))} trials.",
    )


def _points(rows: Sequence[Row], key: str) -> tuple[Point, ...]:
    return tuple(
        Point(x=second, y=sample(values(where(rows, second=second), key)).mean)
        for second in sorted({whole(row, "second") for row in rows})
    )


def _car(rows: Sequence[Row]) -> str:
    return " or ".join(str(car) for car in distinct(rows, "car"))


TRIALS, QUICK_TRIALS = 20, 2
EDF = (AS_PRINTED, IN_ITEMS)
SETTINGS = (*EDF, FIFO, SAME_RATE)
FRESH = f"{AS_PRINTED.label}, errors drawn anew"
SHOWN = (AS_PRINTED.label, FIFO.label)
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
    fresh = run_trial(application_on(THREE_NODES), with_fresh_reports(recording, trial), AS_PRINTED)
    rows = [
        summary_row(known, label, one)
        for label, one in {**tracks, FRESH: tracked(fresh, car)}.items()
    ]
    for label in SHOWN:
        rows += second_rows(known, label, tracks[label])
    if trial == DRAWN:
        about = tracks[AS_PRINTED.label].about
        passing = nearest(recording, car, about)
        for label in SHOWN:
            rows += place_rows(known, label, tracks[label], "first", int(about[0]))
            rows += place_rows(known, label, tracks[label], "passing", passing - STRETCH // 2)
    return rows


def analyse(rows: Sequence[Row]) -> Findings:
    trials = where(rows, part="trial")
    return Findings(
        claims=(
            *(
                claim
                for ours in EDF
                for claim in (
                    _better(trials, ours, "error", "positional accuracy", "mean error"),
                    _better(trials, ours, "radius", "confidence", "mean radius of the 95 % circle"),
                )
            ),
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


def _better(trials: Sequence[Row], setting: Setting, key: str, what: str, measure: str) -> Claim:
    pair = (setting.label, FIFO.label)
    ours, theirs = (values(where(trials, setting=label), key) for label in pair)
    less = sum(one < other for one, other in zip(ours, theirs, strict=True))
    best, fifo = sample(ours).mean, sample(theirs).mean
    return stated(
        "figure 20",
        f"EDF improves the {what} of vehicle# compared with FIFO",
        f"{measure} {best:.2f} m ({setting.label}), {fifo:.2f} m ({FIFO.label}); smaller in {less} "
        f"of {len(ours)} trials",
        came=came_of(setting),
        holds=best < fifo,
        why=_why_less_right(trials, setting) if key == "error" else NO_REASON,
    )


def _why_less_right(trials: Sequence[Row], setting: Setting) -> str:
    """Told only if the filter is surer than with FIFO and, with errors that do not repeat, right
    about it more often."""
    surer = _mean(trials, setting.label, "radius") < _mean(trials, FIFO.label, "radius")
    repeated, fresh = (_mean(trials, label, "inside_axes") for label in (setting.label, FRESH))
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
        came=OUR_DRIVES,
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
        came=OUR_DRIVES,
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
    seconds=45,
    cells=cells,
    run=run,
    analyse=analyse,
    seed=1,
)
