"""Holds rows to their schema: what comes from outside (a source, a user's class) is checked once.

The rule, for a source's tuples and a user operator's results alike:

- as many values as the schema has columns, the timestamp an int (microseconds), never NULL;
- boolean: a bool; int, bigint, timestamp: a whole number in range, not a bool;
- float, double: a number, made a float; a float is rounded to single precision;
- string: a str, and where a length is declared at most that many bytes of UTF-8;
- numpy's numbers and booleans become Python's; any column but the timestamp may be None.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from headway.errors import DataError
from headway.expressions.body import Body, build, define
from headway.expressions.kernels import f32
from headway.model.schema import TIMESTAMP_COLUMN, DataType, Field, Schema
from headway.model.user_operator import Row

_BITS = {DataType.INT: 31, DataType.BIGINT: 63, DataType.TIMESTAMP: 63}


def conform_function(schema: Schema) -> Callable[[Any], Row]:
    """``row -> row`` in the schema's types; DataError (at the column's name) when it cannot be."""
    columns = schema.columns
    fits = fits_function(schema)

    def conform(row: Any) -> Row:
        if fits(row):
            return row  # type: ignore[no-any-return]
        try:
            values = tuple(row)
        except TypeError:
            raise _problem("a row must be a tuple", row) from None
        if len(values) != len(columns):
            names = ", ".join(column.name for column in columns)
            raise _problem(f"a row must have {len(columns)} values ({names})", row)
        return tuple(
            _converted(column, value) for column, value in zip(columns, values, strict=True)
        )

    return conform


def fits_function(schema: Schema) -> Callable[[Any], bool]:
    """``row -> bool``: whether a row already is as it should be."""
    (fits,) = build(_fits(schema.columns), ["fits"], {"f32": f32})
    return fits


def _fits(columns: tuple[Field, ...]) -> str:
    """The text of ``fits(row)``: whether a row is just as it should be, which it nearly always
    is."""
    body = Body()
    names = [f"c{place}" for place in range(len(columns))]
    body.line(f"if type(row) is not tuple or len(row) != {len(columns)}: return False")
    body.line(f"{', '.join(names)}, = row")
    tests = []
    for name, column in zip(names, columns, strict=True):
        test = _TESTS[column.type].format(name)
        if column.length is not None:
            test += f" and len({name}) <= {column.length}"
        nullable = column.name != TIMESTAMP_COLUMN
        tests.append(f"({name} is None or {test})" if nullable else f"({test})")
    body.line(f"return {' and '.join(tests)}")
    return define("fits", ["row"], body)


_TESTS = {
    DataType.BOOLEAN: "type({0}) is bool",
    DataType.INT: "type({0}) is int and -0x80000000 <= {0} < 0x80000000",
    DataType.BIGINT: "type({0}) is int and -0x8000000000000000 <= {0} < 0x8000000000000000",
    DataType.TIMESTAMP: "type({0}) is int and -0x8000000000000000 <= {0} < 0x8000000000000000",
    DataType.FLOAT: "type({0}) is float and (f32({0}) == {0} or {0} != {0})",
    DataType.DOUBLE: "type({0}) is float",
    # For another text the bytes must be counted.
    DataType.STRING: "type({0}) is str and {0}.isascii()",
}


def _problem(what: str, got: Any, at: str = "") -> DataError:
    return DataError(what, at=at, got=f"{type(got).__name__} {got!r:.60}")


def _converted(column: Field, value: Any) -> Any:
    if value is None:
        if column.name == TIMESTAMP_COLUMN:
            raise DataError("a tuple needs a timestamp", at=column.name, got="NULL")
        return None
    try:
        return _CONVERTERS[column.type](value, column)
    except (TypeError, ValueError, OverflowError) as error:
        reason = str(error) if isinstance(error, _TooLong) else f"must be {column.describe()}"
        raise _problem(reason, value, column.name) from None


class _TooLong(ValueError):
    """A string is longer than its column declares."""


def _truth(value: Any, column: Field) -> bool:
    if type(value).__name__ not in ("bool", "bool_"):  # numpy's own too
        raise TypeError
    return bool(value)


def _whole(value: Any, column: Field) -> int:
    if type(value).__name__ in ("bool", "bool_"):
        raise TypeError
    number = operator.index(value)
    if not -(1 << _BITS[column.type]) <= number < 1 << _BITS[column.type]:
        raise ValueError
    return number


def _real(value: Any, column: Field) -> float:
    if isinstance(value, str) or type(value).__name__ in ("bool", "bool_"):
        raise TypeError
    number = float(value)
    return f32(number) if column.type is DataType.FLOAT else number


def _text(value: Any, column: Field) -> str:
    if not isinstance(value, str):
        raise TypeError
    size = len(value.encode())  # UnicodeEncodeError, a ValueError, for half a surrogate pair
    if column.length is not None and size > column.length:
        raise _TooLong(f"takes {size} bytes, more than the {column.length} declared")
    return str(value)


_CONVERTERS: dict[DataType, Callable[[Any, Field], Any]] = {
    DataType.BOOLEAN: _truth,
    DataType.INT: _whole,
    DataType.BIGINT: _whole,
    DataType.TIMESTAMP: _whole,
    DataType.FLOAT: _real,
    DataType.DOUBLE: _real,
    DataType.STRING: _text,
}
