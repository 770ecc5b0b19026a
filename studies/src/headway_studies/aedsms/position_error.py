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
from dataclasses import dataclass
from functools import partial
from math import exp, isnan, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.drive.collision_warning import Setting
from headway.drive.trial import (
    Estimates,
    Ids,
    Metres,
    Moment,
    errors,
    run_trial,
    summarise,
    true_places,
)
from headway.world.car_sensors import CYCLE, CYCLE_MS, SensorModel, phases, read_own
from headway.world.drive_recording import OWN_ID, DriveRecording
from headway_studies.aedsms.collision_drives import (
    AS_PRINTED,
    FIFO,
    IN_ITEMS,
    OUR_DRIVES,
    SETTINGS,
    SILENT,
    THREE_NODES,
    application_on,
    came_of,
    drive,
    driven,
    sensed_at,
    trials_of,
    with_columns,
)
from headway_studies.row_reading import number, same_scale, sample, values, where, whole
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
from headway_studies.study_charts import Box, BoxPlot, Grid

# ----------------------------------------------------------------
# Large samples as a few quantiles, and the quantiles of several such samples taken together.
#
# A study keeps the quantiles of a trial in its rows, not thousands of values. Between two of them a
# sample is taken to be spread evenly.


SHARES = (0, 1, 2, *range(5, 100, 5), 98, 99, 100)
"""percent: finer where a sample thins out"""
KEYS = tuple(f"q{share:03d}" for share in SHARES)
"""their names in rows"""


@dataclass(frozen=True)
class Quantiles:
    """Of ``count`` values, one for each of :data:`SHARES`, none less than the one before."""

    count: int
    at: tuple[float, ...]


def quantiles(found: NDArray[np.float64]) -> Quantiles:
    """Of at least one value."""
    return Quantiles(len(found), tuple(np.percentile(found, SHARES).tolist()))


def pooled(samples: Sequence[Quantiles], percent: float) -> float:
    """A quantile of all values together: where the mean of the samples' distributions, each
    weighted with its count, reaches the share."""
    points = np.unique([value for sample in samples for value in sample.at])
    below = sum(
        (sample.count * np.interp(points, sample.at, SHARES) for sample in samples),
        start=np.zeros(len(points)),
    ) / sum(sample.count for sample in samples)
    return float(np.interp(percent, below, points))


# ----------------------------------------------------------------
# The same drive with a GPS whose error does not jump but drifts.
#
# The world draws a receiver's error anew each cycle. A real one's stays for a while: here it is a
# first-order Gauss-Markov process with the same standard deviation and a given time constant.


_DRIFT = 2_100
"""what sets these draws apart from the world's own"""


def with_slow_gps(
    recording: DriveRecording, seconds: float, trial: int, deviation: float = SensorModel().gps
) -> DriveRecording:
    """Our car's fixes only; V2V stays. ``seconds`` is the time constant, 0 for none;
    ``deviation`` (m) that of a fix on each axis."""
    sensed = sensed_at(recording, "gps")
    truth = true_places(recording, np.full(len(sensed), OWN_ID), sensed)
    random = np.random.default_rng([recording.traffic.seed, trial, _DRIFT])
    errors = _errors(len(sensed), seconds, random, deviation)
    return with_columns(recording, "gps", {"x": truth[0] + errors[0], "y": truth[1] + errors[1]})


def _errors(fixes: int, seconds: float, random: np.random.Generator, deviation: float) -> Metres:
    """East and north, metres."""
    stays = exp(-CYCLE / seconds) if seconds else 0.0
    drawn = random.standard_normal((2, fixes)) * deviation
    errors = np.zeros((2, fixes))
    errors[:, 0] = drawn[:, 0]
    for cycle in range(1, fixes):
        errors[:, cycle] = stays * errors[:, cycle - 1] + sqrt(1 - stays**2) * drawn[:, cycle]
    return errors


# ----------------------------------------------------------------
# What our car would know without any fusion, in our car or in others.
#
# Our own position is the GPS fix. What the radar sees is added to the fix of its cycle. What comes
# by V2V is what a sender without fusion would have sent: its tuples hold its fused position (or
# that plus what its radar saw), so they are moved by the difference between its fix and that
# position. All tuples count, before the load shedder.


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


# ----------------------------------------------------------------
# Position errors of one drive as tidy rows: all cars, our own, the others.


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
                "age_ms": _known(_mean_age(mine)),
                **means,
                **dict(zip(KEYS, at, strict=True)),
            }
        )
    return rows


def _mean_age(estimates: Estimates) -> float:
    """Milliseconds from the moment a position is about to the one at which it comes out."""
    ages = estimates.produced - estimates.about
    return float(ages.mean()) / _US_PER_MS if len(ages) else float("nan")


def _known(mean: float) -> float | None:
    return None if isnan(mean) else mean


def drift_row(recording: DriveRecording, trial: int, drift: int) -> Row:
    """Our own position only, without and with fusion, when the receiver's error drifts with a time
    constant (s)."""
    slow = with_slow_gps(recording, drift, trial)
    places = partial(true_places, slow)
    raw = unfused(slow, trial)
    fused = run_trial(application_on(THREE_NODES), slow, SILENT).estimates()
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


# ----------------------------------------------------------------
# Position errors as pictures: the boxes of figure 21, and a table of means.


HOW = (
    "Distances from the truth at the moment a position is about, all cars and trials together: box "
    f"from quartile to quartile, whiskers from 5 % to 95 %. Each trial keeps {len(SHARES)} "
    "of its quantiles; together they are those of the trials' distributions, weighted with how "
    "many positions each compared."
)


def pooled_box(name: str, trials: Sequence[Quantiles]) -> Box:
    """Whiskers at 5 % and 95 %: among thousands of positions the extremes say little."""
    least, lower, median, upper, greatest = (
        pooled(trials, percent) for percent in (5, 25, 50, 75, 95)
    )
    return Box(
        name=name, least=least, lower=lower, median=median, upper=upper, greatest=greatest
    )  # fmt: skip


def error_boxes(rows: Sequence[Row], title: str, labels: Sequence[str]) -> BoxPlot:
    return BoxPlot(
        title=title,
        y="position error, m",
        boxes=tuple(pooled_box(label, trials_quantiles(rows, label)) for label in labels),
        note=HOW,
    )


def error_table(rows: Sequence[Row], labels: Sequence[str]) -> Grid:
    """All cars at each moment of comparison; our own and the others at the first."""

    def cell(label: str, moment: Moment, which: str = "all") -> str:
        if not values(where(rows, setting=label, which=which), moment.value):
            return "–"
        return f"{mean_error(rows, label, moment.value, which):.3f}"

    return Grid(
        title="Mean position error in metres: at the moment a position is about, and when out",
        headers=("Setting", "all", "our own", "others", "out, carried on", "out, as it stands"),
        rows=tuple(
            (
                label,
                cell(label, Moment.ABOUT),
                cell(label, Moment.ABOUT, "own"),
                cell(label, Moment.ABOUT, "others"),
                cell(label, Moment.CARRIED),
                cell(label, Moment.OUT),
            )
            for label in labels
        ),
    )  # fmt: skip


UNFUSED = "without fusion"
EDF = (AS_PRINTED, IN_ITEMS)
SHOWN = (AS_PRINTED.label, IN_ITEMS.label, FIFO.label)
OTHERS = tuple(setting.label for setting in SETTINGS if setting.label not in SHOWN)
PUBLISHED_ERRORS = {AS_PRINTED.label: 2.32, FIFO.label: 3.37, UNFUSED: 7.30}
"""metres"""
PUBLISHED_GAIN = PUBLISHED_ERRORS[UNFUSED] / PUBLISHED_ERRORS[AS_PRINTED.label]
PUBLISHED_LESS = 1 - PUBLISHED_ERRORS[AS_PRINTED.label] / PUBLISHED_ERRORS[FIFO.label]
COMPARED = {
    Moment.ABOUT: "at the moment a position is about",
    Moment.CARRIED: "carried on to the moment it comes out",
    Moment.OUT: "at the moment it comes out, as it stands",
}
"""the paper does not say which"""
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
        claims=(
            _gain(rows),
            _metres(rows),
            *(_policies(rows, ours, moment) for ours in EDF for moment in COMPARED),
            _drifts(rows),
        ),
        pictures=(
            error_boxes(rows, "Figure 21: position error of all cars", (*SHOWN, UNFUSED)),
            error_boxes(rows, "The same for every setting with fusion", (*SHOWN, *OTHERS)),
            error_table(rows, (UNFUSED, *SHOWN, *OTHERS)),
        ),
    )


def _gain(rows: Sequence[Row]) -> Claim:
    ours, raw = mean_error(rows, AS_PRINTED.label), mean_error(rows, UNFUSED)
    return stated(
        "figure 21",
        f"fusion cuts the mean error from 7.30 m to 2.32 m, {PUBLISHED_GAIN:.1f} times",
        f"from {raw:.2f} m to {ours:.2f} m, {raw / ours:.1f} times",
        came=OUR_DRIVES,
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


def _policies(rows: Sequence[Row], setting: Setting, moment: Moment) -> Claim:
    """An ordering the other way round is a difference, whatever the moment."""
    ours, fifo = (mean_error(rows, one.label, moment.value) for one in (setting, FIFO))
    return stated(
        "figure 21",
        f"EDF's error is {PUBLISHED_LESS:.0%} smaller than FIFO's ({COMPARED[moment]})",
        f"{_apart(1 - ours / fifo)}: {ours:.3f} m ({setting.label}), {fifo:.3f} m ({FIFO.label})",
        came=came_of(setting),
        holds=same_scale(1 - ours / fifo, PUBLISHED_LESS),
        why=_why_larger(rows, setting, moment) if ours > fifo else NO_REASON,
    )


def _apart(less: float) -> str:
    return f"{less:.0%} smaller" if less >= 0 else f"{-less:.0%} larger"


def _why_larger(rows: Sequence[Row], setting: Setting, moment: Moment) -> str:
    """That its positions are older when they come out, if they are and that is what counts."""
    ages = [mean_error(rows, one.label, "age_ms") for one in (setting, FIFO)]
    right = mean_error(rows, setting.label) < mean_error(rows, FIFO.label)
    if moment is Moment.ABOUT or not right or ages[0] <= ages[1]:
        return NO_REASON
    return (
        "what EDF lets in makes the runs of the fusion longer: its positions are nearer to the "
        f"truth, but come out {ages[0]:.0f} ms after the moment they are about, FIFO's after "
        f"{ages[1]:.0f} ms, and a car at 60 km/h drives 1.7 m in 100 ms"
    )


def _metres(rows: Sequence[Row]) -> Claim:
    found = {label: mean_error(rows, label) for label in PUBLISHED_ERRORS}
    return stated(
        "figure 21",
        "the errors themselves: 2.32 m with EDF, 3.37 m with FIFO, 7.30 m without fusion",
        ", ".join(f"{metres:.2f} m ({label})" for label, metres in found.items()),
        came=OUR_DRIVES,
        holds=all(same_scale(found[label], PUBLISHED_ERRORS[label]) for label in found),
        why=_why_fewer_metres(rows),
    )


def _why_fewer_metres(rows: Sequence[Row]) -> str:
    """What the receiver does to both: how large its error is, and how long it stays."""
    raw, wanted = mean_error(rows, UNFUSED), PUBLISHED_ERRORS[AS_PRINTED.label]
    metres = {drift: _own(rows, drift, "fused") for drift in DRIFTS}
    near = next((drift for drift in DRIFTS if same_scale(metres[drift], wanted)), 0)
    if raw >= PUBLISHED_ERRORS[UNFUSED] or not near or metres[0] >= metres[near]:
        return NO_REASON
    return (
        f"{ASSUMED} {raw:.2f} m without fusion, anew each cycle; with a receiver's error that "
        f"stays for {near} s our own position after fusion is off by {metres[near]:.2f} m instead "
        f"of {metres[0]:.2f} m"
    )


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
        came=OUR_DRIVES,
    )


STUDY = Study(
    name="position-error",
    paper=Paper.AEDSMS,
    figures=("figure 21",),
    title="Position errors with and without fusion",
    seconds=215,
    cells=cells,
    run=run,
    analyse=analyse,
    seed=1,
)
