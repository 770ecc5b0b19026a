"""The functions that generated code calls, where one expression would not do. None is NULL."""

from __future__ import annotations

import ctypes
import math
import re
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

INF = math.inf
NAN = math.nan
_MIN32, _MAX32 = -(2**31), 2**31 - 1
_MIN64, _MAX64 = -(2**63), 2**63 - 1
# Enough for every digit a double can have.
_EXACT = Context(prec=800)
_WHITESPACE = "".join(map(chr, range(33)))
_CONTROL = _WHITESPACE + "\x7f"
_WHOLE = re.compile(r"([+-]?)(?:([0-9]+)(?:\.[0-9]*)?|\.[0-9]*)")
_DECIMAL = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[dDfF]?")
_HEXADECIMAL = re.compile(
    r"([+-]?0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[dDfF]?"
)
_SPECIAL = {
    "inf": INF, "+inf": INF, "infinity": INF, "+infinity": INF,
    "-inf": -INF, "-infinity": -INF, "nan": NAN,
}  # fmt: skip
_TRUE = frozenset({"t", "true", "y", "yes", "1"})
_FALSE = frozenset({"f", "false", "n", "no", "0"})


def wrap32(value: int) -> int:
    """Two's complement in 32 bits."""
    return (value + 2**31 & 0xFFFFFFFF) - 2**31


def wrap64(value: int) -> int:
    """Two's complement in 64 bits."""
    return (value + 2**63 & 0xFFFFFFFFFFFFFFFF) - 2**63


def f32(value: float) -> float:
    """The nearest single-precision number."""
    return ctypes.c_float(value).value


def clamp32(value: float) -> int:
    """A number outside the range of int: the nearest int, and 0 for NaN."""
    return 0 if value != value else _MAX32 if value > 0 else _MIN32


def clamp64(value: float) -> int:
    """As the nearest bigint, and 0 for NaN."""
    if value != value:
        return 0
    if value >= 2.0**63:
        return _MAX64
    return int(value) if value > -(2.0**63) else _MIN64


def int_remainder(left: int, right: int) -> int | None:
    """The sign is the dividend's, as in Java; by zero it is NULL."""
    if right == 0:
        return None
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def int_quotient(left: int, right: int) -> int | None:
    """Towards zero, as in Java; by zero it is NULL."""
    if right == 0:
        return None
    size = abs(left) // abs(right)
    return wrap64(size if (left < 0) == (right < 0) else -size)


def float_remainder(left: float, right: float) -> float | None:
    if right == 0.0:
        return None
    return NAN if left in (INF, -INF) else math.fmod(left, right)


def power(base: float, exponent: float) -> float:
    """As Java's: 1 to the power of NaN is NaN, and -1 to an infinite power too."""
    if exponent == 0.0:
        return 1.0
    if exponent != exponent or (abs(base) == 1.0 and exponent in (INF, -INF)):
        return NAN
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -INF if base < 0.0 and exponent % 2.0 == 1.0 else INF
    except ValueError:
        if base == 0.0:
            odd = exponent % 2.0 == 1.0
            return math.copysign(INF, base) if odd else INF
        return NAN


def large_exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return INF


def log_edge(value: float) -> float | None:
    """Of zero and less it is NULL; of NaN it is NaN."""
    return NAN if value != value else None


def round_half_up(value: float, digits: int = 0) -> float:
    """Half away from zero, on the decimal number that is shown."""
    if value - value != 0.0:  # NaN, or infinite
        return value
    rounded = Decimal(repr(value)).quantize(
        Decimal((0, (1,), -digits)), rounding=ROUND_HALF_UP, context=_EXACT
    )
    return float(rounded) + 0.0  # never -0.0


def round_int32(value: int, digits: int = 0) -> int:
    return wrap32(_round_whole(value, digits))


def round_int64(value: int, digits: int = 0) -> int:
    return wrap64(_round_whole(value, digits))


def _round_whole(value: int, digits: int) -> int:
    if digits >= 0:
        return value
    step = int(10**-digits)
    size = (abs(value) + step // 2) // step * step
    return -size if value < 0 else size


def least_float(*values: float | None) -> float | None:
    """The smallest that is not NULL; NaN is larger than every number."""
    best: float | None = None
    for value in values:
        if value is not None and (best is None or value < best or best != best):
            best = value
    return best


def greatest_float(*values: float | None) -> float | None:
    best: float | None = None
    for value in values:
        if value is not None and (
            best is None or value > best or (value != value and best == best)
        ):
            best = value
    return best


def least_plain(*values: Any) -> Any:
    return min((value for value in values if value is not None), default=None)


def greatest_plain(*values: Any) -> Any:
    return max((value for value in values if value is not None), default=None)


def substring(text: str, position: int, length: int = _MAX32) -> str:
    """Positions count from 1, from the end when negative; 0 is as 1."""
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    end = min(start + length, _MAX32)
    return text[max(start, 0) : end] if end > max(start, 0) else ""


def parse_int32(text: str) -> int | None:
    return _parse_whole(text, _MIN32, _MAX32)


def parse_int64(text: str) -> int | None:
    return _parse_whole(text, _MIN64, _MAX64)


def _parse_whole(text: str, lowest: int, highest: int) -> int | None:
    match = _WHOLE.fullmatch(text.strip(_CONTROL))
    if match is None:
        return None
    value = int(match[1] + (match[2] or "0"))
    return value if lowest <= value <= highest else None


def parse_float(text: str) -> float | None:
    """As Java reads a double, and ``inf``, ``infinity`` and ``nan`` in any case."""
    trimmed = text.strip(_WHITESPACE)
    decimal = _DECIMAL.fullmatch(trimmed)
    if decimal is not None:
        return float(decimal[1])
    special = _SPECIAL.get(trimmed.lower())
    if special is not None:
        return special
    if trimmed in ("+NaN", "-NaN"):
        return NAN
    hexadecimal = _HEXADECIMAL.fullmatch(trimmed)
    if hexadecimal is None:
        return None
    try:
        return float.fromhex(hexadecimal[1])
    except OverflowError:
        return -INF if trimmed.startswith("-") else INF


def parse_boolean(text: str) -> bool | None:
    word = text.strip(_CONTROL).lower()
    return True if word in _TRUE else False if word in _FALSE else None
