"""Every car runs the query and broadcasts its output1: does it matter who says what cars send?

In the papers V2V tuples are tuples of the senders' output1 (S-EDF section 6.2.1). The other studies
make them with a model of the senders: type 1 fusion as a linear recursion that has settled long
ago, and radar noise drawn for each receiver. Here each car with a radio has an engine of its own
(:mod:`headway.drive.car_broadcasts`), and our car hears what comes out of them.

output1 comes from on-board sensors, so one pass over the cars is enough for what is said. When it
is said can hang on what a car hears. The part ``again`` runs all cars twice more with what they
hear, and counts the messages that say something else or are sent at another moment.

Grid: (trial, short drive or the papers') with every setting, heard both ways; and the first trial
run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import pairwise
from statistics import fmean

import numpy as np
import pyarrow as pa

from headway.drive.car_broadcasts import broadcasting, broadcasts_of
from headway.drive.collision_warning import RADIO, Setting, plan_of
from headway.drive.trial import Metres, run_trial, true_places
from headway.drive.trial_results import measure
from headway.world.broadcasts import Broadcasts
from headway.world.cam import CamReports
from headway.world.drive_recording import DriveRecording, record
from headway.world.drive_scenario import Scenario
from headway.world.grid_traffic import GridTraffic
from headway_studies.aedsms.collision_drives import (
    AS_PRINTED,
    FIFO,
    IN_ITEMS,
    ONE_CROSSING,
    SCENARIO,
    THREE_NODES,
    application_on,
    came_of,
)
from headway_studies.provenance import assumed
from headway_studies.row_reading import flag, number, values, where, whole
from headway_studies.study import Cell, Claim, Findings, Paper, Row, Study, beyond
from headway_studies.study_charts import Grid

SETTINGS = (AS_PRINTED, IN_ITEMS, FIFO)
TRIALS, QUICK_TRIALS = 5, 1
SETTLED = 10.0
"""seconds, after which the cars' filters have forgotten how the drive began"""
MODEL, CARS = "a model of the senders", "their own queries"
SENDERS = replace(IN_ITEMS, shed=None)
"""how the other cars run it: S-EDF, and 100 V2V tuples/s, as many as the query says"""
OURS = assumed(
    "all cars sense and schedule as ours does; their fusion begins with the drive; where the cars "
    "stand, noise and costs as in the study of crashes"
)


def cells(quick: bool) -> list[Cell]:
    drives: list[Cell] = [
        {"part": "drive", "trial": trial, "short": quick}
        for trial in range(QUICK_TRIALS if quick else TRIALS)
    ]
    return [*drives, {"part": "again", "trial": 0, "short": quick}]


def run(cell: Cell) -> list[Row]:
    scenario = ONE_CROSSING if flag(cell, "short") else SCENARIO
    if cell["part"] == "again":
        return _again(scenario, whole(cell, "trial"))
    return _drive(scenario, whole(cell, "trial"))


def _spoken(traffic: GridTraffic, trial: int, hears: Broadcasts | None = None) -> Broadcasts:
    plan = broadcasting(plan_of(application_on(THREE_NODES), SENDERS))
    if hears is None:
        return broadcasts_of(plan, traffic, trial)
    return broadcasts_of(plan, traffic, trial, hears=hears)


def _drive(scenario: Scenario, trial: int) -> list[Row]:
    traffic = GridTraffic(scenario)
    rows: list[Row] = []
    for source, said in ((MODEL, None), (CARS, _spoken(traffic, trial))):
        recording = record(traffic, trial=trial, said=said)
        rows.append({"part": "heard", "source": source, "trial": trial, **_heard(recording)})
        for setting in SETTINGS:
            driven = run_trial(application_on(THREE_NODES), recording, setting)
            found = measure(driven, trial)
            rows.append(
                {
                    "part": "drive",
                    "source": source,
                    "trial": trial,
                    "setting": setting.label,
                    "cars": found.trial.meetings,
                    "crashes": found.trial.crashes,
                    "ttc": found.trial.worst_ttc,
                    "error": found.trial.error_mean,
                    "misses1": found.trial.misses1,
                    "tuples1": found.trial.tuples1,
                    "latency1": found.trial.latency1_max,
                }
            )
    return rows


def _heard(recording: DriveRecording) -> dict[str, float]:
    """How many reports, how far off they are, and how often the truth is in what they say."""
    table = recording.streams[RADIO]
    columns = {name: table.column(name).to_numpy() for name in ("id", "sender", "x", "y")}
    sensed = table.column("timestamp").cast(pa.int64()).to_numpy() - recording.begin
    x, y = true_places(recording, columns["id"], sensed)
    dx, dy = columns["x"] - x, columns["y"] - y
    off: Metres = np.hypot(dx, dy)
    inside = np.abs(dx) <= 1.96 * np.sqrt(table.column("var_x").to_numpy())
    themselves = columns["id"] == columns["sender"]
    later = sensed >= SETTLED * 1e6
    return {
        "messages": float(len(off)),
        "about_themselves": float(off[themselves].mean()),
        "about_others": float(off[~themselves].mean()),
        "later_themselves": float(off[themselves & later].mean()),
        "later_others": float(off[~themselves & later].mean()),
        "inside": float(inside[themselves & later].mean()),
    }


def _again(scenario: Scenario, trial: int) -> list[Row]:
    traffic = GridTraffic(scenario)
    passes = [_spoken(traffic, trial)]
    for _ in range(2):
        passes.append(_spoken(traffic, trial, passes[-1]))
    return [
        {"part": "again", "pass": place, "trial": trial, **_compared(before, after)}
        for place, (before, after) in enumerate(pairwise(passes), start=2)
    ]


def _compared(before: Broadcasts, after: Broadcasts) -> dict[str, float]:
    """Messages that say something else, and that are sent at another moment. Each car's come in
    the order of its output1, which both passes share."""
    if len(before.sent_at) != len(after.sent_at):
        raise ValueError("what cars hear has made them say more or less")
    changed = np.zeros(len(before.sent_at), dtype=np.bool_)
    for field in fields(CamReports):
        changed |= getattr(before.reports, field.name) != getattr(after.reports, field.name)
    moved = np.abs(after.sent_at - before.sent_at)
    return {
        "messages": float(len(moved)),
        "changed": float(changed.sum()),
        "moved": float((moved > 0).sum()),
        "farthest_ms": float(moved.max(initial=0)) / 1000,
    }


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(
        claims=(_one_pass(rows), _settles(rows), *_same_outcome(rows), _told(rows)),
        pictures=(_outcomes(rows), _reports(rows)),
    )


def _one_pass(rows: Sequence[Row]) -> Claim:
    (second,) = where(rows, part="again", **{"pass": 2})
    return beyond(
        "S-EDF section 6.2.1",
        "does what a car says hang on what it hears?",
        f"of {number(second, 'messages'):,.0f} messages {number(second, 'changed'):,.0f} say "
        f"something else when all cars hear each other; {number(second, 'moved'):,.0f} are sent at "
        f"another moment, by {number(second, 'farthest_ms'):.1f} ms at most",
        came=OURS,
    )


def _settles(rows: Sequence[Row]) -> Claim:
    (third,) = where(rows, part="again", **{"pass": 3})
    return beyond(
        "S-EDF section 6.2.1",
        "does one more pass change anything?",
        f"{number(third, 'moved'):,.0f} messages move again, by {number(third, 'farthest_ms'):.1f} "
        "ms at most",
        came=OURS,
    )


def _same_outcome(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for setting in SETTINGS:
        told = []
        for source in (MODEL, CARS):
            mine = where(rows, part="drive", source=source, setting=setting.label)
            crashes, cars = (sum(values(mine, name)) for name in ("crashes", "cars"))
            told.append(
                f"{source}: {crashes:.0f} of {cars:.0f} cars detected too late, worst TTC "
                f"{min(values(mine, 'ttc')):.2f} s, error {fmean(values(mine, 'error')):.2f} m"
            )
        came = came_of(setting) if setting.between_items else OURS
        claims.append(
            beyond(
                "AEDSMS section 6.4",
                f"does the outcome change when every car runs the query? ({setting.label})",
                "; ".join(told),
                came=came,
            )
        )
    return claims


def _told(rows: Sequence[Row]) -> Claim:
    def mean(source: str, key: str) -> float:
        return fmean(values(where(rows, part="heard", source=source), key))

    return beyond(
        "AEDSMS section 5.7",
        "how far off is what cars say, and is its confidence right?",
        "; ".join(
            f"{source}: of themselves {mean(source, 'about_themselves'):.2f} m (after "
            f"{SETTLED:.0f} s {mean(source, 'later_themselves'):.2f} m), of others "
            f"{mean(source, 'about_others'):.2f} m ({mean(source, 'later_others'):.2f} m), in the "
            f"interval of 95 % {mean(source, 'inside'):.0%}"
            for source in (MODEL, CARS)
        ),
        came=OURS,
    )


def _outcomes(rows: Sequence[Row]) -> Grid:
    def line(source: str, setting: Setting) -> tuple[str, ...]:
        mine = where(rows, part="drive", source=source, setting=setting.label)
        missed, tuples = (sum(values(mine, name)) for name in ("misses1", "tuples1"))
        crashes, cars = (sum(values(mine, name)) for name in ("crashes", "cars"))
        return (
            setting.label,
            source,
            f"{crashes:.0f} of {cars:.0f}",
            f"{min(values(mine, 'ttc')):.2f}",
            f"{fmean(values(mine, 'error')):.2f}",
            f"{missed / tuples:.2%}" if tuples else "–",
            f"{max(values(mine, 'latency1')):.1f}",
        )

    return Grid(
        title="The same drives, heard both ways",
        headers=(
            "Setting", "What is sent comes from", "Too late", "Worst TTC (s)", "Error (m)",
            "Missed of output1", "Longest of output1 (ms)",
        ),
        rows=tuple(line(source, one) for one in SETTINGS for source in (MODEL, CARS)),
    )  # fmt: skip


def _reports(rows: Sequence[Row]) -> Grid:
    keys = (
        "messages", "about_themselves", "about_others", "later_themselves", "later_others",
        "inside",
    )  # fmt: skip

    def line(source: str) -> tuple[str, ...]:
        mine = where(rows, part="heard", source=source)
        found = [fmean(values(mine, key)) for key in keys]
        return (
            source,
            f"{found[0]:,.0f}",
            *(f"{one:.2f}" for one in found[1:-1]),
            f"{found[-1]:.1%}",
        )

    return Grid(
        title="What our car hears in a drive, and how far off it is (m)",
        headers=(
            "From", "Messages", "Of themselves", "Of others",
            f"Of themselves after {SETTLED:.0f} s", f"Of others after {SETTLED:.0f} s",
            "x within 1.96 σ",
        ),
        rows=tuple(line(source) for source in (MODEL, CARS)),
    )  # fmt: skip


STUDY = Study(
    name="connected-cars",
    paper=Paper.NONE,
    figures=("every car runs the query",),
    title="V2V from the other cars' own queries",
    seconds=90,
    cells=cells,
    run=run,
    analyse=analyse,
    seed=1,
)
