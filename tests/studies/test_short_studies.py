"""The studies whose quick runs are long, on short drives: the same rows again, findings, reasons
that are told only where the rows show them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
from tests.studies.quick_run import LONG, say_something
from tests.studies.studies_on_short_drives import forget_drives, studies_on_short_drives

from headway.drive.collision_warning import Setting
from headway_studies.aedsms import crashes, output1_latency, position_error
from headway_studies.aedsms.collision_drives import AS_PRINTED, FIFO, FIFO_SILENT, SILENT
from headway_studies.aedsms.position_error import mean_error
from headway_studies.registry import STUDIES
from headway_studies.row_reading import number, where
from headway_studies.study import NO_REASON, Cell, Claim, Row, Scalar, Study, Verdict

SHORT_ONES = [STUDIES["crashes"], *(STUDIES[name] for name in sorted(LONG - {"recorded-drive"}))]
FIFO_CRASHES, WORST_S_EDF, WORST_FIFO, WORST_SILENT = 2, 4, 6, 7
"""places of the claims about crashes"""
GAIN, METRES, POLICIES = range(3)
"""places of the claims about position errors"""


@pytest.fixture(scope="module", autouse=True)
def _short_drives() -> Iterator[None]:
    with studies_on_short_drives():
        yield
    rows.cache_clear()


def chosen(study: Study) -> list[Cell]:
    """Of the quick grid: one trial, one point of a curve over limits."""
    found = study.cells(True)
    return [one for one in found if one.get("trial", 0) == 0 and one.get("limit", 100) == 100]


@cache
def rows(study: Study, place: int = 0) -> tuple[Row, ...]:
    """Of one of these cells; the first is trial 0."""
    return tuple(study.run(chosen(study)[place]))


def all_rows(study: Study) -> list[Row]:
    return [row for place in range(len(chosen(study))) for row in rows(study, place)]


@pytest.mark.parametrize("study", SHORT_ONES, ids=lambda one: one.name)
def test_cells_give_the_same_rows_again(study: Study) -> None:
    last = len(chosen(study)) - 1
    first = rows(study, last)
    forget_drives()
    assert tuple(study.run(chosen(study)[last])) == first


@pytest.mark.parametrize("study", SHORT_ONES, ids=lambda one: one.name)
def test_findings(study: Study) -> None:
    say_something(study.analyse(all_rows(study)))


def test_the_longest_latencies() -> None:
    found = rows(output1_latency.STUDY)
    printed, between_items, fifo = output1_latency.settings_at(output1_latency.LIMITS[0])
    gains = [output1_latency.reduction(found, one, fifo) for one in (printed, between_items)]
    assert 0 < gains[0] < 0.3 < gains[1]
    assert len(output1_latency.analyse(found).claims) == 2 * len(output1_latency.LIMITS)


def test_position_errors() -> None:
    found = all_rows(position_error.STUDY)
    best = mean_error(found, AS_PRINTED.label)
    assert best < mean_error(found, position_error.UNFUSED) / 3
    gains = [
        number(row, "raw") / number(row, "fused") for row in found if row.get("drift") is not None
    ]
    assert len(gains) == len(position_error.DRIFTS)
    assert gains == sorted(gains, reverse=True)


def changed(found: tuple[Row, ...], wanted: dict[str, Scalar], **new: Scalar) -> tuple[Row, ...]:
    """The rows with new values where they have the ``wanted`` ones."""
    assert where(found, **wanted)
    return tuple(
        {**row, **new} if all(row.get(key) == value for key, value in wanted.items()) else row
        for row in found
    )


def first_seen(found: tuple[Row, ...], setting: Setting, left: float) -> tuple[Row, ...]:
    """The only car of the short drive is first detected so many seconds before the impact."""
    wanted: dict[str, Scalar] = {"part": "meeting", "setting": setting.label}
    return changed(found, wanted, ttc=left, crash=left < 2.8)


def about_crashes(found: tuple[Row, ...]) -> tuple[Claim, ...]:
    return crashes.analyse(found).claims


def test_one_sender_explains_the_car_that_the_radar_saw_first() -> None:
    silent = FIFO_SILENT
    late = changed(
        first_seen(first_seen(rows(crashes.STUDY), FIFO, 0.93), silent, 0.95),
        {"part": "reports"},
        senders=1,
    )
    assert about_crashes(late)[WORST_FIFO].why == crashes.ONE_SENDER
    for other in (
        changed(late, {"part": "reports"}, senders=2),
        first_seen(late, silent, 0.5),
        first_seen(late, FIFO, 5.0),
    ):
        claim = about_crashes(other)[WORST_FIFO]
        assert claim.verdict is Verdict.DIFFERS
        assert claim.why == NO_REASON
    assert about_crashes(first_seen(late, SILENT, 0.1))[WORST_SILENT].why == NO_REASON
    assert about_crashes(first_seen(late, AS_PRINTED, 9.0))[WORST_S_EDF].why == NO_REASON


def test_few_crashes_are_explained_by_the_car_that_is_reported_last() -> None:
    """Twenty drives past two cars: the one that is reported later is hit in four."""
    made = tuple(
        {**row, "trial": trial, "car": car}
        | ({"in_view": 9.0 - car} if row["part"] == "reports" else {})
        | ({"crash": car == 7 and trial < 4} if row["part"] == "meeting" else {})
        for row in rows(crashes.STUDY)
        for trial in range(20)
        for car in ((3, 7) if row["part"] in ("reports", "meeting") else (0,))
    )
    more = tuple({**row, "car": 4} for row in made if row.get("car") == 3)
    few = (*made, *more)
    claim = about_crashes(few)[FIFO_CRASHES]
    assert claim.verdict is Verdict.SAME  # 4 of 60
    none = tuple({**row, "car": car} for row in more for car in (5, 6))
    claim = about_crashes((*few, *none))[FIFO_CRASHES]
    assert claim.verdict is Verdict.DIFFERS  # 4 of 100
    assert "2.0 s before the impact, and hit in 20%" in claim.why
    earlier = changed((*few, *none), {"part": "reports", "car": 7}, in_view=9.0)
    assert about_crashes(earlier)[FIFO_CRASHES].why == NO_REASON


def test_missed_deadlines_are_those_of_the_rows() -> None:
    fifo: dict[str, Scalar] = {"part": "trial", "setting": FIFO.label}
    found = changed(rows(crashes.STUDY), fifo, misses1=0, misses2=1, tuples2=4)
    told = about_crashes(found)[FIFO_CRASHES].ours
    assert "misses 0.00% of output1 and 25.00% of output2" in told


def about_errors(
    metres: dict[str, float], gains: tuple[float, float, float], own: float
) -> tuple[Claim, ...]:
    """Mean errors by setting; our own error without fusion, and how much less it is with fusion
    for each drift."""
    found = rows(position_error.STUDY)
    for label, error in metres.items():
        found = changed(found, {"setting": label, "which": "all"}, about=error)
    drifts: list[Row] = [
        {"trial": 0, "drift": drift, "raw": own, "fused": own / gain}
        for drift, gain in zip(position_error.DRIFTS, gains, strict=True)
    ]
    return position_error.analyse([*found, *drifts]).claims


def errors(edf: float, fifo: float, unfused: float) -> dict[str, float]:
    names = (AS_PRINTED.label, FIFO.label, position_error.UNFUSED)
    return dict(zip(names, (edf, fifo, unfused), strict=True))


def test_published_errors_hold() -> None:
    found = about_errors(errors(2.32, 3.37, 7.30), (3.0, 2.0, 1.0), 7.30)
    assert [one.verdict for one in found[:3]] == [Verdict.SAME] * 3


@pytest.mark.parametrize(
    ("edf", "verdict"),
    [
        (0.24, Verdict.SAME),
        (0.29, Verdict.DIFFERS),
        (0.40, Verdict.DIFFERS),
        (0.05, Verdict.DIFFERS),
    ],
)
def test_how_much_smaller_is_a_matter_of_scale(edf: float, verdict: Verdict) -> None:
    assert about_errors(errors(edf, 0.30, 2.7), (7.0, 1.8, 1.0), 2.7)[POLICIES].verdict is verdict


def test_white_noise_is_the_reason_only_if_drifts_show_it() -> None:
    given = errors(0.24, 0.30, 2.7)
    found = about_errors(given, (7.0, 1.8, 1.0), 2.7)
    assert found[GAIN].why.startswith(position_error.WHITE_NOISE)
    assert "stays for 1 s fusion gains 1.8 times" in found[GAIN].why
    assert "stays for 1 s" in found[METRES].why
    assert "off by 1.50 m instead of 0.39 m" in found[METRES].why
    for other in (
        about_errors(given, (7.0, 6.0, 5.0), 2.7),
        about_errors(given, (1.0, 1.0, 1.0), 2.7),
    ):
        assert [other[place].verdict for place in (GAIN, METRES)] == [Verdict.DIFFERS] * 2
        assert [other[place].why for place in (GAIN, METRES)] == [NO_REASON] * 2
    small = about_errors(errors(2.5, 3.4, 2.7), (7.0, 1.8, 1.0), 2.7)
    assert small[GAIN].why == NO_REASON
