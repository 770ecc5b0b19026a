"""The warning brakes, and warns for nothing: what AEDSMS section 6.4 leaves to a rule of 2.8 s.

The papers call a car that is first detected with less than 2.8 s left a crash. Here our car brakes
at that first detection, and it is a crash if the two cars touch (:mod:`headway.drive.braking`),
for several reactions of the driver and for both readings of the 2.8 s, a time or a way. And the
papers count no false alarm: here every car that output2 has a TTC of is one warned of, and a false
alarm if it would never have come within 2 m. S-EDF's o10 has a TTC of crossing cars only (its
section 6.2.1); the example's query has one of all that come nearer, and so have the other studies.

Grid: (trial, short drive or the papers'), each with every setting, three of them with every choice
of cars with a TTC.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from headway.drive.braking import REACTION, Braking, stops
from headway.drive.collision_warning import Setting
from headway.drive.encounters import STOPPING_TIME
from headway.drive.trial import Trial, run_trial
from headway.drive.warned_of import WarnedOf
from headway.report.charts import LineChart, Point, Series
from headway.world.drive_recording import record
from headway.world.drive_scenario import KMH
from headway_studies.aedsms.collision_drives import (
    AS_PRINTED,
    FIFO,
    FIFO_LEAST,
    IN_ITEMS,
    ONE_CROSSING,
    SCENARIO,
    SILENT,
    THREE_NODES,
    application_on,
    came_of,
)
from headway_studies.provenance import Provenance, assumed
from headway_studies.row_reading import flag, number, values, where, whole
from headway_studies.study import Cell, Claim, Findings, Paper, Row, Study, beyond
from headway_studies.study_charts import Grid

SETTINGS = (AS_PRINTED, IN_ITEMS, FIFO, FIFO_LEAST, SILENT)
CHOOSING = (AS_PRINTED, FIFO, SILENT)
"""those that are also run with fewer cars that have a TTC"""
TRIALS, QUICK_TRIALS = 20, 1
REACTIONS = (0.0, 0.25, 0.5, REACTION, 1.0, 1.25, 1.5)
"""seconds"""
TIME, WAY = "2.8 s are a time", "2.8 s are a way"
DRIVER = assumed(
    f"{REACTION} s of reaction and then an even deceleration to a standstill after 2.8 s; cars of "
    "4.5 m by 1.8 m; where the cars stand, noise and costs as in the study of crashes"
)
CROSSES = assumed(
    "a way crosses ours at 30° or more, ahead of both; a warning was for nothing if the car never "
    "comes within 2 m; where the cars stand, noise and costs as in the study of crashes"
)


def cells(quick: bool) -> list[Cell]:
    trials = range(QUICK_TRIALS if quick else TRIALS)
    return [{"trial": trial, "short": quick} for trial in trials]


def run(cell: Cell) -> list[Row]:
    trial = whole(cell, "trial")
    scenario = ONE_CROSSING if flag(cell, "short") else SCENARIO
    recording = record(scenario, trial=trial)
    rows: list[Row] = []
    for setting in SETTINGS:
        for which in WarnedOf if setting in CHOOSING else (WarnedOf.CLOSING,):
            asked = replace(setting, warned_of=which)
            driven = run_trial(application_on(THREE_NODES), recording, asked)
            common: Row = {"trial": trial, "setting": setting.label, "warned_of": which.value}
            rows += [{**common, **row} for row in (*_warned(driven), *_stops(driven))]
    return rows


def _warned(driven: Trial) -> list[Row]:
    found = driven.alarms()
    return [
        {
            "part": "alarms",
            "warned": len(found),
            "false": sum(one.false for one in found),
            "tuples": len(driven.risks().id),
        }
    ]


def _stops(driven: Trial) -> list[Row]:
    """One for each car met, reaction and reading."""
    traffic, car, met = driven.recording.traffic, driven.recording.car, driven.meetings()
    rows: list[Row] = []
    for reading, made in ((TIME, Braking.within), (WAY, Braking.over)):
        for reaction in REACTIONS:
            rows += [
                {
                    "part": "stop",
                    "reading": reading,
                    "reaction": reaction,
                    "car": one.meeting.car,
                    "ttc": one.meeting.ttc,
                    "late": one.meeting.crash,
                    "hit": one.crash,
                    "speed": one.speed / KMH,
                }
                for one in stops(traffic, car, met, made(reaction))
            ]
    return rows


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(
        claims=(*_rule(rows), *_alarms(rows), _lost(rows)),
        pictures=(_reactions(rows), _crashes(rows), _warnings(rows)),
    )


def _stopped(rows: Sequence[Row], setting: Setting, **wanted: str | float) -> list[Row]:
    given: dict[str, str | float] = {
        "reading": TIME, "reaction": REACTION, "warned_of": WarnedOf.CLOSING.value, **wanted,
    }  # fmt: skip
    return where(rows, part="stop", setting=setting.label, **given)


def _share(rows: Sequence[Row], key: str) -> float:
    return sum(flag(row, key) for row in rows) / len(rows)


def _came(setting: Setting, given: Provenance) -> Provenance:
    """What is changed counts against a claim before what is assumed."""
    return came_of(setting) if setting.between_items else given


def _rule(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for setting in SETTINGS:
        mine, softly = _stopped(rows, setting), _stopped(rows, setting, reading=WAY)
        hit = [row for row in mine if flag(row, "hit")]
        speed = f", at {fmean(values(hit, 'speed')):.0f} km/h in the mean" if hit else ""
        claims.append(
            beyond(
                "AEDSMS section 6.4",
                f"does a car crash if and only if it is detected less than {STOPPING_TIME} s "
                f"before? ({setting.label})",
                f"{_share(mine, 'late'):.1%} of {len(mine)} cars are detected later; "
                f"{_share(mine, 'hit'):.1%} are hit when our car brakes{speed} "
                f"({_share(softly, 'hit'):.1%} if it needs 2.8 s × 60 km/h of way)",
                came=_came(setting, DRIVER),
            )
        )
    return claims


def _alarms(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for which in WarnedOf:
        mine = where(rows, part="alarms", setting=AS_PRINTED.label, warned_of=which.value)
        warned, false = (fmean(values(mine, name)) for name in ("warned", "false"))
        claims.append(
            beyond(
                "S-EDF section 6.2.1, o10",
                f"how many cars are warned of that would never come near, if {which} cars have a "
                "TTC?",
                f"{false:.1f} of {warned:.1f} in a drive ({AS_PRINTED.label})",
                came=CROSSES,
            )
        )
    return claims


def _lost(rows: Sequence[Row]) -> Claim:
    """Whether fewer warnings cost a detection."""
    told, heard = [], [one for one in CHOOSING if one.v2v]
    for which in WarnedOf:
        late = [_share(_stopped(rows, one, warned_of=which.value), "late") for one in heard]
        told.append(f"{which}: {', '.join(f'{share:.1%}' for share in late)}")
    names = ", ".join(one.label for one in heard)
    return beyond(
        "S-EDF section 6.2.1, o10",
        f"are cars detected later than 2.8 s because fewer have a TTC? ({names})",
        "; ".join(told),
        came=CROSSES,
    )


def _reactions(rows: Sequence[Row]) -> LineChart:
    shown = (FIFO, FIFO_LEAST, SILENT)
    return LineChart(
        title="Cars hit when our car brakes at the first warning",
        x="reaction, s",
        y="share of the cars on collision course",
        series=tuple(
            Series(
                name=f"{setting.label}, {reading}",
                points=tuple(
                    Point(
                        x=reaction,
                        y=_share(
                            _stopped(rows, setting, reading=reading, reaction=reaction), "hit"
                        ),
                    )
                    for reaction in REACTIONS
                ),
            )
            for setting in shown
            for reading in (TIME, WAY)
        ),
        note="The rest of the 2.8 s is braked evenly: who reacts later brakes harder.",
    )


def _crashes(rows: Sequence[Row]) -> Grid:
    def line(setting: Setting) -> tuple[str, ...]:
        mine = _stopped(rows, setting)
        hit = [row for row in mine if flag(row, "hit")]
        only_rule = [row for row in mine if flag(row, "late") and not flag(row, "hit")]
        left = [number(row, "ttc") for row in hit if row["ttc"] is not None]
        return (
            setting.label,
            str(len(mine)),
            f"{_share(mine, 'late'):.1%}",
            f"{len(hit) / len(mine):.1%}",
            f"{fmean(values(hit, 'speed')):.0f}" if hit else "–",
            f"{max(left):.2f}" if left else "–",
            str(len(only_rule)),
        )

    return Grid(
        title=f"The rule and the braking car ({REACTION} s of reaction)",
        headers=(
            "Setting",
            "Cars met",
            f"Detected later than {STOPPING_TIME} s before",
            "Hit",
            "at (km/h)",
            "longest TTC of one hit (s)",
            "late, and not hit",
        ),
        rows=tuple(line(one) for one in SETTINGS),
    )


def _warnings(rows: Sequence[Row]) -> Grid:
    def line(setting: Setting, which: WarnedOf) -> tuple[str, ...]:
        mine = where(rows, part="alarms", setting=setting.label, warned_of=which.value)
        warned, false = (sum(values(mine, name)) for name in ("warned", "false"))
        late = _stopped(rows, setting, warned_of=which.value)
        return (
            setting.label,
            which.value,
            f"{warned / len(mine):.1f}",
            f"{false / len(mine):.1f}",
            f"{false / warned:.0%}" if warned else "–",
            f"{fmean(values(mine, 'tuples')):,.0f}",
            f"{_share(late, 'late'):.1%}",
        )

    return Grid(
        title="Cars warned of in a drive, and those that would never come within 2 m",
        headers=(
            "Setting",
            "Cars with a TTC",
            "Warned of",
            "Never near",
            "Share",
            "Tuples with a TTC",
            f"Later than {STOPPING_TIME} s",
        ),
        rows=tuple(line(one, which) for one in CHOOSING for which in WarnedOf),
    )


STUDY = Study(
    name="braking",
    paper=Paper.NONE,
    figures=("braking and false alarms",),
    title="A warning that brakes, and warnings for nothing",
    seconds=90,
    cells=cells,
    run=run,
    analyse=analyse,
    seed=1,
)
