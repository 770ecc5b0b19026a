"""Calls in an expression: functions, aggregates, and the few forms that become something else."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headway.errors import ExpressionError
from headway.expressions import typing_rules as rules
from headway.expressions.functions import AGGREGATES, ALIASES, FUNCTIONS, KEEP
from headway.expressions.parts import Part, coerced, moved, require
from headway.expressions.scope import suggest
from headway.expressions.signatures import Count
from headway.expressions.units import common_unit, refuse_degrees
from headway.model.expression_tree import AggregateCall, Call, Literal
from headway.model.schema import DataType


def is_aggregate(name: str) -> bool:
    return canonical(name) in AGGREGATES


def canonical(name: str) -> str:
    """Functions are found whatever the capitals, under any of their names."""
    return ALIASES.get(name.lower(), name.lower())


def call(name: str, parts: Sequence[Part], offset: int) -> Part:
    """A function of the row."""
    key = canonical(name)
    if key in _FORMS:
        least, most, form = _FORMS[key]
        _require_count(name, Count(least, most), len(parts), offset)
        return moved(form(name, parts, offset), offset)
    function = FUNCTIONS.get(key)
    if function is None:
        known = [*FUNCTIONS, *AGGREGATES, *ALIASES, *_FORMS, "if"]
        raise ExpressionError(f"unknown function {name!r}", want=_near(name, known), offset=offset)
    _require_count(name, function.signature.count, len(parts), offset)
    types = function.signature.rule(name, parts)
    if function.angle:
        refuse_degrees(parts[0], name)
    unit = common_unit(parts, name) if function.unit == KEEP else function.unit
    arguments = tuple(
        coerced(part, kind) for part, kind in zip(parts, types.arguments, strict=True)
    )
    return Part(Call(function.name, arguments, types.result), types.result, unit, offset)


def aggregate_call(name: str, argument: Part | None, offset: int) -> Part:
    """An aggregate of the group's rows; no argument is ``count(*)``."""
    function = AGGREGATES[canonical(name)]
    if argument is None:
        node = AggregateCall(function.name, None, DataType.BIGINT)
        return Part(node, DataType.BIGINT, None, offset)
    types = function.signature.rule(name, [argument])
    unit = argument.unit if function.unit == KEEP else function.unit
    node = AggregateCall(function.name, coerced(argument, types.arguments[0]), types.result)
    return Part(node, types.result, unit, offset)


def _require_count(name: str, wanted: Count, count: int, offset: int) -> None:
    if not wanted.accepts(count):
        raise ExpressionError(f"{name} takes {wanted}", got=str(count), offset=offset)


def _near(name: str, known: list[str]) -> str:
    text = suggest(name, known)
    return text if text.startswith("did") else "the manual lists the functions there are"


def _nullif(name: str, parts: Sequence[Part], offset: int) -> Part:
    value, unwanted = parts
    test = rules.compare("=", value, unwanted)
    nothing = Part(Literal(None, value.type or DataType.BOOLEAN), value.type, None, offset)
    return rules.case([(test.node, nothing)], value, name, offset)


def _mod(name: str, parts: Sequence[Part], offset: int) -> Part:
    return rules.arithmetic("%", *parts)


def _with_unit(name: str, parts: Sequence[Part], offset: int) -> Part:
    """``with_unit(speed * 3.6, 'km/h')``: the same number, its unit named."""
    value, unit = parts
    if not (isinstance(unit.node, Literal) and isinstance(unit.node.value, str)):
        raise ExpressionError(f"{name} takes the unit as a constant string", offset=unit.offset)
    require(value, rules.NUMERIC, name, "a number")
    return Part(value.node, value.type, unit.node.value, offset)


_Form = Callable[[str, Sequence[Part], int], Part]


def _coalesce(name: str, parts: Sequence[Part], offset: int) -> Part:
    return rules.coalesce(parts, name, offset)


_FORMS: dict[str, tuple[int, int | None, _Form]] = {
    "coalesce": (1, None, _coalesce),
    "nvl": (2, 2, _coalesce),
    "ifnull": (2, 2, _coalesce),
    "nullif": (2, 2, _nullif),
    "mod": (2, 2, _mod),
    "with_unit": (2, 2, _with_unit),
}
