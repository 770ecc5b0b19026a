"""Emitted arithmetic: whole numbers wrap around, floats are rounded, nothing divides by zero."""

from __future__ import annotations

from headway.expressions.casts import CASTS, may_fail
from headway.expressions.emit_base import EmitterBase
from headway.expressions.emit_values import FLOATING, Value, bare, nulls_of
from headway.model.expression_tree import Arithmetic, Cast, Literal, Negate, Node
from headway.model.schema import DataType

_RANGE = {
    DataType.INT: ("-2147483648", "2147483647", "wrap32"),
    DataType.BIGINT: ("-9223372036854775808", "9223372036854775807", "wrap64"),
}


class Numbers(EmitterBase):
    """Casts and arithmetic."""

    def _cast(self, node: Cast) -> Value:
        source = node.operand.type
        operand = self.value(node.operand)
        code = self._fill(CASTS[source, node.type], [operand])
        if may_fail(source):
            return self._keep(node, Value(code, operand.nulls).nullable_code)
        return Value(code, operand.nulls, atom=operand.atom and code == operand.code)

    def _arithmetic(self, node: Arithmetic | Negate) -> Value:
        if isinstance(node, Arithmetic) and node.operator in ("/", "%", "div"):
            return self._division(node)
        if node.type in _RANGE:
            ring = self._ring(node)
            low, high, wrap = _RANGE[node.type]
            name = self.body.fresh()
            return Value(
                f"({name} if {low} <= ({name} := {bare(ring.code)}) <= {high} else {wrap}({name}))",
                ring.nulls,
            )
        if isinstance(node, Negate):
            operand = self.value(node.operand)
            return Value(f"(-{operand.code})", operand.nulls)
        left, right = self._operands(node)
        code = f"({self._opened(node, left.code)} {node.operator} {right.code})"
        if node.type is DataType.FLOAT:
            code = f"f32{code}"
        return Value(code, nulls_of(left, right))

    def _ring(self, node: Node) -> Value:
        """Whole-number + - * without the wrap around, which one at the end makes up for."""
        if isinstance(node, Negate) and node.type in _RANGE:
            operand = self._ring(node.operand)
            return Value(f"(-{operand.code})", operand.nulls)
        if isinstance(node, Arithmetic) and node.type in _RANGE and node.operator in "+-*":
            left, right = self._ring(node.left), self._ring(node.right)
            code = f"({self._opened(node, left.code)} {node.operator} {right.code})"
            return Value(code, nulls_of(left, right))
        return self.value(node)

    def _opened(self, node: Arithmetic, left: str) -> str:
        """The left operand, without its parentheses in a chain such as a + b - c."""
        inner = node.left
        if not isinstance(inner, Arithmetic) or inner in self._named or inner.type != node.type:
            return left
        same_level = ("+", "-") if node.operator in ("+", "-") else (node.operator,)
        return bare(left) if inner.operator in same_level and left.startswith("(") else left

    def _operands(self, node: Arithmetic) -> tuple[Value, Value]:
        """Of a float operation. An int beside a float becomes one by itself, exactly."""
        left, right = _int_inside(node.left), _int_inside(node.right)
        if left is not None and right is not None:
            return self.value(node.left), self.value(node.right)
        return self.value(left or node.left), self.value(right or node.right)

    def _division(self, node: Arithmetic) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        template = _division_template(node)
        code = self._fill(template, [left, right])
        nulls = nulls_of(left, right)
        if isinstance(node.right, Literal) and node.right.value:
            return Value(code, nulls)
        return self._keep(node, Value(code, nulls).nullable_code)


def _division_template(node: Arithmetic) -> str:
    """Dividing by zero is NULL; by a constant it cannot happen."""
    constant = node.right.value if isinstance(node.right, Literal) else None
    if node.operator == "/":
        return "($0 / $1)" if constant else "($0 / $1 if @1 != 0.0 else None)"
    if node.operator == "div":
        return "int_quotient($0, $1)"
    if node.type in FLOATING:
        return "float_remainder($0, $1)"  # of two floats it is a float: no rounding
    if isinstance(constant, int) and constant > 0:
        return "($0 % $1 if @0 >= 0 else -(-$0 % $1))"
    return "int_remainder($0, $1)"


def _int_inside(node: Node) -> Node | None:
    """The int that a cast to double was made of."""
    if isinstance(node, Cast) and node.type is DataType.DOUBLE:
        return node.operand if node.operand.type is DataType.INT else None
    return None
