"""Units of measure: sums and comparisons need equal units, where both are known; products and
quotients have the unit that follows, as far as it is known."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from headway.errors import ExpressionError
from headway.expressions.parts import Part

DEGREES = frozenset({"deg", "degree", "degrees", "°"})


def common_unit(parts: Sequence[Part], what: str) -> str | None:
    """The one unit of all parts whose unit is known; ExpressionError when two differ."""
    unit: str | None = None
    for part in parts:
        if part.unit is None or (unit is not None and same_unit(part.unit, unit)):
            continue
        if unit is not None:
            raise ExpressionError(
                f"{what} mixes the units {unit} and {part.unit}",
                want=f"convert one, and name its new unit: with_unit(…, '{unit}')",
                offset=part.offset,
            )
        unit = part.unit
    return unit


def scaled_unit(operator: str, left: Part, right: Part) -> str | None:
    """The unit of a product or quotient: kept under scaling by a constant, m / (m/s) = s; unknown
    where one of both is, and where none is left (m / m)."""
    if right.is_literal:
        return left.unit
    if left.is_literal and operator == "*":
        return right.unit
    if right.unit is None or (left.unit is None and not left.is_literal):
        return None
    powers = Counter() if left.unit is None else _powers(left.unit)
    if powers is None or (others := _powers(right.unit)) is None:
        return None
    sign = 1 if operator == "*" else -1  # "/" and "div"
    for symbol, power in others.items():
        powers[symbol] += sign * power
    return _written(powers)


# ---------------------------------------------------------------- units as powers of symbols

_FACTOR = re.compile(r"\s*([*/·]?)\s*(1(?![0-9])|[^\W\d]+|[°%]\w*)(?:\^?(-?[1-9]))?")
_LONGEST = 20
"""letters of a unit in a schema; what would be longer counts as unknown"""
_SUPERSCRIPTS = str.maketrans("²³", "23")


def _powers(unit: str) -> Counter[str] | None:
    """``m/s^2`` as m: 1, s: -2; None for a text of another form. Only the factor behind a stroke is
    below it, as in ISO 80000-1 without brackets."""
    found: Counter[str] = Counter()
    text, place = unit.translate(_SUPERSCRIPTS).strip(), 0
    while place < len(text):
        match = _FACTOR.match(text, place)
        if match is None or (place and not match[1] and not match[0][0].isspace()):
            return None
        if match[2] != "1":
            found[match[2]] += int(match[3] or 1) * (-1 if match[1] == "/" else 1)
        place = match.end()
    return found


def _written(powers: Counter[str]) -> str | None:
    above = [
        f"{name}^{power}" if power > 1 else name for name, power in powers.items() if power > 0
    ]
    below = [
        f"/{name}^{-power}" if power < -1 else f"/{name}"
        for name, power in powers.items()
        if power < 0
    ]
    text = f"{'*'.join(above) or '1'}{''.join(below)}"
    return text if (above or below) and len(text) <= _LONGEST else None


def same_unit(one: str, other: str) -> bool:
    """Whether two texts mean one unit: ``m/s^2`` and ``m/s2``."""
    if one == other:
        return True
    first, second = _powers(one), _powers(other)
    return first is not None and first == second


def refuse_degrees(part: Part, function: str) -> None:
    if part.unit in DEGREES:
        raise ExpressionError(
            f"{function} takes an angle in rad",
            got=part.unit,
            want=f"write {function}(radians(…))",
            offset=part.offset,
        )
