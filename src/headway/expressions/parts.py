"""A part of an expression while it is being checked, and how parts are brought to a common type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headway.errors import ExpressionError
from headway.model.expression_tree import Cast, Literal, Node
from headway.model.schema import DataType, wider


@dataclass(frozen=True, slots=True)
class Part:
    """``type`` None: a bare NULL, which takes the type its surroundings need."""

    node: Node
    type: DataType | None
    unit: str | None
    offset: int

    @property
    def is_literal(self) -> bool:
        return isinstance(self.node, Literal)

    @property
    def described(self) -> str:
        return self.type.value if self.type is not None else "NULL"


def null_part(offset: int) -> Part:
    return Part(Literal(None, DataType.BOOLEAN), None, None, offset)


def coerced(part: Part, to: DataType) -> Node:
    """The part's node in that type, which it is known to fit."""
    return cast_node(part.node if part.type is not None else Literal(None, to), to)


def cast_node(node: Node, to: DataType) -> Node:
    """A cast, done at once when the node is a number."""
    if node.type is to:
        return node
    if isinstance(node, Literal):
        if node.value is None:
            return Literal(None, to)
        if node.type.is_integral and to is DataType.DOUBLE and node.value is not None:
            return Literal(float(node.value), to)
        if node.type is DataType.INT and to is DataType.BIGINT:
            return Literal(node.value, to)
    return Cast(node, to)


def common_type(parts: Sequence[Part], what: str) -> DataType | None:
    """The type that holds all parts: equal types, or the widest number; None when all are NULL."""
    common: DataType | None = None
    for part in parts:
        if part.type is None or part.type is common:
            continue
        if common is None:
            common = part.type
        elif common.is_numeric and part.type.is_numeric:
            common = wider(common, part.type)
        else:
            raise ExpressionError(
                f"{what} mixes {common} and {part.type}",
                want="make the types agree with CAST",
                offset=part.offset,
            )
    return common


def require(part: Part, allowed: frozenset[DataType], what: str, wanted: str) -> None:
    """ExpressionError unless the part has one of the types, or is NULL."""
    if part.type is not None and part.type not in allowed:
        raise ExpressionError(f"{what} takes {wanted}", got=part.type.value, offset=part.offset)


def moved(part: Part, offset: int) -> Part:
    return replace(part, offset=offset)
