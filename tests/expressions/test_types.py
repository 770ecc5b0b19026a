"""What type and unit an expression has."""

from __future__ import annotations

import pytest
from tests.expressions.columns import ROW, WINDOW, typed

from headway.expressions.check import NUMERIC, check
from headway.model.expression import Sql
from headway.model.schema import DataType


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", "int"),
        ("-2147483648", "int"),
        ("2147483648", "bigint"),
        ("5L", "bigint"),
        ("0.5", "double"),
        ("1e3", "double"),
        ("'a'", "string"),
        ("TRUE", "boolean"),
        ("timestamp", "timestamp"),
        ("id + 1", "int"),
        ("id + big", "bigint"),
        ("id * small", "double"),
        ("small + small", "float"),
        ("small + speed", "double"),
        ("small * 0.5", "double"),
        ("id / 2", "double"),
        ("small / small", "double"),
        ("id div 2", "bigint"),
        ("id % 2", "int"),
        ("-small", "float"),
        ("id > 2.5", "boolean"),
        ("id IN (1, 2)", "boolean"),
        ("id NOT IN (1, 2)", "boolean"),
        ("id BETWEEN 1 AND 2", "boolean"),
        ("NOT ok", "boolean"),
        ("ok AND id = 1", "boolean"),
        ("id <=> NULL", "boolean"),
        ("isnan(speed)", "boolean"),
        ("speed IS NULL", "boolean"),
        ("CASE WHEN ok THEN id ELSE big END", "bigint"),
        ("CASE WHEN ok THEN NULL ELSE small END", "float"),
        ("IF(ok, id, 2.5)", "double"),
        ("coalesce(id, big, 1.0)", "double"),
        ("nullif(id, 2.5)", "int"),
        ("nvl(name, 'x')", "string"),
        ("name || 'x'", "string"),
        ("floor(speed)", "bigint"),
        ("ceil(id)", "bigint"),
        ("round(id, -1)", "int"),
        ("round(small, 1)", "double"),
        ("sign(id)", "double"),
        ("abs(small)", "float"),
        ("least(id, big)", "bigint"),
        ("LENGTH(name)", "int"),
        ("unix_micros(seen)", "bigint"),
        ("timestamp_micros(id)", "timestamp"),
        ("CAST(id AS string)", "string"),
        ("CAST(NULL AS float)", "float"),
        ("id::bigint", "bigint"),
    ],
)
def test_type(text: str, expected: str) -> None:
    assert typed(text).type == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("count(*)", "bigint"),
        ("sum(id)", "bigint"),
        ("sum(small)", "double"),
        ("avg(id)", "double"),
        ("max(name)", "string"),
        ("max(seen)", "timestamp"),
        ("min(small)", "float"),
        ("max(id) - min(id)", "int"),
        ("window_end", "timestamp"),
        ("id", "int"),
    ],
)
def test_type_of_an_aggregate(text: str, expected: str) -> None:
    assert check(Sql(text), WINDOW, aggregates=True, grouping=("id",)).type == expected


def test_a_bare_null_takes_the_wanted_type() -> None:
    assert check(Sql("NULL"), ROW, want=DataType.DOUBLE).type is DataType.DOUBLE


def test_any_number_will_do_for_a_value() -> None:
    assert check(Sql("id * 2"), ROW, want=NUMERIC).type is DataType.INT


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("speed", "m/s"),
        ("speed + 1", "m/s"),
        ("-speed", "m/s"),
        ("speed * 3.6", "m/s"),
        ("2 * speed", "m/s"),
        ("speed / 2", "m/s"),
        ("2 / speed", "s/m"),
        ("speed * distance", "m^2/s"),
        ("distance / speed", "s"),
        ("abs(speed)", "m/s"),
        ("greatest(speed, 0)", "m/s"),
        ("coalesce(NULL, speed)", "m/s"),
        ("IF(ok, speed, 0)", "m/s"),
        ("CASE WHEN ok THEN NULL ELSE speed END", "m/s"),
        ("CAST(speed AS int)", "m/s"),
        ("heading % 360", "deg"),
        ("radians(heading)", "rad"),
        ("hypot(speed, speed)", "m/s"),
        ("speed > 3", None),
        ("with_unit(speed * 3.6, 'km/h')", "km/h"),
        ("sqrt(speed)", None),
    ],
)
def test_unit(text: str, unit: str | None) -> None:
    assert typed(text).unit == unit


def test_unit_of_aggregates() -> None:
    for text in ("max(speed) - min(speed)", "avg(speed)", "sum(speed)"):
        assert check(Sql(text), WINDOW, aggregates=True).unit == "m/s"
    assert check(Sql("count(speed)"), WINDOW, aggregates=True).unit is None
