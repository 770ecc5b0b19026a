"""The text that Spark gets."""

from __future__ import annotations

import pytest
from tests.expressions.columns import JOIN, ROW, typed

from headway.errors import UnsupportedError
from headway.expressions.check import check
from headway.expressions.spark_sql import to_spark_sql
from headway.model.expression import PythonCall, Sql
from headway.model.schema import DataType


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("speed > 0.5", "(`speed` > 0.5D)"),
        ("speed > 1", "(`speed` > 1.0D)"),
        ("id + small", "(CAST(`id` AS double) + CAST(`small` AS double))"),
        ("big - 1", "(`big` - 1L)"),
        ("-id * -5", "((- `id`) * (-5))"),
        ("name = 'it''s \\\\'", r"(`name` = 'it\'s \\')"),
        ("id IN (1, 2)", "(`id` IN (1, 2))"),
        ("speed IS NOT NULL", "(NOT (`speed` IS NULL))"),
        ("NULL <=> id", "(CAST(NULL AS int) <=> `id`)"),
        ("id BETWEEN 1 AND 3", "((`id` >= 1) AND (`id` <= 3))"),
        ("IF(ok, id, 0.5)", "CASE WHEN `ok` THEN CAST(`id` AS double) ELSE 0.5D END"),
        ("with_unit(speed * 3.6, 'km/h')", "(`speed` * 3.6D)"),
        ("power(id, 2)", "pow(CAST(`id` AS double), 2.0D)"),
        ("nvl(name, 'x') || 'y'", "concat(coalesce(`name`, 'x'), 'y')"),
        ("CAST(big AS float)", "CAST(CAST(`big` AS double) AS float)"),
    ],
)
def test_text(text: str, sql: str) -> None:
    assert to_spark_sql(typed(text)) == sql


def test_columns_as_the_engine_names_them() -> None:
    joined = check(Sql("radar.speed + own.speed"), JOIN)
    assert to_spark_sql(joined) == "(`radar`.`speed` + `own`.`speed`)"
    named = to_spark_sql(joined, column=lambda ref: f"{ref.port}__{ref.name}")
    assert named == "(radar__speed + own__speed)"


def test_python_functions_are_the_engines_business() -> None:
    call = check(PythonCall("math:sqrt", ("speed",), DataType.DOUBLE), ROW)
    with pytest.raises(UnsupportedError, match="math:sqrt cannot be written as SQL"):
        to_spark_sql(call)
    assert to_spark_sql(call, python=lambda node: node.function) == "math:sqrt"
