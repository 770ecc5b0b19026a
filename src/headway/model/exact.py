"""Numbers as people write them, taken exactly: 0.1 means one tenth."""

from __future__ import annotations

from fractions import Fraction
from math import isfinite

Number = int | float | Fraction


def exact(number: Number) -> Fraction:
    """The number as a fraction; a float by its shortest decimal form."""
    if isinstance(number, float):
        if not isfinite(number):
            raise ValueError(f"{number} is not a finite number")
        return Fraction(repr(number))
    return Fraction(number)
