"""Many cities: intervals by hand, what is said of rows by hand, and one short drive."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.studies.studies_on_short_drives import studies_on_short_drives

from headway_studies.aedsms import cities
from headway_studies.aedsms.collision_drives import AS_PRINTED, FIFO, IN_ITEMS, SILENT, city_drive
from headway_studies.provenance import Origin
from headway_studies.row_reading import interval, where
from headway_studies.study import Cell, Claim, Row, Verdict

numbers = st.lists(st.floats(-100, 100), min_size=1, max_size=30)


@given(numbers)
def test_an_interval_lies_within_what_was_found_around_the_mean(found: list[float]) -> None:
    told = interval(found)
    assert told == interval(found)
    assert min(found) - 1e-9 <= told.low <= told.high <= max(found) + 1e-9
    assert told.mean == pytest.approx(np.mean(found))


def test_an_interval_is_that_of_the_mean() -> None:
    """Of 400 normal numbers: 1.96 standard errors to each side, within a fifth of them."""
    drawn = np.random.default_rng(3).standard_normal(400)
    told, error = interval(drawn.tolist()), drawn.std() / 20
    assert told.low == pytest.approx(told.mean - 1.96 * error, abs=0.4 * error)
    assert told.high == pytest.approx(told.mean + 1.96 * error, abs=0.4 * error)


def test_at_least_twenty_cities() -> None:
    drives = [cell for cell in cities.cells(False) if cell["part"] == "drive"]
    assert len({cell["city"] for cell in drives}) >= 20
    assert len(cities.cells(True)) < 10


CRASHES = {AS_PRINTED: 0, IN_ITEMS: 0, FIFO: 1, SILENT: 6}


def claims(**more: int) -> dict[tuple[str, str], Claim]:
    """Three cities of two trials; ``more``: crashes of the printed S-EDF in the last one."""
    rows: list[Row] = []
    for city in (1, 2, 3):
        for trial in range(2):
            for setting, crashes in CRASHES.items():
                extra = more.get("crashes", 0) if setting is AS_PRINTED and city == 3 else 0
                rows.append(
                    {"part": "drive", "city": city, "trial": trial, "setting": setting.label,
                     "cars": 6, "crashes": crashes * (city != 2) + extra if crashes < 6 else 6,
                     "ttc": 3.0, "error": 0.7 if setting in cities.EDF else 1.0,
                     "error_out": 1.0, "misses1": 1, "tuples1": 10}
                )  # fmt: skip
        rows += [
            {"part": "rate", "city": city, "name": f"{variant.words}, {policy}", "rate": 90 * city,
             "late": ""}
            for variant, policy in cities.WAYS
        ]  # fmt: skip
    return {(one.published, one.ours): one for one in cities.analyse(rows).claims}


def test_crash_rates_are_taken_city_by_city() -> None:
    found = {published: one for (published, _), one in claims().items()}
    fifo = found["8.3 % crashes under FIFO at the rate it takes without a miss, 100/s"]
    assert fifo.ours.startswith("11.1 % (95 % ")
    assert "over 3 cities, each 0.0–16.7)" in fifo.ours
    assert fifo.verdict is Verdict.SAME
    assert found["every car is hit without V2V"].verdict is Verdict.SAME


def test_one_crash_in_one_city_is_a_difference() -> None:
    for more, verdict in ((0, Verdict.SAME), (1, Verdict.DIFFERS)):
        edf = [
            one for (said, _), one in claims(crashes=more).items() if said.startswith("no crash")
        ]
        assert [one.came.origin for one in edf] == [Origin.ASSUMED, Origin.CHANGED]
        assert [one.verdict for one in edf] == [verdict, Verdict.SAME]


def test_rates_say_what_they_rest_on() -> None:
    found = [one for one in claims().values() if one.figure == "figure 17"]
    assert [one.came.origin for one in found] == [
        Origin.ASSUMED, Origin.ASSUMED, Origin.CHANGED, Origin.FITTED, Origin.FITTED,
    ]  # fmt: skip
    assert found[1].ours.startswith("180/s (95 % 90–270 over 3 cities, each 90–270)")
    assert [one.verdict for one in found[:2]] == [Verdict.DIFFERS, Verdict.SAME]


def test_another_city_is_another_drive_and_the_same_again() -> None:
    with studies_on_short_drives():
        cell: Cell = {"part": "drive", "city": 5, "trial": 0}
        rows = cities.run(cell)
        city_drive.cache_clear()
        assert cities.run(cell) == rows
        assert [row["setting"] for row in rows] == [one.label for one in cities.SETTINGS]
        other = cities.run({**cell, "city": 6})
        assert (
            where(other, setting=FIFO.label)[0]["error"]
            != where(rows, setting=FIFO.label)[0]["error"]
        )
        city_drive.cache_clear()
