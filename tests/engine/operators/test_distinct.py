"""Distinct: against its definition, whatever it has forgotten."""

from __future__ import annotations

import math
import random

import pytest
from tests.engine.operators.build import moved, one_input

from headway.engine.operators.distinct import DistinctOperator
from headway.engine.operators.operator_base import DropKind
from headway.model.operators import Distinct
from headway.model.quantities import MICROSECOND
from headway.model.schema import schema
from headway.model.user_operator import Row

CAR = schema(id="double", v="int")


def distinct(within: int, keys: tuple[str, ...] = ("id",)) -> DistinctOperator:
    model = Distinct(
        name="d", inputs=one_input("car"), keys=keys, within=within * MICROSECOND + 999
    )
    return DistinctOperator(model, {"input": CAR}, CAR)


def passed(operator: DistinctOperator, rows: list[Row]) -> list[Row]:
    return [out for row in rows for out in operator.accept("input", row, 0)]


def test_the_first_to_arrive_passes_at_once() -> None:
    operator = distinct(10)
    rows: list[Row] = [(100, 1.0, 1), (105, 1.0, 2), (101, 2.0, 3), (95, 1.0, 4), (90, 1.0, 5)]
    assert passed(operator, rows) == [(100, 1.0, 1), (101, 2.0, 3)]
    assert passed(operator, [(110, 1.0, 6), (111, 1.0, 7), (89, 1.0, 8)]) == [
        (111, 1.0, 7),
        (89, 1.0, 8),
    ]


def test_what_did_not_pass_suppresses_nothing() -> None:
    steady: list[Row] = [(time, 1.0, 0) for time in range(0, 50, 4)]
    assert [row[0] for row in passed(distinct(10), steady)] == [0, 12, 24, 36, 48]


def test_nothing_within_no_time_is_the_same_instant() -> None:
    rows: list[Row] = [(1, 1.0, 1), (1, 1.0, 2), (2, 1.0, 3), (1, 1.0, 4)]
    assert passed(distinct(0), rows) == [(1, 1.0, 1), (2, 1.0, 3)]


def test_keys_are_equal_as_in_sql() -> None:
    nan = math.nan
    rows: list[Row] = [
        (1, None, 1),
        (2, None, 2),
        (3, nan, 3),
        (4, nan, 4),
        (5, 0.0, 5),
        (6, -0.0, 6),
    ]
    assert [row[2] for row in passed(distinct(100), rows)] == [1, 3, 5]
    assert [row[2] for row in passed(distinct(100, ()), rows)] == [1]
    assert [row[2] for row in passed(distinct(100, ("id", "v")), rows)] == [1, 2, 3, 4, 5, 6]


def test_a_late_tuple_stays_outside_and_suppresses_nothing() -> None:
    operator = distinct(10)
    assert operator.accept("input", (100, 1.0, 1), 0, True) == []
    assert operator.accept("input", (101, 1.0, 2), 0) == [(101, 1.0, 2)]
    operator.advance(95)
    assert operator.accept("input", (94, 2.0, 3), 0) == []
    late = operator.take_side()
    assert [(one.kind, one.row[2], one.port) for one in late] == [
        (DropKind.LATE, 1, "input"),
        (DropKind.LATE, 3, "input"),
    ]
    assert [one.reason for one in late] == [
        "marked late at its source",
        "older than the watermark 95",
    ]


@pytest.mark.parametrize("seed", range(20))
def test_it_is_what_the_definition_says(seed: int) -> None:
    """A tuple passes unless one of its key has that is within reach; forgetting and moving to
    another instance change nothing, and what is kept stays bounded."""
    draw = random.Random(seed)
    within, lateness = draw.choice((0, 3, 40)), draw.choice((0, 5, 60))
    operator, newest = distinct(within), 0
    results: list[Row] = []
    largest = needed = 0
    for number in range(2000):
        time = max(newest - draw.randint(0, lateness), 0) + draw.choice((0, 0, 1, 2, 9))
        newest = max(newest, time)
        row = (time, draw.choice((1.0, 2.0, None, math.nan, float(number))), number)
        near = any(
            repr(other[1]) == repr(row[1]) and abs(other[0] - time) <= within for other in results
        )
        assert operator.accept("input", row, 0) == ([] if near else [row])
        if not near:
            results.append(row)
        operator.advance(newest - lateness)
        if draw.random() < 0.01:
            after = moved(operator, distinct(within))
            assert isinstance(after, DistinctOperator)
            operator = after
        largest = max(largest, operator.size())
        reachable = newest - lateness - within
        needed = max(needed, sum(other[0] >= reachable for other in results))
    assert operator.take_side() == []
    assert len(results) > 300
    assert largest <= 2 * needed + 65


def test_what_no_tuple_can_come_near_is_forgotten() -> None:
    """However long it runs: the state is swept each time it has doubled."""
    operator = distinct(10)
    for n in range(20_000):
        assert passed(operator, [(n * 100, float(n), n)])
        operator.advance(n * 100)
    assert len(operator._passed) < 5_000
