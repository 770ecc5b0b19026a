"""What an unquoted YAML scalar means: the core schema of YAML 1.2.

So ``on``, ``yes``, ``no`` and ``1:30`` are text, as anyone would expect, not booleans and numbers
as in YAML 1.1.
"""

from __future__ import annotations

import math
import re

Value = None | bool | int | float | str

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_LARGEST = 2**63 - 1


def resolve(text: str) -> Value:
    """The value of a plain scalar; ValueError for a number that is not finite or too large."""
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _INTEGER.fullmatch(text):
        if len(text) > 20 or abs(int(text)) > _LARGEST:
            raise ValueError("the number is too large")
        return int(text)
    if _FLOAT.fullmatch(text):
        number = float(text)
        if not math.isfinite(number):
            raise ValueError("the number is too large")
        return number
    if _NOT_FINITE.fullmatch(text):
        raise ValueError("the number is not finite")
    return text
