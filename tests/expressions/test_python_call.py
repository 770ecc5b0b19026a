"""Python functions in place of SQL."""

from __future__ import annotations

from typing import Any

import pytest
from tests.expressions.columns import EMPTY, JOIN, ROW, WINDOW

from headway.errors import DataError, ExpressionError
from headway.expressions.check import check
from headway.expressions.python_call import python_function
from headway.expressions.rows import compile_values
from headway.expressions.scope import Scope
from headway.model.expression import PythonCall
from headway.model.expression_tree import PythonValue
from headway.model.schema import DataType

DOUBLE = DataType.DOUBLE


def call(function: str, *arguments: str, returns: DataType = DOUBLE) -> PythonCall:
    return PythonCall(function, arguments, returns, "m")


def refused(python: PythonCall, scope: Scope = ROW, **options: Any) -> str:
    with pytest.raises(ExpressionError) as caught:
        compile_values([check(python, scope, **options)], scope)
    return str(caught.value)


def test_called_with_columns() -> None:
    typed = check(call("math:hypot", "speed", "distance"), ROW)
    assert (typed.type, typed.unit) == (DOUBLE, "m")
    assert compile_values([typed], ROW)((0, 3.0, 4.0)) == (5.0,)


def test_called_with_columns_of_ports() -> None:
    typed = check(call("operator:add", "radar.speed", "lane"), JOIN)
    assert compile_values([typed], JOIN)((0, 3.0), (0, 0.0, 4)) == (7.0,)


def test_null_is_none() -> None:
    typed = check(call("builtins:repr", "speed", returns=DataType.STRING), ROW)
    assert compile_values([typed], ROW)(EMPTY) == ("None",)


@pytest.mark.parametrize(
    ("python", "message"),
    [
        (call("no_such_module:f"), "the module of 'no_such_module:f' cannot be imported: "),
        (call("math:no_such"), "'math:no_such': math has no 'no_such'"),
        (call("math:pi"), "'math:pi' is not a function; got float"),
        (call("math.hypot"), "'math.hypot' does not name a Python function; write module:function"),
        (call("math:hypot", "sped"), "unknown column 'sped'; did you mean 'speed'?"),
    ],
)
def test_refused(python: PythonCall, message: str) -> None:
    assert refused(python).startswith(message)


def test_it_cannot_aggregate() -> None:
    assert refused(call("math:fsum", "speed"), WINDOW, aggregates=True) == (
        "a Python function cannot aggregate; use an SQL aggregate, or a udo"
    )


def test_it_is_imported_only_when_compiled() -> None:
    assert check(call("no_such_module:f"), ROW).type is DOUBLE


@pytest.mark.parametrize(
    ("returns", "given", "expected"),
    [
        (DOUBLE, 3, 3.0),
        (DataType.FLOAT, 0.1, 0.10000000149011612),
        (DataType.INT, 7, 7),
        (DataType.BOOLEAN, True, True),
        (DataType.STRING, "a", "a"),
        (DOUBLE, None, None),
    ],
)
def test_results_are_brought_to_the_declared_type(
    returns: DataType, given: Any, expected: Any
) -> None:
    result = python_function(PythonValue("copy:copy", (), returns))(given)
    assert (result, type(result)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("returns", "given"),
    [
        (DataType.INT, 2.5),
        (DataType.INT, 2**31),
        (DataType.INT, True),
        (DOUBLE, "1"),
        (DataType.BOOLEAN, 1),
        (DataType.STRING, 5),
    ],
)
def test_a_result_of_another_type_is_an_error(returns: DataType, given: Any) -> None:
    with pytest.raises(DataError, match=f"copy:copy declares {returns.value}; got "):
        python_function(PythonValue("copy:copy", (), returns))(given)
