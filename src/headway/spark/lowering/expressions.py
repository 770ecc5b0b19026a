"""Expressions as native columns; a Python function as an Arrow function over columns.

SQL never fails here, a function of the user may: its value then comes with a flag, and the tuple
is left out as the vehicle engine leaves it out, instead of ending the query.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, StructField, StructType

from headway.expressions import PythonValue, Typed, python_function, to_spark_sql
from headway.expressions.spark_sql import plain_column, quoted
from headway.expressions.tree import ColumnRef
from headway.model.schema import DataType
from headway.spark.lowering.types import ARROW, PLAIN
from headway.spark.workers import enter

RenderColumn = Callable[[ColumnRef], str]


@dataclass(frozen=True, slots=True)
class Computed:
    """Values of expressions over a DataFrame: ``data`` has lost the rows for which one failed."""

    data: DataFrame
    values: list[Column]


def compute(
    data: DataFrame,
    typed: Sequence[Typed],
    column: RenderColumn = plain_column,
    on_failed: Callable[[DataFrame, Column], DataFrame] | None = None,
) -> Computed:
    """The expressions as columns of ``data`` (or of what is left of it). ``on_failed`` gets the
    rows with the functions' values, and whether all of them are fine, and gives them back."""
    values: list[Column] = []
    functions: dict[str, Column] = {}
    for one in typed:
        tree = one.tree
        if not isinstance(tree, PythonValue):
            values.append(F.expr(to_spark_sql(one, column=column)))
            continue
        name = f"#python{len(functions)}"
        arguments = [_argument(argument, column) for argument in tree.arguments]
        functions[name] = _arrow_function(tree)(*arguments or [F.lit(0)])
        value = F.col(f"{quoted(name)}.value")
        values.append(F.timestamp_micros(value) if tree.type is DataType.TIMESTAMP else value)
    if functions:
        data = data.withColumns(functions)
        fine = F.lit(True)
        for name in functions:
            fine &= F.col(f"{quoted(name)}.fine")
        if on_failed is not None:
            data = on_failed(data, fine)
        data = data.where(fine)
    return Computed(data, values)


def _argument(argument: ColumnRef, column: RenderColumn) -> Column:
    value = F.expr(column(argument))
    return F.unix_micros(value) if argument.type is DataType.TIMESTAMP else value


def _arrow_function(node: PythonValue) -> Callable[..., Column]:
    result = StructType(
        [StructField("fine", BooleanType()), StructField("value", PLAIN[node.type])]
    )
    paths, takes = tuple(sys.path), len(node.arguments)
    value_type = ARROW[node.type]

    def run(*columns: pa.Array) -> pa.Array:
        enter(paths)
        function = python_function(node)
        lists = [column.to_pylist() for column in columns][:takes]
        rows = zip(*lists, strict=True) if lists else [()] * len(columns[0])
        fine, values = [], []
        for row in rows:
            try:
                values.append(function(*row))
                fine.append(True)
            except Exception:  # noqa: BLE001 - a function of the user may raise anything
                values.append(None)
                fine.append(False)
        return pa.StructArray.from_arrays(
            [pa.array(fine, pa.bool_()), pa.array(values, value_type)], ["fine", "value"]
        )

    function: Any = F.arrow_udf(run, result)  # type: ignore[attr-defined]  # not in its stubs
    # Spark would otherwise call it once for the flag and once for the value.
    called: Callable[..., Column] = function.asNondeterministic()
    return called
