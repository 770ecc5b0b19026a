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
        ("speed / 4", "(`speed` / 4.0D)"),
        ("speed / id", "try_divide(`speed`, CAST(`id` AS double))"),
        ("big % id", "try_mod(`big`, CAST(`id` AS bigint))"),
        ("unix_micros(timestamp) div 1000", "(unix_micros(`timestamp`) div 1000L)"),
        ("CAST(id AS bigint) * 1000", "(CAST(`id` AS bigint) * 1000L)"),
        ("CAST(name AS double)", "try_cast(`name` AS double)"),
        (
            "id + 1",
            "CAST(((((CAST(`id` AS bigint) + CAST(1 AS bigint)) & 4294967295L) ^ 2147483648L)"
            " - 2147483648L) AS int)",
        ),
        (
            "name = 'it''s ${env:HOME} \\\\'",
            "(`name` = CAST(X'6974277320247B656E763A484F4D457D205C' AS string))",
        ),
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


def test_texts_do_not_double_with_each_level() -> None:
    """Where an operand is used more than once, a long one is bound to a name."""
    lengths = [len(to_spark_sql(typed(" + ".join(["big"] * many)))) for many in (20, 40, 80)]
    assert lengths[2] - lengths[1] < 3 * (lengths[1] - lengths[0])


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
