"""Python functions in place of an SQL expression: found by name, held to their declared type."""

from __future__ import annotations

import importlib
import operator
import re
from collections.abc import Callable
from typing import Any

from headway.errors import DataError, ExpressionError
from headway.expressions.kernels import f32
from headway.expressions.parts import Part
from headway.expressions.scope import Scope
from headway.model.expression import PythonCall
from headway.model.expression_tree import ColumnRef, PythonValue
from headway.model.schema import DataType

_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_RANGES = {DataType.INT: 2**31, DataType.BIGINT: 2**63, DataType.TIMESTAMP: 2**63}


def check_python(call: PythonCall, scope: Scope) -> Part:
    """The call with its columns found. The function itself is imported only when it is compiled."""
    if not _NAME.fullmatch(call.function):
        raise ExpressionError(
            f"{call.function!r} does not name a Python function", want="write module:function"
        )
    arguments = []
    for argument in call.arguments:
        port, _, name = argument.rpartition(".")
        found = scope.find(name, port or None).tree
        assert isinstance(found, ColumnRef)
        arguments.append(found)
    node = PythonValue(call.function, tuple(arguments), call.returns)
    return Part(node, call.returns, call.unit, 0)


def resolve(name: str) -> Callable[..., Any]:
    """The function that ``module:name`` means; ExpressionError when there is none."""
    module_name, _, path = name.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
    except ImportError as error:
        raise ExpressionError(f"the module of {name!r} cannot be imported: {error}") from error
    for step in path.split("."):
        if not hasattr(found, step):
            raise ExpressionError(f"{name!r}: {module_name} has no {path!r}")
        found = getattr(found, step)
    if not callable(found):
        raise ExpressionError(f"{name!r} is not a function", got=type(found).__name__)
    function: Callable[..., Any] = found
    return function


def python_function(node: PythonValue) -> Callable[..., Any]:
    """The function, its results brought to the declared type; both engines call it through this."""
    function, convert = resolve(node.function), _CONVERTERS[node.type]
    name, wanted = node.function, node.type

    def call(*arguments: Any) -> Any:
        result = function(*arguments)
        if result is None:
            return None
        try:
            return convert(result, wanted)
        except (TypeError, ValueError, OverflowError):
            raise DataError(
                f"{name} declares {wanted}", got=f"{type(result).__name__} {result!r:.60}"
            ) from None

    return call


def _whole(result: Any, wanted: DataType) -> int:
    if isinstance(result, bool):
        raise TypeError
    number = operator.index(result)
    if not -_RANGES[wanted] <= number < _RANGES[wanted]:
        raise ValueError
    return number


def _real(result: Any, wanted: DataType) -> float:
    if isinstance(result, (bool, str)):
        raise TypeError
    return f32(float(result)) if wanted is DataType.FLOAT else float(result)


def _text(result: Any, wanted: DataType) -> str:
    if not isinstance(result, str):
        raise TypeError
    return str(result)


def _truth(result: Any, wanted: DataType) -> bool:
    if type(result).__name__ not in ("bool", "bool_"):  # numpy's own too
        raise TypeError
    return bool(result)


_CONVERTERS: dict[DataType, Callable[[Any, DataType], Any]] = {
    DataType.BOOLEAN: _truth,
    DataType.INT: _whole,
    DataType.BIGINT: _whole,
    DataType.TIMESTAMP: _whole,
    DataType.FLOAT: _real,
    DataType.DOUBLE: _real,
    DataType.STRING: _text,
}
