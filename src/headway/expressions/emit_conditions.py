"""Emitted conditions: comparisons with NaN, and logic in two values where only one matters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from headway.expressions.emit_base import EmitterBase
from headway.expressions.emit_values import FLOATING, Test, Value, chained, guarded, nulls_of
from headway.model.expression_tree import Cast, Compare, IsNull, Literal, Logic, Node, Not
from headway.model.schema import DataType

_PYTHON_COMPARISON = {"=": "==", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_MIRRORED = {">": "<", ">=": "<="}
_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


class Conditions(EmitterBase):
    """Comparisons and logic."""

    def condition(self, node: Node) -> str:
        """Code that is truthy exactly when the value is true, not false or NULL."""
        return self._truth(node, frozenset()).code

    def require(self, node: Node) -> str:
        """As :meth:`condition`, for a test that what follows depends on: names it has checked for
        NULL are not checked again."""
        test = self._truth(node, frozenset())
        self._sure |= test.sure
        return test.code

    def _compare(self, node: Compare) -> Value:
        if node.operator == "<=>":
            left, right = self.name(node.left), self.name(node.right)
            return Value(self._equality(node, left, right), ())
        left, right = self.value(node.left), self.value(node.right)
        nulls = nulls_of(left, right)
        if node.left.type not in FLOATING:
            return Value(f"({left.code} {_PYTHON_COMPARISON[node.operator]} {right.code})", nulls)
        if node.operator in ("=", "<>"):
            return Value(self._equality(node, left, right), nulls)
        return Value(self._order(node, left, right), nulls)

    def _equality(self, node: Compare, left: Value, right: Value) -> str:
        """NaN equals NaN."""
        maybe_nan = node.left.type in FLOATING and _maybe_nan(node.left) and _maybe_nan(node.right)
        template = "(@0 == @1 or $0 != $0 and $1 != $1)" if maybe_nan else "($0 == $1)"
        if node.operator == "<>":
            template = "(@0 != @1 and ($0 == $0 or $1 == $1))" if maybe_nan else "($0 != $1)"
        return self._fill(template, [left, right])

    def _order(self, node: Compare, left: Value, right: Value) -> str:
        """NaN is larger than every number."""
        operator, low, high = node.operator, node.left, node.right
        if operator in (">", ">="):
            operator, low, high = _MIRRORED[operator], high, low
            left, right = right, left
        # low < high is: not high <= low, where high <= low is: high is the smaller, or low is NaN.
        if operator == "<":
            if not _maybe_nan(high):
                return f"({left.code} < {right.code})"
            if not _maybe_nan(low):
                return f"(not {right.code} <= {left.code})"
            return self._fill("(not (@1 <= @0 or $0 != $0))", [left, right])
        if not _maybe_nan(high):
            return f"({left.code} <= {right.code})"
        if not _maybe_nan(low):
            return f"(not {right.code} < {left.code})"
        return self._fill("(@0 <= @1 or $1 != $1)", [left, right])

    def _logic(self, node: Logic) -> Value:
        true = self._truth(node, frozenset())
        if not self._nullable(node):
            return Value(true.code)
        false = self._falsity(node, frozenset())
        return self._keep(node, f"True if {true.code} else False if {false.code} else None")

    def _nullable(self, node: Node) -> bool:
        if isinstance(node, Logic):
            return self._nullable(node.left) or self._nullable(node.right)
        if isinstance(node, Not):
            return self._nullable(node.operand)
        return bool(self.value(node).nulls)

    def _truth(self, node: Node, sure: frozenset[str]) -> Test:
        match node:
            case Logic(operator="AND"):
                return self._both(self._truth, node, sure)
            case Logic():
                return self._either(self._truth, node, sure)
            case Not():
                return self._falsity(node.operand, sure)
        value = self.value(node)
        if value.atom and value.nulls:
            return Test(f"{value.code} is True", frozenset(value.nulls))
        return guarded(value.nulls, value.code, sure)

    def _falsity(self, node: Node, sure: frozenset[str]) -> Test:
        match node:
            case Logic(operator="AND"):
                return self._either(self._falsity, node, sure)
            case Logic():
                return self._both(self._falsity, node, sure)
            case Not():
                return self._truth(node.operand, sure)
            case Compare() if node.operator in _OPPOSITE:
                opposite = self.value(replace(node, operator=_OPPOSITE[node.operator]))
                return guarded(opposite.nulls, opposite.code, sure)
            case IsNull():
                return guarded(self.value(node.operand).nulls, "", sure)
        value = self.value(node)
        if value.atom and value.nulls:
            return Test(f"{value.code} is False", frozenset(value.nulls))
        return guarded(value.nulls, f"not {value.code}", sure)

    def _both(
        self, test: Callable[[Node, frozenset[str]], Test], node: Logic, sure: frozenset[str]
    ) -> Test:
        left = test(node.left, sure)
        right = test(node.right, sure | left.sure)
        return Test(f"({chained(node, left)} and {right.code})", left.sure | right.sure)

    def _either(
        self, test: Callable[[Node, frozenset[str]], Test], node: Logic, sure: frozenset[str]
    ) -> Test:
        left, right = test(node.left, sure), test(node.right, sure)
        return Test(f"({chained(node, left)} or {right.code})", left.sure & right.sure)


def _maybe_nan(node: Node) -> bool:
    """Whether a float can be NaN: a constant cannot, nor a whole number."""
    if isinstance(node, Cast):
        return node.operand.type in FLOATING or node.operand.type is DataType.STRING
    return not isinstance(node, Literal)
