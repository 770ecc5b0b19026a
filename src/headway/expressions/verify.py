"""Whether a typed tree that a plan brings fits its columns: for trees that nobody has just parsed.

A tree is what the checker makes of a text, so each of its nodes is what the typing rules make of
the nodes below it. That is asked here, node by node; engines may then translate it blindly."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import NoReturn

from headway.errors import ExpressionError
from headway.expressions import typing_rules as rules
from headway.expressions.casts import CASTS
from headway.expressions.functions import AGGREGATES, FUNCTIONS
from headway.expressions.parts import Part
from headway.expressions.scope import WINDOW_COLUMNS, Scope
from headway.model.expression import Expression, PythonCall, typed
from headway.model.expression_tree import (
    DEEPEST_TREE,
    LARGEST_TREE,
    AggregateCall,
    Arithmetic,
    Call,
    Case,
    Cast,
    Coalesce,
    ColumnRef,
    Compare,
    In,
    IsNull,
    Literal,
    Logic,
    Negate,
    Node,
    Not,
    PythonValue,
    Typed,
    children,
    depth,
    walk,
)
from headway.model.schema import DataType

_ARITHMETIC = ("+", "-", "*", "/", "%", "div")
_COMPARE = ("=", "<>", "<", "<=", ">", ">=", "<=>")
_LOGIC = ("AND", "OR")
_LARGEST = {DataType.INT: 2**31, DataType.BIGINT: 2**63}
_VALUES: dict[DataType, type] = {
    DataType.BOOLEAN: bool,
    DataType.INT: int,
    DataType.BIGINT: int,
    DataType.FLOAT: float,
    DataType.DOUBLE: float,
    DataType.STRING: str,
}


def verify(
    expression: Expression,
    scope: Scope,
    *,
    want: DataType | frozenset[DataType] | None = None,
    aggregates: bool = False,
    grouping: tuple[str, ...] = (),
) -> Typed:
    """The tree an expression carries; ExpressionError when it does not fit its place, which is told
    as for :func:`headway.expressions.check.check`."""
    found = typed(expression)
    tree = found.tree
    if sum(1 for _ in islice(walk(tree), LARGEST_TREE + 1)) > LARGEST_TREE:
        _refuse("the tree of the expression is too large")
    if depth(tree) > DEEPEST_TREE:
        _refuse("the tree of the expression is nested too deeply")
    if isinstance(tree, PythonValue) or isinstance(expression, PythonCall):
        _verify_python(expression, tree, scope, aggregates)
    else:
        _Verifier(scope, aggregates, grouping).verify(tree)
    allowed = frozenset({want}) if isinstance(want, DataType) else want
    if found.type is not tree.type or (allowed is not None and found.type not in allowed):
        _refuse("the expression has the wrong type", found.type)
    return found


def _refuse(what: str, got: str = "") -> NoReturn:
    raise ExpressionError(what, got=got, want="compile the query again")


def _verify_python(expression: Expression, tree: Node, scope: Scope, aggregates: bool) -> None:
    if not isinstance(expression, PythonCall) or not isinstance(tree, PythonValue) or aggregates:
        _refuse("a Python function stands where none can")
    if (tree.function, tree.type) != (expression.function, expression.returns):
        _refuse("the tree calls another function than the expression", tree.function)
    for argument in tree.arguments:
        _verify_column(argument, scope)


def _verify_column(column: ColumnRef, scope: Scope) -> None:
    if scope.find(column.name, column.port).tree != column:
        _refuse(f"column {column.name!r} is another one in its stream", column.type)


@dataclass(slots=True)
class _Verifier:
    """``inside``: below an aggregate."""

    scope: Scope
    aggregates: bool
    grouping: tuple[str, ...]
    inside: bool = False

    def verify(self, node: Node) -> None:
        """Each node is what the rules make of its operands."""
        if isinstance(node, AggregateCall):
            if not self.aggregates or self.inside:
                _refuse("an aggregate stands where none can", node.function)
            self.inside = True
        for child in children(node):
            self.verify(child)
        match node:
            case ColumnRef():
                self._verify_place(node)
                _verify_column(node, self.scope)
            case AggregateCall():
                self.inside = False
                _verify_aggregate(node)
            case Literal():
                _verify_literal(node)
            case Cast():
                if (node.operand.type, node.type) not in CASTS:
                    _refuse(f"there is no cast from {node.operand.type} to {node.type}")
            case Call():
                _verify_call(node)
            case _:
                _verify_operator(node)

    def _verify_place(self, column: ColumnRef) -> None:
        bound = self.scope.windowed and column.name in WINDOW_COLUMNS
        alone = self.aggregates and not self.inside
        if (bound and self.inside) or (alone and not bound and column.name not in self.grouping):
            _refuse(f"column {column.name!r} is neither aggregated nor a grouping key")


def _verify_literal(node: Literal) -> None:
    value = node.value
    if value is None:
        return
    limit = _LARGEST.get(node.type)
    if type(value) is not _VALUES.get(node.type) or (
        limit is not None and isinstance(value, int) and not -limit <= value < limit
    ):
        _refuse(f"not a constant of type {node.type}", f"{value!r:.40}")


def _verify_call(node: Call) -> None:
    function = FUNCTIONS.get(node.function)
    if function is None:
        _refuse("unknown function", node.function)
    if not function.signature.count.accepts(len(node.arguments)):
        _refuse(f"{node.function} takes {function.signature.count}", str(len(node.arguments)))
    types = function.signature.rule(node.function, [_part(one) for one in node.arguments])
    if (types.arguments, types.result) != (tuple(a.type for a in node.arguments), node.type):
        _refuse(f"the types of {node.function} do not fit", node.type)


def _verify_aggregate(node: AggregateCall) -> None:
    function = AGGREGATES.get(node.function)
    if function is None:
        _refuse("unknown aggregate", node.function)
    if node.argument is None:
        if (node.function, node.type) != ("count", DataType.BIGINT):
            _refuse(f"{node.function} takes 1 argument", "0")
        return
    types = function.signature.rule(node.function, [_part(node.argument)])
    if (types.arguments, types.result) != ((node.argument.type,), node.type):
        _refuse(f"the types of {node.function} do not fit", node.type)


def _verify_operator(node: Node) -> None:
    made = _made(node)
    if made is None or made.node != node:
        _refuse(f"the types of {node.kind!r} do not fit", node.type)


def _made(node: Node) -> Part | None:
    """What the rules make of the node's operands; None for an operator that does not exist."""
    match node:
        case Arithmetic() if node.operator in _ARITHMETIC:
            return rules.arithmetic(node.operator, _part(node.left), _part(node.right))
        case Compare() if node.operator in _COMPARE:
            return rules.compare(node.operator, _part(node.left), _part(node.right))
        case Logic() if node.operator in _LOGIC:
            return rules.logic(node.operator, _part(node.left), _part(node.right))
        case Negate():
            return rules.negate(_part(node.operand), 0)
        case Not():
            return rules.negation(_part(node.operand))
        case IsNull():
            return rules.is_null(_part(node.operand))
        case In() if node.options:
            for option in node.options:
                _verify_literal(option)
            return rules.one_of(_part(node.operand), [_part(option) for option in node.options])
        case Case() if node.branches:
            tests = [(rules.condition(_part(test), "CASE"), _part(v)) for test, v in node.branches]
            return rules.case(tests, _part(node.otherwise), "CASE", 0)
        case Coalesce() if node.operands:
            return rules.coalesce([_part(one) for one in node.operands], "coalesce", 0)
    return None


def _part(node: Node) -> Part:
    return Part(node, node.type, None, 0)
