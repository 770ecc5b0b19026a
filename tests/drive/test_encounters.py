"""First detections, crashes by hand."""

from __future__ import annotations

import numpy as np
import pytest

from headway.drive.encounters import Meeting, Risks, crash_rate, meetings, worst_ttc

S = 1_000_000
RISKS = Risks(
    id=np.array([7, 8, 7, 9, 8]),
    produced=np.array([1 * S, 2 * S, 3 * S, 9 * S, 9 * S]),
    ttc=np.array([4.0, 3.0, 2.0, 1.0, 0.5]),
)
IMPACTS = {7: 5 * S, 8: 4_700_000, 9: 8 * S, 10: 20 * S}


def test_the_first_tuple_counts_and_the_time_left_is_measured() -> None:
    found = {one.car: one for one in meetings(RISKS, IMPACTS)}
    assert found[7] == Meeting(7, 5 * S, 1 * S, 4.0, 4.0)
    assert found[8] == Meeting(8, 4_700_000, 2 * S, 2.7, 3.0)


def test_a_warning_after_the_impact_is_none() -> None:
    found = {one.car: one for one in meetings(RISKS, IMPACTS)}
    assert found[9].detected is None
    assert found[10].detected is None


def test_meetings_are_in_order_of_impact() -> None:
    assert [one.car for one in meetings(RISKS, IMPACTS)] == [8, 7, 9, 10]


@pytest.mark.parametrize(
    ("ttc", "crash"), [(2.8, False), (2.7999, True), (2.81, False), (None, True), (0.0, True)]
)
def test_who_has_less_than_the_stopping_time_crashes(ttc: float | None, crash: bool) -> None:
    assert Meeting(1, 10 * S, 0, ttc).crash is crash


def test_the_crash_rate_counts_those_never_seen() -> None:
    found = meetings(RISKS, IMPACTS)
    assert crash_rate(found) == 0.75
    assert worst_ttc(found) == 0.0
    assert crash_rate(()) == 0.0
    assert worst_ttc(meetings(RISKS, {7: 5 * S, 8: 4_700_000})) == 2.7
