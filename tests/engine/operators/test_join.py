from __future__ import annotations

import heapq
import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compiled import behaving
from tests.engine.operators.build import moved, same, sql_columns
from tests.engine.operators.users import HERE
from tests.exploring import examples

from headway.engine.operators.join import JoinOperator
from headway.engine.operators.operator_base import DropKind, StatefulOperator, Timer
from headway.model.expression import Column, PythonCall, Sql
from headway.model.operators import Input, Join
from headway.model.quantities import MICROSECOND, MILLISECOND
from headway.model.schema import DataType, schema
from headway.model.user_operator import Row

LEFT = schema(id="double", x="int")
RIGHT = schema(key="double", y="int")
INPUTS = {"a": LEFT, "b": RIGHT}


def join(**options: Any) -> JoinOperator:
    model = Join(name="j", inputs=(Input("a", "s"), Input("b", "t")), **options)
    return JoinOperator(*behaving(model, INPUTS))


@dataclass(frozen=True)
class Event:
    port: str
    row: Row
    now: int
    late: bool = False


def test_pairs_within_the_time_and_with_equal_keys() -> None:
    operator = join(within=2 * MICROSECOND, keys=(("id", "key"),))
    assert operator.accept("a", (10, 1.0, 100), 0) == []
    assert operator.accept("a", (8, 1.0, 101), 0) == []
    assert operator.accept("a", (8, 1.0, 102), 0) == []
    assert operator.accept("a", (7, 1.0, 103), 0) == []
    assert operator.accept("a", (10, 2.0, 104), 0) == []
    assert operator.accept("b", (10, 1.0, 0), 0) == [
        (8, 1.0, 101, 1.0, 0),
        (8, 1.0, 102, 1.0, 0),
        (10, 1.0, 100, 1.0, 0),
    ]
    assert operator.accept("a", (12, 1.0, 105), 0) == [(10, 1.0, 105, 1.0, 0)]


def test_null_keys_match_nothing_and_nan_and_zero_match_their_like() -> None:
    nan = float("nan")
    operator = join(within=0, keys=(("id", "key"),), columns=(Column("x", Sql("x")),))
    for x, key in enumerate([None, nan, 0.0]):
        assert operator.accept("a", (1, key, x), 0) == []
    assert operator.accept("b", (1, None, 0), 0) == []
    assert operator.accept("b", (1, float("nan"), 0), 0) == [(1, 1)]
    assert operator.accept("b", (1, -0.0, 0), 0) == [(1, 2)]


def test_where_narrows_and_columns_are_computed() -> None:
    operator = join(
        within=MILLISECOND,
        where=Sql("a.x < b.y"),
        columns=sql_columns({"gap": "b.y - a.x", "apart": "id"}),
    )
    operator.accept("a", (1, 1.0, 5), 0)
    operator.accept("a", (2, 1.5, None), 0)
    assert operator.accept("b", (3, 0.0, 5), 0) == []
    assert operator.accept("b", (3, 0.0, 9), 0) == [(1, 4, 1.0)]


def test_a_timeout_sends_a_lonely_tuple_out_and_forgets_it() -> None:
    operator = join(within=MILLISECOND, timeout=10)
    operator.accept("a", (1, 1.0, 5), 100)
    operator.accept("a", (2, 2.0, 6), 103)
    assert operator.take_timers() == [Timer(110, 0), Timer(113, 1)]
    assert operator.take_timers() == []
    assert operator.expire(0, 110) == [(1, 1.0, 5, None, None)]
    assert operator.expire(0, 110) == []
    assert operator.accept("b", (3, 3.0, 7), 111) == [(2, 2.0, 6, 3.0, 7)]
    assert operator.take_timers() == [], "it found a partner at once"
    assert operator.expire(1, 113) == []
    assert operator.size() == 2, "a tuple that had a partner stays"


def test_a_lonely_tuple_of_the_right_side_with_a_null_key() -> None:
    operator = join(within=0, timeout=10, keys=(("id", "key"),))
    operator.accept("b", (1, None, 5), 0)
    assert operator.expire(0, 10) == [(1, None, None, None, 5)]


def test_late_tuples_go_to_the_side_list() -> None:
    operator = join(within=MILLISECOND)
    operator.accept("a", (5, 1.0, 1), 0)
    assert operator.accept("b", (5, 1.0, 1), 0, late=True) == []
    operator.advance(4)
    assert operator.accept("b", (3, 1.0, 2), 0) == []
    marked, older = operator.take_side()
    assert (marked.where, marked.kind, marked.row, marked.port) == (
        "j",
        DropKind.LATE,
        (5, 1.0, 1),
        "b",
    )
    assert marked.reason == "marked late at its source"
    assert older.reason == "older than the watermark 4"


def test_a_failing_function_costs_one_pair() -> None:
    call = PythonCall(f"{HERE}:reciprocal", ("a.id",), DataType.DOUBLE)
    operator = join(within=MILLISECOND, columns=(Column("z", call),), timeout=5)
    operator.accept("a", (1, 0.0, 1), 0)
    operator.accept("a", (2, 2.0, 1), 0)
    assert operator.accept("b", (2, 0.0, 1), 0) == [(2, 0.5)]
    (dropped,) = operator.take_side()
    assert dropped.kind is DropKind.FAILED
    assert "operator 'j': ZeroDivisionError" in dropped.reason
    assert operator.expire(0, 5) == [], "it was a pair all the same"


@pytest.mark.parametrize(
    ("port", "argument", "row"), [("a", "a.id", (1, 0.0, 7)), ("b", "b.key", (2, 0.0, 8))]
)
def test_a_lonely_tuple_whose_columns_fail_is_told(port: str, argument: str, row: Row) -> None:
    call = PythonCall(f"{HERE}:reciprocal", (argument,), DataType.DOUBLE)
    operator = join(within=MILLISECOND, columns=(Column("z", call),), timeout=5)
    operator.accept(port, row, 0)
    assert operator.expire(0, 5) == []
    (dropped,) = operator.take_side()
    assert (dropped.kind, dropped.row, dropped.port) == (DropKind.FAILED, row, port)


def test_state_is_bounded_while_the_watermark_moves() -> None:
    operator = join(within=10 * MICROSECOND, keys=(("id", "key"),))
    most = 0
    for time in range(20_000):
        operator.accept("ab"[time % 2], (time, float(time % 1000), time), 0)
        operator.advance(time - 5)
        most = max(most, operator.size())
    assert most < 200
    assert operator.snapshot()["kept"][0][0][1][0] >= 20_000 - 20


def test_what_can_still_be_matched_is_not_forgotten() -> None:
    operator = join(within=5 * MICROSECOND)
    operator.accept("a", (8, 1.0, 1), 0)
    operator.accept("a", (7, 1.0, 2), 0)
    operator.advance(13)
    assert len(operator.snapshot()["kept"][0]) == 1
    assert operator.accept("b", (13, 1.0, 3), 0) == [(8, 1.0, 1, 1.0, 3)]


@pytest.mark.parametrize("keys", [(), (("id", "key"),)])
def test_output_watermark(keys: tuple[tuple[str, str], ...]) -> None:
    operator = join(within=3 * MICROSECOND, timeout=5, keys=keys)
    assert operator.output_watermark(10) == 7
    operator.accept("a", (2, 1.0, 1), 0)
    assert operator.output_watermark(10) == 2
    operator.expire(0, 5)
    assert operator.output_watermark(10) == 7


# ------------------------------------------------------------ against the definition


def marked(rows: Iterable[tuple[str, Row, int]], lateness: int) -> list[Event]:
    """Late marks as sources give them."""
    newest: dict[str, int] = {}
    events = []
    for port, row, now in rows:
        late = port in newest and row[0] < newest[port] - lateness
        newest[port] = max(newest.get(port, row[0]), row[0])
        events.append(Event(port, row, now, late))
    return events


def definition(events: list[Event], within: int, timeout: int | None) -> list[Row]:
    """All pairs, straight from the words."""
    results: list[Row] = []
    here: list[tuple[Event, int]] = []
    partner: set[int] = set()
    gone: set[int] = set()

    def fire(before: float) -> None:
        due = [
            (event.now + timeout, number)
            for event, number in here
            if timeout is not None and number not in partner | gone
        ]
        for at, number in sorted(due):
            if at < before:
                gone.add(number)
                (row,) = [event.row for event, n in here if n == number]
                (port,) = [event.port for event, n in here if n == number]
                alone = (*row[1:], None, None) if port == "a" else (None, None, *row[1:])
                results.append((row[0], *alone))

    for number, event in enumerate(events):
        fire(event.now)
        if event.late:
            continue
        matches = [
            (other.row[0], n, other.row)
            for other, n in here
            if n not in gone
            and other.port != event.port
            and abs(other.row[0] - event.row[0]) <= within
            and event.row[1] is not None
            and event.row[1] == other.row[1]
            and None not in (event.row[2], other.row[2])
            and event.row[2] + other.row[2] > 0
        ]
        for time, n, row in sorted(matches, key=lambda match: match[:2]):
            partner |= {n, number}
            left, right = (event.row, row) if event.port == "a" else (row, event.row)
            results.append((min(time, event.row[0]), *left[1:], *right[1:]))
        here.append((event, number))
    fire(float("inf"))
    return results


def run(
    operator: StatefulOperator,
    events: list[Event],
    lateness: int,
    moves: frozenset[int],
    fresh: Any,
) -> list[Row]:
    """As an engine drives it, moving the state to a new instance at some points."""
    results: list[Row] = []
    timers: list[Timer] = []
    newest: dict[str, int] = {}
    for number, event in enumerate(events):
        if number in moves:
            operator = moved(operator, fresh())
        while timers and timers[0].at < event.now:
            timer = heapq.heappop(timers)
            results += operator.expire(timer.token, timer.at)
        bound = operator.output_watermark(min(newest.values())) if len(newest) == 2 else None
        given = operator.accept(event.port, event.row, event.now, event.late)
        assert bound is None or all(row[0] >= bound for row in given)
        results += given
        for timer in operator.take_timers():
            heapq.heappush(timers, timer)
        newest[event.port] = max(newest.get(event.port, -99), event.row[0] - lateness)
        if len(newest) == 2:
            assert operator.advance(min(newest.values())) == []
            operator.snapshot()  # forgets all it may
    while timers:
        timer = heapq.heappop(timers)
        results += operator.expire(timer.token, timer.at)
    return results


ARRIVAL = st.tuples(
    st.sampled_from("ab"),
    st.integers(-8, 3),
    st.sampled_from([None, 0.0, 1.0, 2.0]),
    st.none() | st.integers(-2, 5),
    st.integers(0, 3),
)


Arrivals = list[tuple[str, int, float | None, int | None, int]]


def compare(
    arrivals: Arrivals, within: int, lateness: int, timeout: int | None, moves: frozenset[int]
) -> int:
    """Runs the arrivals both ways; gives how many rows came out."""
    rows, now = [], 0
    for place, (port, shift, key, value, gap) in enumerate(arrivals):
        now += gap
        rows.append((port, (place + shift, key, value), now))
    events = marked(rows, lateness)

    def fresh() -> JoinOperator:
        return join(
            within=within * MICROSECOND,
            keys=(("id", "key"),),
            where=Sql("x + y > 0"),
            timeout=timeout,
        )

    expected = definition(events, within, timeout)
    assert same(run(fresh(), events, lateness, moves, fresh)) == same(expected)
    return len(expected)


@examples(200)
@given(
    st.lists(ARRIVAL, max_size=40),
    st.integers(0, 4),
    st.integers(0, 8),
    st.none() | st.integers(0, 6),
    st.frozensets(st.integers(0, 40), max_size=2),
)
def test_it_is_what_the_definition_says(
    arrivals: Arrivals, within: int, lateness: int, timeout: int | None, moves: frozenset[int]
) -> None:
    compare(arrivals, within, lateness, timeout, moves)


def test_it_is_what_the_definition_says_on_long_runs() -> None:
    came_out = 0
    for seed in range(60):
        chance = random.Random(seed)
        arrivals: Arrivals = [
            (
                chance.choice("ab"),
                chance.randint(-4, 2),
                chance.choice([1.0, 1.0, 2.0, None]),
                chance.choice([1, 2, 3, -2, None]),
                chance.randint(0, 2),
            )
            for _ in range(80)
        ]
        timeout = chance.choice([None, 0, 2, 5])
        moves = frozenset(chance.sample(range(80), 3))
        came_out += compare(arrivals, chance.randint(0, 5), chance.randint(0, 5), timeout, moves)
    assert came_out > 1000, "the runs must have something to say"
