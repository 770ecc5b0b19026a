"""Tracking one car on a short drive: rows, claims that can fail, what the map holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import pytest
from tests.drive.short_drives import short_drive
from tests.studies.studies_on_short_drives import forget_drives, studies_on_short_drives

from headway.drive.collision_warning import RADIO
from headway.drive.trial import true_places
from headway_studies.aedsms import position_error, tracking
from headway_studies.aedsms.collision_drives import AS_PRINTED, sensed_at
from headway_studies.aedsms.position_error import KEYS, SHARES, pooled_box, trials_quantiles
from headway_studies.aedsms.tracking import STRETCH, Tracked, most_told, with_fresh_reports
from headway_studies.row_reading import number, where
from headway_studies.study import NO_REASON, Row, Verdict
from headway_studies.study_charts import TrackMap


@pytest.fixture(scope="module", autouse=True)
def _short_drive() -> Iterator[None]:
    with studies_on_short_drives():
        yield
    rows.cache_clear()


@cache
def rows() -> tuple[Row, ...]:
    return tuple(tracking.run({"trial": 0}))


def test_cells_give_the_same_rows_again() -> None:
    first = rows()
    forget_drives()
    assert tuple(tracking.run({"trial": 0})) == first


def test_the_car_most_told_of_is_followed() -> None:
    recording = short_drive()
    car = most_told(recording)
    ids = recording.streams[RADIO].column("id").to_pylist()
    assert ids.count(car) == max(ids.count(other) for other in set(ids) - {0})
    assert {row["car"] for row in rows()} == {car}


def test_only_the_first_trial_keeps_places() -> None:
    places = where(rows(), part="place")
    assert 0 < len(places) < 60
    assert {row["setting"] for row in places} == set(tracking.SHOWN)
    for stretch in ("first", "passing"):
        times = [number(row, "about") for row in where(places, stretch=stretch)]
        assert max(times) - min(times) < STRETCH
    assert not where(tracking.run({"trial": 1}), part="place")


def test_findings() -> None:
    found = tracking.analyse(rows())
    assert [claim.figure for claim in found.claims] == ["figure 20"] * 6
    maps = [picture for picture in found.pictures if isinstance(picture, TrackMap)]
    assert [one.name for one in maps[0].tracks] == [*tracking.SHOWN, "where it was"]
    assert all(place.radius for track in maps[0].tracks[:2] for place in track.places)


@pytest.mark.parametrize(("claim", "key"), [(0, "error"), (1, "radius")])
def test_claims_can_fail(claim: int, key: str) -> None:
    """A worse EDF is told to differ, a better one is not."""
    for factor, verdict in ((100.0, Verdict.DIFFERS), (0.01, Verdict.SAME)):
        found = tracking.analyse(scaled(rows(), AS_PRINTED.label, key, factor))
        assert found.claims[claim].verdict is verdict
        assert bool(found.claims[claim].why) == (verdict is Verdict.DIFFERS)


@pytest.mark.parametrize(
    ("inside", "radius", "repeats"), [(0.5, 0.01, True), (1.5, 0.01, False), (0.5, 100.0, False)]
)
def test_repeated_errors_explain_only_what_they_can(
    inside: float, radius: float, repeats: bool
) -> None:
    """They make a filter surer and less right: told of a larger error, and only if that is seen."""
    worse = rows()
    for key, factor in (("error", 100.0), ("inside_axes", inside), ("radius", radius)):
        worse = tuple(scaled(worse, AS_PRINTED.label, key, factor))
    error, circle = tracking.analyse(worse).claims[:2]
    assert error.why.startswith(tracking.REPEATS) == repeats
    assert error.why == NO_REASON or repeats
    assert circle.why == (NO_REASON if radius > 1 else "")


def scaled(found: Sequence[Row], label: str, key: str, factor: float) -> list[Row]:
    return [
        {**row, key: number(row, key) * factor}
        if row["part"] == "trial" and row["setting"] == label
        else row
        for row in found
    ]


def test_what_is_inside() -> None:
    """Off by 1 m east; the interval of x is 2 m to either side, that of y 0.5 m."""
    zeros, one = np.zeros(2), np.ones(2)
    told = Tracked(
        np.arange(2), x=one, y=np.array([0.0, 1.8]), true_x=zeros, true_y=zeros,
        half_x=2 * one, half_y=0.5 * one,
    )  # fmt: skip
    assert told.radius.tolist() == [2.0, 2.0]
    assert told.inside.tolist() == [True, False]
    assert told.inside_axes.tolist() == [1.0, 0.5]


def test_fresh_reports_err_as_much_as_they_tell() -> None:
    """Squared errors in units of the told variance are 1 in the mean, but for a chance of some
    millionths. They would not be if the variance were taken for the deviation."""
    recording = short_drive()
    heard = with_fresh_reports(recording, 0).streams[RADIO]
    told = {name: heard.column(name).to_numpy() for name in ("id", "x", "y", "var_x", "var_y")}
    truth = true_places(recording, told["id"], sensed_at(recording, RADIO))
    for axis, true in zip(("x", "y"), truth, strict=True):
        there, variance = ~np.isnan(true), told[f"var_{axis}"]
        drawn = ((told[axis] - true) / np.sqrt(variance))[there]
        chance = 5 * np.sqrt(2 / len(drawn))
        assert chance < 0.2
        assert np.mean(drawn**2) == pytest.approx(1, abs=chance)
        assert np.mean(variance[there] * drawn**2) != pytest.approx(1, abs=chance)


def test_fresh_reports_change_positions_only() -> None:
    recording = short_drive()
    fresh = with_fresh_reports(recording, 0)
    before, after = recording.streams[RADIO], fresh.streams[RADIO]
    assert after.schema == before.schema
    assert after.drop_columns(["x", "y"]).equals(before.drop_columns(["x", "y"]))
    assert with_fresh_reports(recording, 0).streams[RADIO].equals(after)
    assert not with_fresh_reports(recording, 1).streams[RADIO].equals(after)


def test_boxes_are_pooled_over_trials() -> None:
    """20 errors evenly from 0 to 1 m in one trial, 30 from 10 to 11 m in another, none in a third:
    the first is the lower 40 % of all."""
    found = [made(0, 20, 0.0), made(1, 30, 10.0), made(2, 0, None)]
    box = pooled_box("a", trials_quantiles(found, "a"))
    assert box.least == pytest.approx(5 / 40)
    assert box.lower == pytest.approx(25 / 40)
    assert box.median == pytest.approx(10 + 10 / 60)
    assert box.upper == pytest.approx(10 + 35 / 60)
    assert box.greatest == pytest.approx(10 + 55 / 60)


def made(trial: int, count: int, start: float | None) -> Row:
    kept = {
        key: None if start is None else start + share / 100
        for key, share in zip(KEYS, SHARES, strict=True)
    }
    return {"trial": trial, "setting": "a", "which": "all", "count": count, **kept}


def test_rows_of_position_errors_hold_their_quantiles() -> None:
    found = where(position_error.run({"trial": 0}), which="all")
    for row in found:
        kept = [number(row, key) for key in KEYS]
        assert kept == sorted(kept)
        assert kept[0] < number(row, "about") < kept[-1]
    boxes = {label: pooled_box(label, trials_quantiles(found, label)) for label in
             (AS_PRINTED.label, position_error.UNFUSED)}  # fmt: skip
    assert boxes[AS_PRINTED.label].upper < boxes[position_error.UNFUSED].lower
