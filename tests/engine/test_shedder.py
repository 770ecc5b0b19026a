from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compiled import compiled_shedder
from tests.engine.operators.users import HERE
from tests.exploring import examples

from headway.engine.ingest import Shedder, rank
from headway.engine.operators.operator_base import DropKind
from headway.model.expression import PythonCall, Sql
from headway.model.query import Decide, LoadShedder
from headway.model.schema import DataType, schema
from headway.model.user_operator import Row

V2V = schema(v="double")
NAN = float("nan")


def shedder(at_most: int, per: int, decide: Decide) -> Shedder:
    model = LoadShedder(at_most=at_most, per=per, value=Sql("v"), decide=decide)
    return Shedder("v2v", compiled_shedder(model, V2V), V2V)


def test_on_arrival_the_threshold_is_learnt_from_the_window_before() -> None:
    shed = shedder(2, 10, Decide.ARRIVAL)
    passed = [bool(shed.offer((now, value), now)) for now, value in [(0, 1.0), (1, 5.0), (2, 3.0)]]
    assert passed == [True, True, False], "nothing is known in the first window"
    passed = [
        bool(shed.offer((now, value), now)) for now, value in [(10, 2.9), (11, 3.0), (19, 9.0)]
    ]
    assert passed == [False, True, True]
    assert shed.offer((20, 2.0), 20) == [], "9 and 3 were the best two of three"
    assert shed.offer((40, 0.0), 40) == [(40, 0.0)], "the window before was empty"
    assert [(one.row[0], one.value, one.kind) for one in shed.take_side()] == [
        (2, 3.0, DropKind.SHED),
        (10, 2.9, DropKind.SHED),
        (20, 2.0, DropKind.SHED),
    ]
    assert shed.due() is None


def test_only_the_window_just_before_counts() -> None:
    shed = shedder(1, 10, Decide.ARRIVAL)
    for now in (0, 1):
        shed.offer((now, 9.0), now)
    assert shed.offer((20, 1.0), 20) == [(20, 1.0)]


def test_a_full_but_not_overfull_window_sets_no_threshold() -> None:
    shed = shedder(2, 10, Decide.ARRIVAL)
    for now in (0, 1):
        shed.offer((now, 9.0), now)
    assert shed.offer((10, None), 10) == [(10, None)]


def test_at_the_windows_end_the_best_pass_in_arrival_order() -> None:
    shed = shedder(2, 10, Decide.WINDOW_END)
    for now, value in [(0, 3.0), (1, None), (2, NAN), (9, 3.0)]:
        assert shed.offer((now, value), now) == []
    assert shed.due() == 10
    assert shed.size() == 2
    assert shed.release(9) == []
    assert repr(shed.release(10)) == repr([(0, 3.0), (2, NAN)]), "of two equal the earlier"
    assert shed.due() is None
    assert [(one.row[0], one.value) for one in shed.take_side()] == [(1, None), (9, 3.0)]


def test_an_arrival_after_the_end_releases_the_window_first() -> None:
    shed = shedder(2, 10, Decide.WINDOW_END)
    shed.offer((0, 3.0), 0)
    assert shed.offer((10, 1.0), 10) == [(0, 3.0)]
    assert shed.due() == 20


def test_a_value_that_cannot_be_computed() -> None:
    call = PythonCall(f"{HERE}:reciprocal", ("v",), DataType.DOUBLE)
    model = LoadShedder(at_most=1, per=10, value=call)
    shed = Shedder("v2v", compiled_shedder(model, V2V), V2V)
    assert shed.offer((1, 0.0), 0) == []
    (dropped,) = shed.take_side()
    assert dropped.kind is DropKind.FAILED
    assert dropped.reason.startswith("operator 'v2v.shed': ZeroDivisionError")


def test_nothing_may_pass() -> None:
    for decide in Decide:
        shed = shedder(0, 10, decide)
        assert [shed.offer((now, 1.0), now) for now in (0, 5, 12)] == [[]] * 3
        assert len(shed.take_side()) == 3


VALUES = st.none() | st.sampled_from([0.0, 1.0, 2.0, 3.0, -1.0, NAN, float("inf"), float("-inf")])
ARRIVALS = st.lists(st.tuples(st.sampled_from([0, 0, 0, 1, 2, 20]), VALUES), max_size=40)


def arrivals_of(gaps: list[tuple[int, float | None]]) -> list[tuple[int, Row]]:
    now, arrivals = 0, []
    for gap, value in gaps:
        now += gap
        arrivals.append((now, (now, value)))
    return arrivals


def windows_of(arrivals: list[tuple[int, Row]], per: int) -> dict[int, list[Row]]:
    windows: dict[int, list[Row]] = {}
    for now, row in arrivals:
        windows.setdefault(now // per, []).append(row)
    return windows


def by_arrival(windows: dict[int, list[Row]], at_most: int) -> list[Row]:
    passed: list[Row] = []
    for window, rows in windows.items():
        before = windows.get(window - 1, [])
        ordered = sorted((rank(row[1]) for row in before), reverse=True)
        threshold: Any = ordered[at_most - 1] if len(before) > at_most else (-1, 0)
        good = [row for row in rows if rank(row[1]) >= threshold]
        passed += good[:at_most]
    return passed


def by_window(windows: dict[int, list[Row]], at_most: int) -> list[Row]:
    passed: list[Row] = []
    for rows in windows.values():
        numbered = list(enumerate(rows))
        best = sorted(numbered, key=lambda one: (rank(one[1][1]), -one[0]), reverse=True)
        passed += [row for _, row in sorted(best[:at_most], key=lambda one: one[0])]
    return passed


@examples(200)
@given(
    ARRIVALS,
    st.integers(1, 4),
    st.integers(1, 15),
    st.sampled_from(Decide),
    st.integers(0, 40),
)
def test_it_is_what_the_definition_says(
    gaps: list[tuple[int, float | None]], at_most: int, per: int, decide: Decide, move: int
) -> None:
    arrivals = arrivals_of(gaps)
    shed = shedder(at_most, per, decide)
    entered: list[Row] = []
    count = 0
    for number, (now, row) in enumerate(arrivals):
        if number == move:
            state = json.loads(json.dumps(shed.snapshot()))
            count += len(shed.take_side())
            shed = shedder(at_most, per, decide)
            shed.restore(state)
        entered += shed.offer(row, now)
        assert shed.size() <= at_most
    if (due := shed.due()) is not None:
        entered += shed.release(due)
    expected = {Decide.ARRIVAL: by_arrival, Decide.WINDOW_END: by_window}[decide]
    assert repr(entered) == repr(expected(windows_of(arrivals, per), at_most))
    assert len(entered) + len(shed.take_side()) + count == len(arrivals)


@pytest.mark.parametrize(
    ("lower", "higher"), [(None, float("-inf")), (float("inf"), NAN), (1, 2), (0.5, 1)]
)
def test_order_of_values(lower: float | None, higher: float | None) -> None:
    assert rank(lower) < rank(higher)
