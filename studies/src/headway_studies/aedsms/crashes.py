"""AEDSMS figures 18 and 19, S-EDF figure 18: first detections, detection rates and crashes.

Our car with S-EDF (as printed, and with a fusion that can be preempted between its items), with
FIFO+ and without V2V over the same drives; a car that is first detected
less than 2.8 s before the impact is a crash. The time left is measured: impact less the moment the
tuple of output2 came out.

Grid: trial, each with every setting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headway.drive.collision_warning import RADIO, Setting
from headway.drive.encounters import STOPPING_TIME, Risks, impacts_on
from headway.drive.trial_results import measure
from headway.report.charts import LineChart, Point, Series
from headway.world.drive_recording import DriveRecording
from headway_studies.aedsms.collision_drives import (
    AS_PRINTED,
    FIFO,
    FIFO_LEAST,
    IN_ITEMS,
    LEAST_RATE,
    PUBLISHED,
    SETTINGS,
    SILENT,
    came_of,
    drive,
    driven,
    trials_of,
)
from headway_studies.row_reading import flag, number, same_scale, sample, values, where, whole
from headway_studies.study import NO_REASON, Cell, Claim, Findings, Paper, Row, Study, stated
from headway_studies.study_charts import BoxPlot, Grid, box

# ----------------------------------------------------------------
# How often the cars on collision course are reported by V2V while there is still time to stop.
#
# With a load shedder that lets in a share p of all tuples at random, none of n reports passes with
# probability (1 − p)ⁿ: then the car is noticed too late.


_US_PER_S = 1e6


@dataclass(frozen=True, kw_only=True)
class Reports:
    """Of one car, until ``STOPPING_TIME`` before the impact."""

    car: int
    count: int
    senders: int
    in_view: float
    """seconds before the impact at the first report; 0 where there is none"""
    offered: float
    """V2V tuples per second that came meanwhile, about whomever"""

    def all_shed(self, limit: int) -> float:
        """The chance that a load shedder that lets in ``limit`` tuples per second at random lets in
        none of them."""
        passing = min(1.0, limit / self.offered) if self.offered else 1.0
        return float((1 - passing) ** self.count)


def reports(recording: DriveRecording, impacts: Mapping[int, int]) -> Iterator[Reports]:
    """In the order of the cars' ids; ``impacts`` in microseconds from the begin."""
    table = recording.streams[RADIO]
    arrived = table.column("arrived_at").cast(pa.int64()).to_numpy() - recording.begin
    ids, senders = table.column("id").to_numpy(), table.column("sender").to_numpy()
    for car, impact in sorted(impacts.items()):
        left = (impact - arrived) / _US_PER_S
        mine = (ids == car) & (left > STOPPING_TIME)
        first = float(left[mine].max()) if mine.any() else 0.0
        meanwhile = int(((left > STOPPING_TIME) & (left <= first)).sum())
        yield Reports(
            car=car,
            count=int(mine.sum()),
            senders=len(np.unique(senders[mine])),
            in_view=first,
            offered=meanwhile / (first - STOPPING_TIME) if mine.any() else 0.0,
        )


# ----------------------------------------------------------------
# Detections and crashes as pictures: figures 18 and 19, and tables.


WIDTH = 0.25
"""seconds of TTC in an interval of figure 18: two cycles of the sensors and a little"""
EDGES: tuple[float, ...] = tuple(place * WIDTH for place in range(round(8 / WIDTH) + 1))


def crash_rate(meetings: Sequence[Row], setting: Setting) -> float:
    mine = where(meetings, setting=setting.label)
    return sum(flag(row, "crash") for row in mine) / len(mine)


def times_left(meetings: Sequence[Row], setting: Setting) -> list[float]:
    """At the first detections; never in time counts as 0."""
    mine = where(meetings, setting=setting.label)
    return [0.0 if row["ttc"] is None else number(row, "ttc") for row in mine]


def detection(rows: Sequence[Row]) -> LineChart:
    found = where(rows, part="detection")
    return LineChart(
        title="Figure 18: share of the cars on collision course that are detected",
        x="time to collision, s",
        y="detection rate",
        series=tuple(
            Series(
                name=setting.label,
                points=tuple(
                    Point(x=ttc + WIDTH / 2, y=_mean(where(mine, interval=ttc)))
                    for ttc in EDGES[:-1]
                ),
            )
            for setting in SETTINGS
            for mine in [where(found, setting=setting.label)]
        ),
        note=f"In intervals of {WIDTH} s, over all trials; not cumulative. "
        f"Our car needs {STOPPING_TIME} s to stop.",
    )


def _mean(rows: Sequence[Row]) -> float:
    found = values(rows, "rate")
    return sum(found) / len(found)


def boxes(meetings: Sequence[Row]) -> BoxPlot:
    return BoxPlot(
        title="Figure 19: time to collision at the first detection",
        y="TTC, s",
        boxes=tuple(box(one.label, times_left(meetings, one)) for one in SETTINGS),
        limit=STOPPING_TIME,
        note="Six cars a trial; below the line our car cannot stop in time.",
    )


def table(rows: Sequence[Row]) -> Grid:
    meetings, trials = where(rows, part="meeting"), where(rows, part="trial")
    return Grid(
        title="Crashes and deadlines",
        headers=("Setting", "Cars met", "Crash rate", "Worst TTC (s)", "Missed 1", "Missed 2"),
        rows=tuple(
            (
                one.label,
                str(len(where(meetings, setting=one.label))),
                f"{crash_rate(meetings, one):.1%}",
                f"{min(times_left(meetings, one)):.2f}",
                missed(where(trials, setting=one.label), 1),
                missed(where(trials, setting=one.label), 2),
            )
            for one in SETTINGS
        ),
    )


def cars(rows: Sequence[Row], scarce: Setting) -> Grid:
    """Who is reported how often, and what a random choice of 100 tuples a second makes of it."""
    meetings, told = where(rows, part="meeting"), where(rows, part="reports")
    table = []
    for car in sorted({whole(row, "car") for row in told}):
        mine, met = where(told, car=car), where(meetings, car=car)
        table.append(
            (
                str(car),
                f"{_average(mine, 'in_view'):.1f}",
                f"{_average(mine, 'count'):.0f} by {_average(mine, 'senders'):.1f}",
                f"{_average(mine, 'offered'):.0f}",
                f"{_average(mine, 'all_shed'):.1%}",
                f"{crash_rate(met, scarce):.1%}",
            )
        )
    return Grid(
        title="Cars on collision course, one by one: reports by V2V until 2.8 s before the impact",
        headers=(
            "Car",
            "First (s before)",
            "Reports, senders",
            "Offered (/s)",
            f"Chance that {scarce.shed}/s at random miss all",
            f"Crash rate, {scarce.label}",
        ),
        rows=tuple(table),
    )


def _average(rows: Sequence[Row], key: str) -> float:
    found = values(rows, key)
    return sum(found) / len(found)


def missed(trials: Sequence[Row], output: int) -> str:
    """The share of an output's tuples that were late."""
    late, tuples = (sum(values(trials, f"{name}{output}")) for name in ("misses", "tuples"))
    return f"{late / tuples:.2%}" if tuples else "–"


EDF = (AS_PRINTED, IN_ITEMS)
PUBLISHED_TTC = {AS_PRINTED: 3.5, IN_ITEMS: 3.5, FIFO: 2.3, SILENT: 1.1}
"""seconds, worst at a first detection (AEDSMS; S-EDF: 3.2, 2.4, 1.2)"""
PUBLISHED_CRASHES = 0.083
"""under FIFO"""
ONE_SENDER = (
    "the car detected last is reported by one sender only, and in that trial every tuple about it "
    "was shed until the radar saw it: as late as without V2V"
)
A_CYCLE = 0.1
"""seconds between two looks of the radar: first detections so near are of the same look"""


def cells(quick: bool) -> list[Cell]:
    return [{"trial": trial} for trial in trials_of(quick)]


def detected_at(
    risks: Risks, impacts: Mapping[int, int], edges: Sequence[float]
) -> NDArray[np.bool_]:
    """Figure 18: for each car (in order of id) and each interval of TTC between two ``edges``
    (seconds, ascending), whether a tuple about it came out while so much time was left."""
    cars = sorted(impacts)
    table = np.zeros((len(cars), len(edges) - 1), dtype=np.bool_)
    for place, car in enumerate(cars):
        left = (impacts[car] - risks.produced[risks.id == car]) / _US_PER_S
        counts, _ = np.histogram(left, bins=np.asarray(edges))
        table[place] = counts > 0
    return table


def run(cell: Cell) -> list[Row]:
    number_ = whole(cell, "trial")
    recording = drive(number_)
    rows: list[Row] = [
        {
            "part": "reports",
            "trial": number_,
            **asdict(one),
            "all_shed": one.all_shed(PUBLISHED["fifo+"]),
        }
        for one in reports(recording, impacts_on(recording.traffic, recording.car))
    ]
    for setting in SETTINGS:
        trial = driven(number_, setting)
        found = measure(trial, number_)
        rows += [
            {"part": "meeting", "setting": setting.label, **asdict(row)} for row in found.meetings
        ]
        rows.append({"part": "trial", "setting": setting.label, **asdict(found.trial)})
        rates = detected_at(trial.risks(), trial.impacts, EDGES).mean(axis=0)
        rows += [
            {
                "part": "detection",
                "setting": setting.label,
                "trial": number_,
                "interval": ttc,
                "rate": float(rate),
            }
            for ttc, rate in zip(EDGES[:-1], rates, strict=True)
        ]
    return rows


def analyse(rows: Sequence[Row]) -> Findings:
    meetings = where(rows, part="meeting")
    return Findings(
        claims=(*_crashes(rows), *_worst(rows), _seen(meetings)),
        pictures=(detection(rows), boxes(meetings), table(rows), cars(rows, FIFO)),
    )


def _crashes(rows: Sequence[Row]) -> list[Claim]:
    meetings = where(rows, part="meeting")
    found = {setting: crash_rate(meetings, setting) for setting in SETTINGS}
    late = {one: where(rows, part="trial", setting=one.label) for one in (*EDF, FIFO)}
    misses = {
        one: f"where it misses {missed(mine, 1)} of output1 and {missed(mine, 2)} of output2"
        for one, mine in late.items()
    }
    return [
        *(
            stated(
                "section 6.4",
                "no crash under EDF at the rate it takes without a miss, 800/s",
                f"{found[one]:.1%} ({one.label}), {misses[one]}",
                came=came_of(one),
                holds=found[one] == 0,
            )
            for one in EDF
        ),
        stated(
            "section 6.4",
            "8.3 % crashes under FIFO at the rate it takes without a miss, 100/s",
            f"{found[FIFO]:.1%} at {FIFO.shed}/s, {misses[FIFO]}; {found[FIFO_LEAST]:.1%} at "
            f"{LEAST_RATE}/s; {found[SILENT]:.0%} without V2V",
            came=came_of(FIFO),
            holds=same_scale(found[FIFO], PUBLISHED_CRASHES),
            why=_why_few(rows),
        ),
        stated(
            "section 6.4",
            "every car is hit without V2V",
            f"{found[SILENT]:.0%}",
            came=came_of(SILENT),
            holds=found[SILENT] == 1,
        ),
    ]


def _why_few(rows: Sequence[Row]) -> str:
    """Told if one car has most of the crashes, and it is the one that is reported last."""
    meetings, told = where(rows, part="meeting"), where(rows, part="reports")
    by_car = {
        whole(one, "car"): crash_rate(where(meetings, car=whole(one, "car")), FIFO) for one in told
    }
    views = {car: sample(values(where(told, car=car), "in_view")).mean for car in by_car}
    last = min(views, key=views.__getitem__)
    others = max((rate for car, rate in by_car.items() if car != last), default=0.0)
    if not others < PUBLISHED_CRASHES < by_car[last]:
        return NO_REASON
    return (
        f"of the cars here one is reported late, {views[last]:.1f} s before the impact, and hit in "
        f"{by_car[last]:.0%} of the trials; each other is reported earlier and hit in {others:.0%} "
        "at most (last table)"
    )


def _worst(rows: Sequence[Row]) -> list[Claim]:
    meetings = where(rows, part="meeting")
    return [
        stated(
            "figure 19",
            f"worst TTC at a first detection {published} s ({setting.label.split(',')[0]})"
            if setting.v2v
            else f"worst TTC at a first detection {published} s (no V2V)",
            f"{min(times_left(meetings, setting)):.2f} s ({setting.label})",
            came=came_of(setting),
            holds=same_scale(min(times_left(meetings, setting)), published),
            why=_why_late(rows, setting, published),
        )
        for setting, published in PUBLISHED_TTC.items()
    ]


def _why_late(rows: Sequence[Row], setting: Setting, published: float) -> str:
    """Told if the car that was detected last of all had one sender and was seen by the radar."""
    meetings = where(rows, part="meeting")
    left = times_left(meetings, setting)
    worst = where(meetings, setting=setting.label)[left.index(min(left))]
    same = {"trial": worst["trial"], "car": worst["car"]}
    (told,) = where(rows, part="reports", **same)
    without = replace(setting, v2v=False, shed=None, between_items=False)
    (silent,) = times_left(where(meetings, **same), without)
    if not setting.v2v or min(left) >= published or told["senders"] != 1:
        return NO_REASON
    return ONE_SENDER if abs(min(left) - silent) < A_CYCLE else NO_REASON


def _seen(meetings: Sequence[Row]) -> Claim:
    silent = [time for time in times_left(meetings, SILENT) if time > 0]
    share = len(silent) / len(times_left(meetings, SILENT))
    return stated(
        "figure 18",
        "without V2V every car is detected before the impact, by the radar",
        f"{share:.0%}",
        came=came_of(SILENT),
        holds=share == 1,
    )


STUDY = Study(
    name="crashes",
    paper=Paper.AEDSMS,
    figures=("figure 18", "figure 19", "S-EDF figure 18", "crash rates"),
    title="Detections and crashes",
    seconds=215,
    cells=cells,
    run=run,
    analyse=analyse,
    seed=1,
)
