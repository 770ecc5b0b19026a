from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.compiled import behaving
from tests.engine.operators.build import moved, one_input, same, sql_columns
from tests.exploring import examples

from headway.engine.operators.aggregate import AggregateOperator
from headway.engine.operators.operator_base import DropKind, StatefulOperator
from headway.model.operators import Aggregate
from headway.model.quantities import MICROSECOND
from headway.model.schema import schema
from headway.model.user_operator import Row

CAR = schema(id="double", v="int")
COLUMNS = {"n": "count(*)", "top": "max(v)", "mean": "avg(v)", "ends": "unix_micros(window_end)"}


def aggregate(
    window: int, every: int, by: tuple[str, ...] = ("id",), **columns: str
) -> AggregateOperator:
    model = Aggregate(
        name="g",
        inputs=one_input("car"),
        window=window * MICROSECOND,
        every=every * MICROSECOND,
        by=by,
        columns=sql_columns(columns or COLUMNS),
    )
    return AggregateOperator(*behaving(model, {"input": CAR}))


def test_tumbling_windows_close_when_the_watermark_reaches_their_end() -> None:
    operator = aggregate(10, 10, total="sum(v)", start="unix_micros(window_start)")
    for row in [(12, 2.0, 1), (3, 1.0, 10), (11, 1.0, 5), (19, 2.0, 2), (9, 1.0, 20)]:
        assert operator.accept("input", row, 0) == []
    assert operator.size() == 3
    assert operator.advance(9) == []
    assert operator.advance(10) == [(3, 1.0, 30, 0)]
    assert operator.advance(19) == []
    assert operator.finish() == [(12, 2.0, 3, 10), (11, 1.0, 5, 10)], "in the order they came"
    assert operator.size() == 0


def test_sliding_windows_count_a_tuple_in_each() -> None:
    operator = aggregate(10, 4, by=(), n="count(*)", ends="unix_micros(window_end)")
    operator.accept("input", (9, None, None), 0)
    assert operator.finish() == [(9, 1, 10), (9, 1, 14), (9, 1, 18)]


def test_windows_before_the_epoch() -> None:
    operator = aggregate(10, 10, by=(), ends="unix_micros(window_end)")
    operator.accept("input", (-1, None, None), 0)
    assert operator.advance(0) == [(-1, 0)]


def test_null_and_nan_are_groups() -> None:
    operator = aggregate(10, 10, n="count(*)")
    for key in (None, float("nan"), -0.0, None, float("nan"), 0.0):
        operator.accept("input", (1, key, 1), 0)
    assert same(operator.finish()) == same([(1, None, 2), (1, float("nan"), 2), (1, 0.0, 2)])


def test_late_tuples_are_dropped_by_their_mark_or_when_all_windows_are_closed() -> None:
    operator = aggregate(10, 5, by=(), n="count(*)", ends="unix_micros(window_end)")
    assert operator.accept("input", (7, None, None), 0, late=True) == []
    operator.advance(10)
    operator.accept("input", (7, None, None), 0)
    operator.accept("input", (4, None, None), 0)
    assert operator.finish() == [(7, 1, 15)]
    marked, closed = operator.take_side()
    assert (marked.kind, marked.reason) == (DropKind.LATE, "marked late at its source")
    assert (closed.row, closed.reason) == ((4, None, None), "its windows are closed")


def test_what_cannot_be_counted_is_told() -> None:
    """A value that is none (no schema lets it in) must not end the engine."""
    operator = aggregate(10, 10, total="sum(v)")
    broken: Row = (3, 1.0, "text")
    operator.accept("input", (1, 1.0, 4), 0)
    assert operator.accept("input", broken, 0) == []
    (dropped,) = operator.take_side()
    assert (dropped.kind, dropped.row, dropped.port) == (DropKind.FAILED, broken, "input")
    assert operator.finish() == [(1, 1.0, 4)]


def test_state_is_bounded_while_the_watermark_moves() -> None:
    operator = aggregate(100, 20)
    given = 0
    for time in range(10_000):
        operator.accept("input", (time, float(time % 3), time), 0)
        given += len(operator.advance(time - 10))
        assert operator.size() <= 3 * 7
    assert given + len(operator.finish()) == 3 * (10_000 // 20 + 4)


def test_output_watermark_is_the_start_of_the_first_open_window() -> None:
    assert aggregate(10, 10).output_watermark(29) == 20
    assert aggregate(10, 10).output_watermark(30) == 30
    assert aggregate(10, 4).output_watermark(9) == 0
    assert aggregate(10, 4).output_watermark(10) == 4


def definition(
    events: list[tuple[Row, bool]], lateness: int, window: int, every: int
) -> list[list[Row]]:
    """The rows that go out after each tuple and, last, at the end."""
    groups: dict[tuple[int, Any], list[Row]] = {}
    for row, late in events:
        if not late:
            start = row[0] // every * every
            while start + window > row[0]:
                groups.setdefault((start, row[1]), []).append(row)
                start -= every
    order = list(groups)
    given: list[list[Row]] = []
    done: set[tuple[int, Any]] = set()
    newest = -(10**9)
    for number in range(len(events) + 1):
        if number < len(events):
            newest = max(newest, events[number][0][0])
        watermark = newest - lateness if number < len(events) else 10**9
        out: list[Row] = []
        for start, key in sorted(order, key=lambda g: (g[0], order.index(g))):
            rows = groups[start, key]
            if (start, key) not in done and start + window <= watermark:
                done.add((start, key))
                values = [row[2] for row in rows if row[2] is not None]
                top = max(values, default=None)
                mean = sum(values) / len(values) if values else None
                oldest = min(row[0] for row in rows)
                out.append((oldest, key, len(rows), top, mean, start + window))
        given.append(out)
    return given


ARRIVAL = st.tuples(
    st.integers(-6, 3), st.sampled_from([None, 1.0, 2.0]), st.none() | st.integers(-3, 3)
)


@examples(200)
@given(
    st.lists(ARRIVAL, max_size=40),
    st.integers(0, 6),
    st.integers(1, 9),
    st.integers(1, 9),
    st.frozensets(st.integers(0, 40), max_size=2),
)
def test_it_is_what_the_definition_says(
    arrivals: list[tuple[int, float | None, int | None]],
    lateness: int,
    window: int,
    every: int,
    moves: frozenset[int],
) -> None:
    every = min(every, window)
    events: list[tuple[Row, bool]] = []
    newest = -(10**9)
    for place, (shift, key, value) in enumerate(arrivals):
        row = (place + shift, key, value)
        events.append((row, row[0] < newest - lateness))
        newest = max(newest, row[0])
    operator: StatefulOperator = aggregate(window, every)
    given: list[list[Row]] = []
    newest = -(10**9)
    for number, (row, late) in enumerate(events):
        if number in moves:
            operator = moved(operator, aggregate(window, every))
        operator.accept("input", row, 0, late)
        newest = max(newest, row[0])
        bound = operator.output_watermark(newest - lateness)
        given.append(operator.advance(newest - lateness))
        later = moved(operator, aggregate(window, every)).finish()
        assert all(one[0] >= bound for one in later)
    given.append(operator.finish())
    assert given == definition(events, lateness, window, every)
