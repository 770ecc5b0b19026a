"""Casts as Python templates (see ``functions.py`` for their form)."""

from __future__ import annotations

from headway.model.schema import DataType

BOOLEAN, INT, BIGINT = DataType.BOOLEAN, DataType.INT, DataType.BIGINT
FLOAT, DOUBLE, STRING = DataType.FLOAT, DataType.DOUBLE, DataType.STRING

_INT_OF_FLOAT = "(int($0) if -2147483649.0 < @0 < 2147483648.0 else clamp32($0))"
_BIGINT_OF_FLOAT = "(int($0) if -9e18 < @0 < 9e18 else clamp64($0))"

CASTS: dict[tuple[DataType, DataType], str] = {
    (BOOLEAN, INT): "int($0)",
    (BOOLEAN, BIGINT): "int($0)",
    (BOOLEAN, FLOAT): "float($0)",
    (BOOLEAN, DOUBLE): "float($0)",
    (BOOLEAN, STRING): "('true' if $0 else 'false')",
    (INT, BOOLEAN): "($0 != 0)",
    (INT, BIGINT): "$0",
    (INT, DOUBLE): "float($0)",
    (INT, STRING): "str($0)",
    (BIGINT, BOOLEAN): "($0 != 0)",
    (BIGINT, INT): "wrap32($0)",
    (BIGINT, DOUBLE): "float($0)",
    (BIGINT, STRING): "str($0)",
    (FLOAT, BOOLEAN): "($0 != 0.0)",
    (FLOAT, INT): _INT_OF_FLOAT,
    (FLOAT, BIGINT): _BIGINT_OF_FLOAT,
    (FLOAT, DOUBLE): "$0",
    (DOUBLE, BOOLEAN): "($0 != 0.0)",
    (DOUBLE, INT): _INT_OF_FLOAT,
    (DOUBLE, BIGINT): _BIGINT_OF_FLOAT,
    (DOUBLE, FLOAT): "f32($0)",
    (STRING, BOOLEAN): "parse_boolean($0)",
    (STRING, INT): "parse_int32($0)",
    (STRING, BIGINT): "parse_int64($0)",
    (STRING, DOUBLE): "parse_float($0)",
}


def may_fail(source: DataType) -> bool:
    """Whether a value may be NULL after the cast that was not NULL before."""
    return source is STRING
