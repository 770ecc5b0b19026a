"""The study of a warning that brakes: what is said of rows made by hand."""

from __future__ import annotations

from headway.drive.warned_of import WarnedOf
from headway_studies.aedsms.collision_drives import AS_PRINTED, FIFO, IN_ITEMS
from headway_studies.beyond import braking
from headway_studies.beyond.braking import CHOOSING, REACTIONS, SETTINGS, TIME, WAY
from headway_studies.provenance import Origin
from headway_studies.study import Claim, Findings, Row, Verdict
from headway_studies.study_charts import Grid


def rows() -> list[Row]:
    """Two drives past two cars; FIFO+ sees one of them late, and hits it if 2.8 s are a way."""
    made: list[Row] = []
    for trial in range(2):
        for setting in SETTINGS:
            for which in WarnedOf:
                common: Row = {"trial": trial, "setting": setting.label, "warned_of": which.value}
                false = {"closing": 6, "crossing": 4, "meeting": 0}[which.value]
                made.append(
                    {**common, "part": "alarms", "warned": 2 + false, "false": false, "tuples": 50}
                )
                for reading in (TIME, WAY):
                    for reaction in REACTIONS:
                        for car in (2, 3):
                            late = setting is FIFO and car == 2
                            hit = late and (reading == WAY or reaction > 1)
                            made.append(
                                {**common, "part": "stop", "reading": reading,
                                 "reaction": reaction, "car": car, "ttc": 2.0 if late else 5.0,
                                 "late": late, "hit": hit, "speed": 30.0 if hit else 0.0}
                            )  # fmt: skip
    return made


def found() -> Findings:
    return braking.analyse(rows())


def claim(part: str) -> Claim:
    (one,) = [claim for claim in found().claims if part in claim.published]
    return one


def test_the_rule_is_told_beside_the_braking_car() -> None:
    fifo = claim(f"({FIFO.label})")
    assert fifo.ours == (
        "50.0% of 4 cars are detected later; 0.0% are hit when our car brakes "
        "(50.0% if it needs 2.8 s × 60 km/h of way)"
    )
    assert fifo.came.origin is Origin.ASSUMED
    assert claim(f"({IN_ITEMS.label})").came.origin is Origin.CHANGED
    assert all(one.verdict is Verdict.BEYOND for one in found().claims)


def test_false_alarms_are_counted_a_drive() -> None:
    for which, told in (("closing", "6.0 of 8.0"), ("crossing", "4.0 of 6.0"), ("meeting", "0.0")):
        assert claim(f"if {which} cars").ours.startswith(f"{told}")
    assert claim("because fewer have a TTC").ours == (
        "closing: 0.0%, 50.0%; crossing: 0.0%, 50.0%; meeting: 0.0%, 50.0%"
    )


def test_tables_show_every_setting() -> None:
    reactions, crashes, warnings = found().pictures
    assert isinstance(crashes, Grid)
    assert isinstance(warnings, Grid)
    by_name = {row[0]: row for row in crashes.rows}
    assert list(by_name) == [one.label for one in SETTINGS]
    assert by_name[FIFO.label][2:] == ("50.0%", "0.0%", "–", "–", "2")
    assert by_name[AS_PRINTED.label][2:] == ("0.0%", "0.0%", "–", "–", "0")
    assert len(warnings.rows) == len(CHOOSING) * len(WarnedOf)
    assert warnings.rows[0][1:5] == ("closing", "8.0", "6.0", "75%")
    assert "reaction, s" in str(reactions)
