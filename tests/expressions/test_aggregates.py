"""Aggregates: states that take rows, and states that are merged, give the same."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.expressions.columns import EMPTY, WINDOW

from headway.expressions.aggregates import AggregateFunctions, compile_aggregates
from headway.expressions.check import check
from headway.model.expression import Sql

COLUMNS = (
    "count(*)",
    "count(speed)",
    "count_if(speed > 1)",
    "max(speed) - min(speed)",
    "avg(id)",
    "sum(id)",
    "sum(big)",
    "bool_or(ok)",
    "bool_and(ok)",
    "max(name)",
    "id + count(*)",
    "window_end",
)


def compiled(*texts: str) -> AggregateFunctions:
    typed = [check(Sql(text), WINDOW, aggregates=True, grouping=("id",)) for text in texts]
    return compile_aggregates(typed, WINDOW, ("id",))


def row(speed: float | None = None, id: int | None = None, **others: Any) -> tuple[Any, ...]:
    return (0, speed, None, None, id, *(others.get(n) for n in ("big", "small", "name", "ok", "t")))


def test_of_an_empty_group() -> None:
    functions = compiled(*COLUMNS)
    assert functions.result(functions.new(), (7,), 0, 10) == (
        *(0, 0, 0, None, None, None, None, None, None, None),
        *(7, 10),
    )


def test_of_rows() -> None:
    functions = compiled(*COLUMNS)
    state = functions.new()
    functions.add(state, row(1.0, 3, ok=True, name="b", big=2**63 - 1))
    functions.add(state, row(4.0, 4, ok=False, name="a", big=1))
    functions.add(state, EMPTY)
    assert functions.result(state, (7,), 0, 10) == (
        *(3, 2, 1, 3.0, 3.5, 7, -(2**63), True, False, "b"),
        *(10, 10),
    )


def test_nan_is_the_largest() -> None:
    functions = compiled("min(speed)", "max(speed)")
    for speeds in ([math.nan, 1.0, 2.0], [1.0, math.nan, 2.0], [2.0, 1.0, math.nan]):
        state = functions.new()
        for speed in speeds:
            functions.add(state, row(speed))
        least, greatest = functions.result(state, (7,), 0, 10)
        assert least == 1.0
        assert math.isnan(greatest)


def test_equal_aggregates_share_a_slot() -> None:
    assert len(compiled("max(speed)", "max(speed) + 1", "-max(speed)").new()) == 1


@pytest.mark.parametrize("cut", [0, 1, 3])
def test_a_state_survives_json(cut: int) -> None:
    functions = compiled("count(*)", "max(id)", "bool_or(ok)", "sum(big)")
    state = functions.new()
    for number in range(cut):
        functions.add(state, row(1.0, number, ok=True, big=number))
    assert json.loads(json.dumps(state)) == state


_rows = st.lists(
    st.builds(
        row,
        st.none() | st.integers(-9, 9).map(float) | st.just(math.nan),
        st.none() | st.integers(-9, 9),
        ok=st.none() | st.booleans(),
        name=st.none() | st.text("ab", max_size=2),
        big=st.none() | st.integers(-(2**63), 2**63 - 1),
    ),
    max_size=8,
)


@given(_rows, _rows)
def test_merging_is_adding(some: list[tuple[Any, ...]], more: list[tuple[Any, ...]]) -> None:
    functions = compiled(*COLUMNS)
    whole, left, right = functions.new(), functions.new(), functions.new()
    for one in some + more:
        functions.add(whole, one)
    for one in some:
        functions.add(left, one)
    for one in more:
        functions.add(right, one)
    functions.merge(left, right)
    assert repr(functions.result(left, (7,), 0, 10)) == repr(functions.result(whole, (7,), 0, 10))
