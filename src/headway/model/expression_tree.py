"""The typed tree that an expression becomes: small, immutable, and with every cast written out.

Operands have the type their operator needs: an engine only translates and decides nothing.
Two nodes are equal when they compute the same from the same columns. ``kind`` tells them apart in a
plan's file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from headway.model.names import ImportPath, Name
from headway.model.schema import DataType

Scalar = bool | int | float | str | None

LARGEST_TREE = 10_000
"""nodes of one expression"""
DEEPEST_TREE = 100
"""nodes on the longest way down"""


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; ``value`` None is NULL of that type."""

    value: Scalar
    type: DataType
    kind: ClassVar[str] = "literal"


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """A column of the row, or of the row at a join's port."""

    port: Name | None
    name: Name
    type: DataType
    nullable: bool = True
    kind: ClassVar[str] = "column"


@dataclass(frozen=True, slots=True)
class Cast:
    operand: Node
    type: DataType
    kind: ClassVar[str] = "cast"


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """``operator`` is one of + - * / % div; both operands have the type it is computed in."""

    operator: str
    left: Node
    right: Node
    type: DataType
    kind: ClassVar[str] = "arithmetic"


@dataclass(frozen=True, slots=True)
class Negate:
    operand: Node
    type: DataType
    kind: ClassVar[str] = "negate"


@dataclass(frozen=True, slots=True)
class Compare:
    """``operator`` is one of = <> < <= > >= <=>; both operands have the same type."""

    operator: str
    left: Node
    right: Node
    type: DataType = DataType.BOOLEAN
    kind: ClassVar[str] = "compare"


@dataclass(frozen=True, slots=True)
class Logic:
    """``operator`` is AND or OR."""

    operator: str
    left: Node
    right: Node
    type: DataType = DataType.BOOLEAN
    kind: ClassVar[str] = "logic"


@dataclass(frozen=True, slots=True)
class Not:
    operand: Node
    type: DataType = DataType.BOOLEAN
    kind: ClassVar[str] = "not"


@dataclass(frozen=True, slots=True)
class IsNull:
    operand: Node
    type: DataType = DataType.BOOLEAN
    kind: ClassVar[str] = "is_null"


@dataclass(frozen=True, slots=True)
class In:
    """``options`` are constants and never NULL; any other list becomes a chain of OR."""

    operand: Node
    options: tuple[Literal, ...]
    type: DataType = DataType.BOOLEAN
    kind: ClassVar[str] = "in"


@dataclass(frozen=True, slots=True)
class Case:
    """The value beside the first condition that is true, else ``otherwise``."""

    branches: tuple[tuple[Node, Node], ...]
    otherwise: Node
    type: DataType
    kind: ClassVar[str] = "case"


@dataclass(frozen=True, slots=True)
class Coalesce:
    operands: tuple[Node, ...]
    type: DataType
    kind: ClassVar[str] = "coalesce"


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the table in :mod:`headway.expressions.functions`."""

    function: str
    arguments: tuple[Node, ...]
    type: DataType
    kind: ClassVar[str] = "call"


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """An aggregate of the same table; ``argument`` None is ``count(*)``."""

    function: str
    argument: Node | None
    type: DataType
    kind: ClassVar[str] = "aggregate"


@dataclass(frozen=True, slots=True)
class PythonValue:
    """A call of a Python function, always a whole expression."""

    function: ImportPath
    arguments: tuple[ColumnRef, ...]
    type: DataType
    kind: ClassVar[str] = "python"


Node = (
    Literal
    | ColumnRef
    | Cast
    | Arithmetic
    | Negate
    | Compare
    | Logic
    | Not
    | IsNull
    | In
    | Case
    | Coalesce
    | Call
    | AggregateCall
    | PythonValue
)


@dataclass(frozen=True, slots=True)
class Typed:
    """A checked expression: what it computes, its type, and its unit where that is known."""

    tree: Node
    type: DataType
    unit: str | None = None


def children(node: Node) -> tuple[Node, ...]:
    match node:
        case Literal() | ColumnRef():
            return ()
        case Cast() | Negate() | Not() | IsNull() | In():
            return (node.operand,)
        case Arithmetic() | Compare() | Logic():
            return (node.left, node.right)
        case Case():
            return (*(part for branch in node.branches for part in branch), node.otherwise)
        case Coalesce():
            return node.operands
        case AggregateCall():
            return () if node.argument is None else (node.argument,)
        case Call() | PythonValue():
            return node.arguments


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, outermost first."""
    yield node
    for child in children(node):
        yield from walk(child)


def depth(node: Node) -> int:
    """How many nodes there are on the longest way down."""
    return 1 + max((depth(child) for child in children(node)), default=0)


def columns_of(typed: Typed) -> tuple[ColumnRef, ...]:
    """The columns an expression reads, each once, in the order of first use."""
    return tuple(dict.fromkeys(n for n in walk(typed.tree) if isinstance(n, ColumnRef)))
