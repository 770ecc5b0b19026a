"""Durations, fields, costs and arrivals: what people write and what it means."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.model.quantities import (
    ArrivalCurve,
    Cost,
    Rate,
    ceil_div,
    format_duration,
    milliseconds,
    parse_duration,
)
from headway.model.schema import DataType, Field, parse_field, schema, wider

# ---------------------------------------------------------------- time


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("30 ms", 30_000_000),
        ("2.6 us", 2_600),
        ("2.6µs", 2_600),
        (" 3 s ", 3_000_000_000),
        ("1 min", 60_000_000_000),
        ("0.5 h", 1_800_000_000_000),
        ("7 ns", 7),
        ("0 ms", 0),
    ],
)
def test_durations(text: str, nanoseconds: int) -> None:
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize("text", ["", "5", "ms", "-5 ms", "5 m s", "1e3 ms", "5 parsecs", "٣ ms"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration: write a number and a unit"):
        parse_duration(text)


def test_finer_than_a_nanosecond() -> None:
    with pytest.raises(ValueError, match=r"'0.5 ns' is finer than a nanosecond"):
        parse_duration("0.5 ns")


@given(st.integers(0, 10**15))
def test_written_durations_are_read_back(nanoseconds: int) -> None:
    assert parse_duration(format_duration(nanoseconds)) == nanoseconds


def test_how_durations_are_written() -> None:
    written = [format_duration(n) for n in (0, 7, 1_500, 30_000_000, 1_500_000_000, -2_000_000)]
    assert written == ["0 ms", "7 ns", "1.5 us", "30 ms", "1.5 s", "-2 ms"]
    assert milliseconds(1_234_567) == "1.235"


# ---------------------------------------------------------------- schema


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("double [m/s]", Field("c", DataType.DOUBLE, "m/s")),
        ("string(5)", Field("c", DataType.STRING, None, 5)),
        ("string", Field("c", DataType.STRING)),
        (" bigint ", Field("c", DataType.BIGINT)),
    ],
)
def test_fields(text: str, field: Field) -> None:
    assert parse_field("c", text) == field
    assert parse_field("c", field.describe()) == field


@pytest.mark.parametrize(
    "text", ["", "number", "int(3)", "double [m", "string(x)", "double [m] [s]"]
)
def test_what_is_no_field(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not the type of a column|only a string has a length"):
        parse_field("c", text)


def test_sizes_come_from_the_types() -> None:
    """8 bytes of timestamp besides the columns."""
    assert schema(a="int", b="double", c="boolean", d="string(5)").size_bytes == 8 + 4 + 8 + 1 + 5
    assert schema().size_bytes == 8
    assert schema(s="string").size_bytes == 8 + 32


def test_widening_follows_spark() -> None:
    assert wider(DataType.INT, DataType.BIGINT) is DataType.BIGINT
    assert wider(DataType.FLOAT, DataType.DOUBLE) is DataType.DOUBLE
    assert wider(DataType.INT, DataType.FLOAT) is DataType.DOUBLE


def test_every_stream_has_a_timestamp() -> None:
    columns = schema(v="int").columns
    assert [column.name for column in columns] == ["timestamp", "v"]
    assert schema(v="int").find("timestamp") == columns[0]


# ---------------------------------------------------------------- cost


def test_costs_are_linear_and_scaled() -> None:
    cost = Cost(10, per_item=3, most_items=4)
    assert [cost.of(0), cost.of(1), cost.worst(), cost.per_tuple()] == [10, 13, 22, 13]
    assert cost.worst(2) == 5 + 4 * 2  # each part rounded up by itself
    assert cost.longest_section() == 22
    assert Cost(10, per_item=3, most_items=4, between_items=True).longest_section() == 10


@given(st.integers(0, 10**12), st.fractions(min_value=Fraction(1, 1000), max_value=1000))
def test_division_rounds_up(amount: int, rate: Fraction) -> None:
    quotient = ceil_div(amount, rate)
    assert (quotient - 1) * rate < amount <= quotient * rate


# ---------------------------------------------------------------- arrivals


def test_a_rate_counts_closed_intervals() -> None:
    rate = Rate(2, 10)
    assert [rate.in_interval(n) for n in (-1, 0, 9, 10, 19, 20)] == [0, 2, 2, 4, 4, 6]
    assert Rate(2, 10, jitter=5).in_interval(5) == 4
    assert rate.per_second == 2e8


def test_a_curve_is_the_least_of_its_rates() -> None:
    curve = ArrivalCurve((Rate(5, 100), Rate(1, 10)))
    assert [curve.in_interval(n) for n in (0, 39, 40, 60, 99, 100)] == [1, 4, 5, 5, 5, 10]
    assert curve.sustained == Rate(5, 100)
