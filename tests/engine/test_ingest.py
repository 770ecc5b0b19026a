from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compiled import compiled_shedder

from headway.engine.ingest import Entering, Ingest
from headway.engine.operators.operator_base import DropKind
from headway.model.expression import Sql
from headway.model.quantities import MICROSECOND
from headway.model.query import Decide, LoadShedder, Source
from headway.model.schema import schema

CAR = schema(v="double")


def ingest(lateness: int = 0, shed: LoadShedder | None = None) -> Ingest:
    shedder = None if shed is None else compiled_shedder(shed, CAR)
    return Ingest(Source(name="car", schema=CAR, lateness=lateness, shedder=shedder))


def test_late_is_more_than_the_lateness_behind_the_newest() -> None:
    entrance = ingest(lateness=3 * MICROSECOND)
    assert entrance.watermark is None
    times = [10, 7, 6, 12, 9, 8, 12]
    marks = [one.late for time in times for one in entrance.offer((time, 1.0), 0)]
    assert marks == [False, False, True, False, False, True, False]
    assert entrance.watermark == 9


def test_parts_of_a_microsecond_of_lateness_do_not_count() -> None:
    entrance = ingest(lateness=2 * MICROSECOND + 999)
    assert [entrance.offer((time, None), 0)[0].late for time in (10, 8, 7)] == [False, False, True]


@pytest.mark.parametrize("row", [(None, 1.0), (float("nan"), 1.0), (1, "x"), (1,), "ab", 7])
def test_rows_without_the_promised_form_are_rejected_and_move_no_time(row: Any) -> None:
    entrance = ingest()
    assert entrance.offer(row, 0) == []
    (dropped,) = entrance.take_side()
    assert (dropped.where, dropped.kind) == ("car", DropKind.REJECTED)
    assert dropped.reason
    assert entrance.watermark is None


def test_numbers_are_brought_to_their_type() -> None:
    assert repr(ingest().offer((1, 2), 0)) == repr([Entering((1, 2.0), False)])


def test_only_tuples_that_enter_move_the_time() -> None:
    shed = LoadShedder(at_most=1, per=10, value=Sql("v"), decide=Decide.WINDOW_END)
    entrance = ingest(shed=shed)
    assert entrance.offer((50, 1.0), 3) == []
    assert entrance.offer((20, 2.0), 4) == []
    assert (entrance.due(), entrance.size(), entrance.watermark) == (10, 1, None)
    assert entrance.release(10) == [Entering((20, 2.0), False)]
    assert entrance.watermark == 20
    assert entrance.offer((19, 0.0), 12) == []
    assert entrance.offer((21, 0.0), 25) == [Entering((19, 0.0), True)]
    assert [one.kind for one in entrance.take_side()] == [DropKind.SHED]


def test_without_a_shedder_nothing_is_held() -> None:
    entrance = ingest()
    assert (entrance.due(), entrance.release(5), entrance.size()) == (None, [], 0)


@given(st.lists(st.integers(-20, 20)), st.integers(0, 10), st.integers(0, 10))
def test_marks_are_those_of_the_definition(times: list[int], lateness: int, move: int) -> None:
    entrance = ingest(lateness=lateness * MICROSECOND)
    marks = []
    for number, time in enumerate(times):
        if number == move:
            state = json.loads(json.dumps(entrance.snapshot()))
            entrance = ingest(lateness=lateness * MICROSECOND)
            entrance.restore(state)
        marks += [one.late for one in entrance.offer((time, None), 0)]
    expected = [
        any(time < earlier - lateness for earlier in times[:number])
        for number, time in enumerate(times)
    ]
    assert marks == expected
    assert entrance.watermark == (max(times) - lateness if times else None)
