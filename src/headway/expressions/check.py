"""Checks an expression against the columns it may use, and gives it its typed tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from sqlglot import exp

from headway.errors import ExpressionError, Problem
from headway.expressions import typing_rules as rules
from headway.expressions.calls import aggregate_call, call, is_aggregate
from headway.expressions.parse import offset_of, parse
from headway.expressions.parts import Part, null_part
from headway.expressions.python_call import check_python
from headway.expressions.scope import WINDOW_COLUMNS, Scope
from headway.model.expression import Expression, Sql
from headway.model.expression_tree import (
    DEEPEST_TREE,
    LARGEST_TREE,
    Literal,
    Typed,
    depth,
    walk,
)
from headway.model.schema import DataType

NUMERIC = rules.NUMERIC


def check(
    expression: Expression,
    scope: Scope,
    *,
    want: DataType | frozenset[DataType] | None = None,
    aggregates: bool = False,
    grouping: tuple[str, ...] = (),
) -> Typed:
    """The typed tree of an expression; ExpressionError when it does not fit its scope.

    ``want`` is the type, or the types, its place needs. With ``aggregates`` a column outside an
    aggregate must be in ``grouping`` or be a bound of the window.
    """
    if not isinstance(expression, Sql):
        if aggregates:
            raise ExpressionError(
                "a Python function cannot aggregate", want="use an SQL aggregate, or a udo"
            )
        return _wanted(check_python(expression, scope), want)
    tree = parse(expression.text)
    try:
        part = _Checker(scope, aggregates, grouping).check(tree)
        too_large = sum(1 for _ in islice(walk(part.node), LARGEST_TREE + 1)) > LARGEST_TREE
        too_deep = not too_large and depth(part.node) > DEEPEST_TREE
    except RecursionError:
        too_large, too_deep = False, True
    if too_deep:
        raise ExpressionError(
            "the expression is nested too deeply", want="split it in two", offset=0
        )
    if too_large:
        raise ExpressionError("the expression is too large", want="split it in two", offset=0)
    return _wanted(part, want)


def _wanted(part: Part, want: DataType | frozenset[DataType] | None) -> Typed:
    """The finished expression, if it has the type its place needs."""
    kinds = frozenset({want}) if isinstance(want, DataType) else want
    if part.type is None:
        if kinds is None or len(kinds) != 1:
            raise ExpressionError(
                "the type of NULL is unknown here",
                want="write CAST(NULL AS double)",
                offset=part.offset,
            )
        (kind,) = kinds
        return Typed(Literal(None, kind), kind)
    if kinds is not None and part.type not in kinds:
        wanted = "a number" if kinds == NUMERIC else " or ".join(sorted(kinds))
        raise ExpressionError(
            f"the expression must be {wanted}", got=part.type.value, offset=part.offset
        )
    return Typed(part.node, part.type, part.unit)


@dataclass(slots=True)
class _Checker:
    """Walks the syntax tree. ``inside`` names the aggregate whose argument is being checked."""

    scope: Scope
    aggregates: bool
    grouping: tuple[str, ...]
    inside: str | None = None

    def check(self, node: exp.Expr) -> Part:
        for kind in type(node).__mro__:
            handler = _HANDLERS.get(kind)
            if handler is not None:
                return handler(self, node)
        raise ExpressionError(_unsupported(node))

    def children(self, nodes: list[exp.Expr]) -> list[Part]:
        return [self.check(node) for node in nodes]

    def column(self, node: exp.Expr) -> Part:
        name, port = node.this, node.args.get("table")
        if isinstance(name, exp.Star) or node.args.get("db") is not None:
            raise ExpressionError(f"{node.sql()!r} is not a column", offset=offset_of(node))
        offset = offset_of(name)
        if port is None:
            typed = self.scope.find(name.this, offset=offset)
        else:
            typed = self.scope.find(name.this, port.this, offset, offset_of(port))
            offset = offset_of(port)
        if self.aggregates:
            self._require_grouped(name.this, offset)
        return Part(typed.tree, typed.type, typed.unit, offset)

    def _require_grouped(self, name: str, offset: int) -> None:
        if self.inside is not None:
            if self.scope.windowed and name in WINDOW_COLUMNS:
                raise ExpressionError(f"{name} cannot be used inside {self.inside}", offset=offset)
        elif name not in self.grouping and name not in WINDOW_COLUMNS:
            raise ExpressionError(
                f"column {name!r} is neither aggregated nor a grouping key",
                want=f"write max({name}) or another aggregate, or group by it",
                offset=offset,
            )

    def literal(self, node: exp.Expr) -> Part:
        offset = offset_of(node)
        if node.args["is_string"]:
            return Part(Literal(node.this, DataType.STRING), DataType.STRING, None, offset)
        return rules.number(node.this, offset)

    def adjacent_strings(self, node: exp.Expr) -> Part:
        """``'it' 's'`` and ``'it''s'`` are one string, as in Spark."""
        parts = self.children(node.expressions)
        text = "".join(str(p.node.value) for p in parts if isinstance(p.node, Literal))
        return Part(Literal(text, DataType.STRING), DataType.STRING, None, parts[0].offset)

    def negative(self, node: exp.Expr) -> Part:
        operand = node.this
        offset = max(0, offset_of(operand) - 1)
        if isinstance(operand, exp.Literal) and not operand.args["is_string"]:
            return rules.number(operand.this, offset, negative=True)
        return rules.negate(self.check(operand), offset)

    def binary(self, node: exp.Expr) -> Part:
        operator, rule = _BINARY[type(node)]
        return rule(operator, self.check(node.this), self.check(node.expression))

    def different(self, node: exp.Expr) -> Part:
        """``IS DISTINCT FROM``."""
        equal = rules.compare("<=>", self.check(node.this), self.check(node.expression))
        return rules.negation(equal)

    def is_(self, node: exp.Expr) -> Part:
        part, other = self.check(node.this), node.expression
        if isinstance(other, exp.Null):
            return rules.is_null(part)
        rules.condition(part, "IS TRUE and IS FALSE")
        return rules.compare("<=>", part, self.check(other))

    def in_(self, node: exp.Expr) -> Part:
        if not node.expressions:
            raise ExpressionError(_unsupported(node.args.get("query") or node))
        return rules.one_of(self.check(node.this), self.children(node.expressions))

    def between(self, node: exp.Expr) -> Part:
        if node.args.get("symmetric"):
            raise ExpressionError("BETWEEN SYMMETRIC is not supported", offset=offset_of(node))
        part = self.check(node.this)
        low, high = self.check(node.args["low"]), self.check(node.args["high"])
        return rules.logic("AND", rules.compare(">=", part, low), rules.compare("<=", part, high))

    def case(self, node: exp.Expr) -> Part:
        subject = self.check(node.this) if node.this is not None else None
        branches = []
        for branch in node.args["ifs"]:
            test = self.check(branch.this)
            if subject is not None:
                test = rules.compare("=", subject, test)
            branches.append((rules.condition(test, "CASE WHEN"), self.check(branch.args["true"])))
        default = node.args.get("default")
        offset = offset_of(node)
        otherwise = null_part(offset) if default is None else self.check(default)
        return rules.case(branches, otherwise, "CASE", offset)

    def if_(self, node: exp.Expr) -> Part:
        offset = offset_of(node)
        if node.args.get("false") is None:
            raise ExpressionError("if takes 3 arguments", got="2", offset=offset)
        test = rules.condition(self.check(node.this), "if")
        value = self.check(node.args["true"])
        return rules.case([(test, value)], self.check(node.args["false"]), "if", offset)

    def cast(self, node: exp.Expr) -> Part:
        to = node.args["to"]
        kind = _CAST_TYPES.get(to.this) if not to.expressions else None
        if kind is None:
            raise ExpressionError(
                f"CAST to {to.sql('spark').lower()} is not supported",
                want="the types are " + ", ".join(DataType),
                offset=offset_of(node),
            )
        return rules.cast(self.check(node.this), kind)

    def call(self, node: exp.Expr) -> Part:
        name, arguments, offset = str(node.this), node.expressions, offset_of(node)
        if is_aggregate(name):
            return self._aggregate(name, arguments, offset)
        self._refuse_special(name, arguments)
        return call(name, self.children(arguments), offset)

    def _aggregate(self, name: str, arguments: list[exp.Expr], offset: int) -> Part:
        if not self.aggregates:
            raise ExpressionError(
                f"the aggregate {name} is not allowed here",
                want="aggregates belong in the columns of an aggregate operator",
                offset=offset,
            )
        if self.inside is not None:
            raise ExpressionError(
                f"the aggregate {name} is inside the aggregate {self.inside}", offset=offset
            )
        if len(arguments) != 1:
            raise ExpressionError(
                f"{name} takes 1 argument", got=str(len(arguments)), offset=offset
            )
        if isinstance(arguments[0], exp.Star) and name.lower() == "count":
            return aggregate_call(name, None, offset)
        self._refuse_special(name, arguments)
        self.inside = name
        argument = self.check(arguments[0])
        self.inside = None
        return aggregate_call(name, argument, offset)

    def _refuse_special(self, name: str, arguments: list[exp.Expr]) -> None:
        for argument in arguments:
            if isinstance(argument, exp.Distinct):
                raise ExpressionError(
                    f"{name}(DISTINCT …) is not supported",
                    want="group by the column first, then aggregate",
                    offset=offset_of(argument),
                )
            if isinstance(argument, exp.Star):
                raise ExpressionError(f"{name} does not take *", offset=offset_of(argument))

    def paren(self, node: exp.Expr) -> Part:
        return self.check(node.this)

    def null(self, node: exp.Expr) -> Part:
        return null_part(offset_of(node))

    def boolean(self, node: exp.Expr) -> Part:
        return Part(
            Literal(bool(node.this), DataType.BOOLEAN), DataType.BOOLEAN, None, offset_of(node)
        )

    def not_(self, node: exp.Expr) -> Part:
        return rules.negation(self.check(node.this))

    def joined(self, node: exp.Expr) -> Part:
        parts = [self.check(node.this), self.check(node.expression)]
        return call("concat", parts, parts[0].offset)


def _unsupported(node: exp.Expr) -> Problem:
    return Problem(
        f"{_NAMES.get(type(node), type(node).key.upper())} is not supported in an expression",
        offset=offset_of(node),
    )


_BINARY: dict[type, tuple[str, Callable[[str, Part, Part], Part]]] = {
    exp.Add: ("+", rules.arithmetic),
    exp.Sub: ("-", rules.arithmetic),
    exp.Mul: ("*", rules.arithmetic),
    exp.Div: ("/", rules.arithmetic),
    exp.Mod: ("%", rules.arithmetic),
    exp.IntDiv: ("div", rules.arithmetic),
    exp.EQ: ("=", rules.compare),
    exp.NEQ: ("<>", rules.compare),
    exp.LT: ("<", rules.compare),
    exp.LTE: ("<=", rules.compare),
    exp.GT: (">", rules.compare),
    exp.GTE: (">=", rules.compare),
    exp.NullSafeEQ: ("<=>", rules.compare),
    exp.And: ("AND", rules.logic),
    exp.Or: ("OR", rules.logic),
}
_HANDLERS: dict[type, Callable[[_Checker, exp.Expr], Part]] = {
    **dict.fromkeys(_BINARY, _Checker.binary),
    exp.Column: _Checker.column,
    exp.Literal: _Checker.literal,
    exp.Concat: _Checker.adjacent_strings,
    exp.Neg: _Checker.negative,
    exp.NullSafeNEQ: _Checker.different,
    exp.Is: _Checker.is_,
    exp.In: _Checker.in_,
    exp.Between: _Checker.between,
    exp.Case: _Checker.case,
    exp.If: _Checker.if_,
    exp.Cast: _Checker.cast,
    exp.Anonymous: _Checker.call,
    exp.Paren: _Checker.paren,
    exp.Null: _Checker.null,
    exp.Boolean: _Checker.boolean,
    exp.Not: _Checker.not_,
    exp.DPipe: _Checker.joined,
}
_CAST_TYPES = {
    exp.DType.BOOLEAN: DataType.BOOLEAN,
    exp.DType.INT: DataType.INT,
    exp.DType.BIGINT: DataType.BIGINT,
    exp.DType.FLOAT: DataType.FLOAT,
    exp.DType.DOUBLE: DataType.DOUBLE,
    exp.DType.TEXT: DataType.STRING,
    exp.DType.TIMESTAMP: DataType.TIMESTAMP,
    exp.DType.TIMESTAMPTZ: DataType.TIMESTAMP,
}
_NAMES: dict[type, str] = {
    exp.Subquery: "a subquery",
    exp.Select: "a subquery",
    exp.Exists: "a subquery",
    exp.Window: "a window function (OVER)",
    exp.Filter: "FILTER (WHERE …)",
    exp.Interval: "an interval",
    exp.Bracket: "an array element",
    exp.Tuple: "a list in parentheses",
    exp.Block: "';'",
    exp.Star: "'*'",
    exp.Dot: "a qualified function name",
    exp.RegexpLike: "RLIKE",
    exp.BitwiseAnd: "'&'",
    exp.BitwiseOr: "'|'",
    exp.BitwiseXor: "'^'",
    exp.BitwiseNot: "'~'",
    exp.Placeholder: "a placeholder",
    exp.Parameter: "a parameter",
    exp.RawString: "a raw string",
    exp.HexString: "a hexadecimal literal",
    exp.IgnoreNulls: "IGNORE NULLS",
    exp.JSONExtract: "'->'",
}
