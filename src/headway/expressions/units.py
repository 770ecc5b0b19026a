"""Units of measure: sums and comparisons need equal units, where both are known."""

from __future__ import annotations

from collections.abc import Sequence

from headway.errors import ExpressionError
from headway.expressions.parts import Part

DEGREES = frozenset({"deg", "degree", "degrees", "°"})


def common_unit(parts: Sequence[Part], what: str) -> str | None:
    """The one unit of all parts whose unit is known; ExpressionError when two differ."""
    unit: str | None = None
    for part in parts:
        if part.unit is None or part.unit == unit:
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
    """The unit of a product or quotient: kept under scaling by a constant, else unknown."""
    if right.is_literal:
        return left.unit
    return right.unit if left.is_literal and operator == "*" else None


def refuse_degrees(part: Part, function: str) -> None:
    if part.unit in DEGREES:
        raise ExpressionError(
            f"{function} takes an angle in rad",
            got=part.unit,
            want=f"write {function}(radians(…))",
            offset=part.offset,
        )
