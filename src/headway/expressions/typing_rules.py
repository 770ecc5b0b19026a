"""The types of operators: what each takes, what it is computed in, what it gives."""

from __future__ import annotations

from collections.abc import Sequence

from headway.errors import ExpressionError, Problem
from headway.expressions.parts import Part, cast_node, coerced, common_type, require
from headway.expressions.units import common_unit, scaled_unit
from headway.model.expression_tree import (
    Arithmetic,
    Case,
    Coalesce,
    Compare,
    In,
    IsNull,
    Literal,
    Logic,
    Negate,
    Node,
    Not,
)
from headway.model.schema import DataType

NUMERIC = frozenset(kind for kind in DataType if kind.is_numeric)
INTEGRAL = frozenset({DataType.INT, DataType.BIGINT})
BOOLEAN = frozenset({DataType.BOOLEAN})

_LARGEST = {DataType.INT: 2**31, DataType.BIGINT: 2**63}
_TO_FLOAT_BY_DOUBLE = frozenset({DataType.STRING, DataType.INT, DataType.BIGINT})
_STRING_SOURCES = frozenset({DataType.BOOLEAN, DataType.INT, DataType.BIGINT})


def arithmetic(operator: str, left: Part, right: Part) -> Part:
    """+ - * % in the wider type; / in double; div in bigint."""
    what = f"'{operator}'"
    for part in (left, right):
        if part.type is DataType.TIMESTAMP:
            raise ExpressionError(
                f"{what} does not work on a timestamp",
                want="compute with unix_micros(…), a bigint in microseconds",
                offset=part.offset,
            )
        wanted = "numbers; strings are joined with ||" if operator == "+" else "numbers"
        require(part, NUMERIC, what, wanted)
    if operator == "div":
        for part in (left, right):
            require(part, INTEGRAL, what, "int or bigint")
        kind = DataType.BIGINT
    elif operator == "/":
        kind = DataType.DOUBLE
    else:
        kind = common_type((left, right), what) or DataType.DOUBLE
    if operator in ("+", "-", "%"):
        unit = common_unit((left, right), what)
    else:
        unit = scaled_unit(operator, left, right)
    node = Arithmetic(operator, coerced(left, kind), coerced(right, kind), kind)
    return Part(node, kind, unit, left.offset)


def negate(part: Part, offset: int) -> Part:
    require(part, NUMERIC, "'-'", "a number")
    kind = part.type or DataType.DOUBLE
    return Part(Negate(coerced(part, kind), kind), kind, part.unit, offset)


def compare(operator: str, left: Part, right: Part) -> Part:
    """Both sides in their common type; a bare NULL takes the other's."""
    what = f"'{operator}'"
    kind = common_type((left, right), what) or DataType.BOOLEAN
    common_unit((left, right), what)
    node = Compare(operator, coerced(left, kind), coerced(right, kind))
    return Part(node, DataType.BOOLEAN, None, left.offset)


def logic(operator: str, left: Part, right: Part) -> Part:
    node = Logic(operator, condition(left, operator), condition(right, operator))
    return Part(node, DataType.BOOLEAN, None, left.offset)


def negation(part: Part) -> Part:
    return Part(Not(condition(part, "NOT")), DataType.BOOLEAN, None, part.offset)


def is_null(part: Part) -> Part:
    return Part(
        IsNull(coerced(part, part.type or DataType.BOOLEAN)), DataType.BOOLEAN, None, part.offset
    )


def condition(part: Part, what: str) -> Node:
    require(part, BOOLEAN, what, "a boolean")
    return coerced(part, DataType.BOOLEAN)


def one_of(part: Part, options: Sequence[Part]) -> Part:
    """IN: a set of constants, or comparisons joined by OR, which mean the same."""
    kind = common_type((part, *options), "IN") or DataType.BOOLEAN
    common_unit((part, *options), "IN")
    operand = coerced(part, kind)
    nodes = [coerced(option, kind) for option in options]
    constants = [n for n in nodes if isinstance(n, Literal) and n.value is not None]
    if len(constants) == len(nodes):
        return Part(In(operand, tuple(constants)), DataType.BOOLEAN, None, part.offset)
    chain: Node = Compare("=", operand, nodes[0])
    for node in nodes[1:]:
        chain = Logic("OR", chain, Compare("=", operand, node))
    return Part(chain, DataType.BOOLEAN, None, part.offset)


def case(branches: Sequence[tuple[Node, Part]], otherwise: Part, what: str, offset: int) -> Part:
    """CASE and IF; the branches in their common type."""
    values = (*(value for _, value in branches), otherwise)
    kind = common_type(values, what)
    unit = common_unit(values, what)
    if kind is None:
        raise ExpressionError(_untyped(offset))
    node = Case(
        tuple((test, coerced(value, kind)) for test, value in branches),
        coerced(otherwise, kind),
        kind,
    )
    return Part(node, kind, unit, offset)


def coalesce(parts: Sequence[Part], what: str, offset: int) -> Part:
    kind = common_type(parts, what)
    unit = common_unit(parts, what)
    if kind is None:
        raise ExpressionError(_untyped(offset))
    return Part(Coalesce(tuple(coerced(part, kind) for part in parts), kind), kind, unit, offset)


def cast(part: Part, to: DataType) -> Part:
    """CAST between the types whose values both engines write alike."""
    if part.type is not None and part.type is not to:
        _require_cast(part, part.type, to)
    kept_unit = part.unit if to in NUMERIC else None
    node = coerced(part, part.type or to)
    if to is DataType.FLOAT and part.type in _TO_FLOAT_BY_DOUBLE:
        # A string would be rounded once on Spark and twice here; and of a whole number cast to
        # float and on to double, Spark's optimizer leaves out the float.
        node = cast_node(node, DataType.DOUBLE)
    return Part(cast_node(node, to), to, kept_unit, part.offset)


def _require_cast(part: Part, source: DataType, to: DataType) -> None:
    want = ""
    if source is DataType.TIMESTAMP:
        want = "unix_micros(…) gives a bigint in microseconds"
    elif to is DataType.TIMESTAMP:
        want = "timestamp_micros(…) takes a bigint in microseconds"
    elif to is DataType.STRING and source not in _STRING_SOURCES:
        want = "how one is written differs between Java versions; round to a bigint first"
    if want:
        raise ExpressionError(
            f"CAST from {source} to {to} is not supported", want=want, offset=part.offset
        )


def number(text: str, offset: int, *, negative: bool = False) -> Part:
    """A number: int, or bigint when too large; with a point or exponent a double."""
    if text.isdecimal():
        whole = -int(text) if negative else int(text)
        for kind in (DataType.INT, DataType.BIGINT):
            if -_LARGEST[kind] <= whole < _LARGEST[kind]:
                return Part(Literal(whole, kind), kind, None, offset)
        raise ExpressionError(
            f"{whole} does not fit a bigint", want="write it as a double", offset=offset
        )
    try:
        value = float(text)
    except ValueError:
        raise ExpressionError(f"{text!r} is not a number", offset=offset) from None
    if value == float("inf"):
        raise ExpressionError(f"{text} does not fit a double", offset=offset)
    part = Part(Literal(value, DataType.DOUBLE), DataType.DOUBLE, None, offset)
    if not negative:
        return part
    # 0.0 and -0.0 are equal, so as literals they could be taken for one another.
    if value == 0.0:
        return Part(Negate(part.node, DataType.DOUBLE), DataType.DOUBLE, None, offset)
    return Part(Literal(-value, DataType.DOUBLE), DataType.DOUBLE, None, offset)


def _untyped(offset: int) -> Problem:
    return Problem(
        "the type of NULL is unknown here", want="write CAST(NULL AS double)", offset=offset
    )
