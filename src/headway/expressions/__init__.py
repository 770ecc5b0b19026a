"""SQL expressions: checked once against their columns, run as Python or as Spark SQL.

Checking (:mod:`headway.expressions.check`) is the compiler's alone: engines run typed trees.
"""

from __future__ import annotations

from headway.expressions.aggregates import AggregateFunctions, compile_aggregates
from headway.expressions.python_call import python_function
from headway.expressions.rows import (
    Keep,
    RowFunction,
    Select,
    compile_chain,
    compile_condition,
    compile_value,
    compile_values,
)
from headway.expressions.scope import WINDOW_END, WINDOW_START, Scope
from headway.expressions.spark_sql import to_spark_sql
from headway.model.expression_tree import PythonValue, Typed, columns_of

__all__ = [
    "WINDOW_END",
    "WINDOW_START",
    "AggregateFunctions",
    "Keep",
    "PythonValue",
    "RowFunction",
    "Scope",
    "Select",
    "Typed",
    "columns_of",
    "compile_aggregates",
    "compile_chain",
    "compile_condition",
    "compile_value",
    "compile_values",
    "python_function",
    "to_spark_sql",
]
