"""Typed trees to Python: flat statements that name what is needed twice, and inline expressions.

A value is NULL exactly when one of a few names is None; as long as that holds, operators only join
their operands' names and nothing is checked. What can be NULL for another reason (a division, a
logarithm) gets a name of its own. A condition is never computed in three values: where only "true"
matters, and after a NOT only "false", ordinary ``and`` and ``or`` do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from headway.expressions.body import Body
from headway.expressions.casts import CASTS, may_fail
from headway.expressions.functions import FUNCTIONS
from headway.expressions.python_call import python_function
from headway.model.expression_tree import (
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
)
from headway.model.schema import DataType

FLOATING = (DataType.FLOAT, DataType.DOUBLE)
_BRACKETS_AND_STRINGS = re.compile(r"""[()]|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")


@dataclass(frozen=True, slots=True)
class Value:
    """``code`` computes the value, unless one of the names in ``nulls`` is None: then it is NULL.

    An ``atom`` is a name or a constant; if it can be NULL it is itself the name to look at.
    """

    code: str
    nulls: tuple[str, ...] = ()
    atom: bool = False

    @property
    def nullable_code(self) -> str:
        """An expression that gives None for NULL."""
        if self.atom or not self.nulls:
            return self.code
        return f"(None if {any_none(self.nulls)} else {self.code})"


@dataclass(frozen=True, slots=True)
class Test:
    """A Python condition; where it holds, the names in ``sure`` are not None."""

    code: str
    sure: frozenset[str] = frozenset()


NULL = Value("None", ("None",), atom=True)


def guarded(nulls: Iterable[str], code: str, sure: frozenset[str]) -> Test:
    checks = [f"{name} is not None" for name in nulls if name not in sure]
    text = " and ".join([*checks, code] if code else checks) or "True"
    return Test(f"({text})" if checks else text, frozenset(nulls))


def chained(node: Logic, left: Test) -> str:
    """The left condition, without its parentheses in a chain such as a AND b AND c."""
    same = isinstance(node.left, Logic) and node.left.operator == node.operator
    return bare(left.code) if same else left.code


def any_none(names: Iterable[str]) -> str:
    return " or ".join(f"{name} is None" for name in names)


def nulls_of(*values: Value) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for value in values for name in value.nulls))


def literal_code(node: Literal) -> str:
    if isinstance(node.value, (int, float)) and not isinstance(node.value, bool) and node.value < 0:
        return f"({node.value!r})"
    return repr(node.value)


def bare(code: str) -> str:
    """The code without parentheses around all of it."""
    if not (code.startswith("(") and code.endswith(")")):
        return code
    depth = 0
    for piece in _BRACKETS_AND_STRINGS.finditer(code):
        depth += {"(": 1, ")": -1}.get(piece[0], 0)
        if depth == 0:
            return code[1:-1] if piece.end() == len(code) else code
    return code


_PLACEHOLDER = re.compile(r"([$@])(\d|\*)")

ReadColumn = Callable[[ColumnRef], Value]
ReadAggregate = Callable[[AggregateCall], Value]
_RANGE = {
    DataType.INT: ("-2147483648", "2147483647", "wrap32"),
    DataType.BIGINT: ("-9223372036854775808", "9223372036854775807", "wrap64"),
}
_PYTHON_COMPARISON = {"=": "==", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_MIRRORED = {">": "<", ">=": "<="}
_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


class Emitter:
    """Writes any expression into a body. What was given a name is not computed again."""

    def __init__(
        self, body: Body, read: ReadColumn, aggregate: ReadAggregate | None = None
    ) -> None:
        self.body = body
        self._read = read
        self._aggregate = aggregate
        self._named: dict[Node, Value] = {}
        self._sure: frozenset[str] = frozenset()

    def result(self, node: Node) -> str:
        """Code of the value, None for NULL; it may be used once."""
        return self.value(node).nullable_code

    def name(self, node: Node) -> Value:
        """The value as an atom."""
        value = self.value(node)
        if value.atom:
            return value
        return self._keep(node, value.nullable_code, nullable=bool(value.nulls))

    def value(self, node: Node) -> Value:
        value = self._named.get(node) or self._value(node)
        if self._sure.isdisjoint(value.nulls):
            return value
        return replace(value, nulls=tuple(n for n in value.nulls if n not in self._sure))

    def _keep(self, node: Node, code: str, *, nullable: bool = True) -> Value:
        name = self.body.fresh()
        self.body.line(f"{name} = {bare(code)}")
        self._named[node] = Value(name, (name,) if nullable else (), atom=True)
        return self._named[node]

    def _fill(self, template: str, values: list[Value]) -> str:
        """The template with its arguments; an argument marked ``@`` gets a name on the way."""
        codes = [value.code for value in values]
        firsts = list(codes)
        for index, value in enumerate(values):
            if f"@{index}" in template and f"${index}" in template and not value.atom:
                codes[index] = self.body.fresh()
                firsts[index] = f"({codes[index]} := {bare(value.code)})"

        def insert(match: re.Match[str]) -> str:
            if match[2] == "*":
                return ", ".join(codes)
            return (firsts if match[1] == "@" else codes)[int(match[2])]

        return _PLACEHOLDER.sub(insert, template)

    def _value(self, node: Node) -> Value:
        match node:
            case Literal():
                return Value(literal_code(node), atom=True) if node.value is not None else NULL
            case ColumnRef():
                return self._read(node)
            case Cast():
                return self._cast(node)
            case Arithmetic() | Negate():
                return self._arithmetic(node)
            case Compare():
                return self._compare(node)
            case Logic():
                return self._logic(node)
            case Not():
                operand = self.value(node.operand)
                return Value(f"(not {operand.code})", operand.nulls)
            case IsNull():
                operand = self.value(node.operand)
                return Value(f"({any_none(operand.nulls)})" if operand.nulls else "False")
            case In():
                operand = self.value(node.operand)
                options = ", ".join(literal_code(option) for option in node.options)
                return Value(f"({operand.code} in ({options},))", operand.nulls)
            case Case():
                return self._case(node)
            case Coalesce():
                return self._coalesce(node)
            case Call():
                return self._call(node)
            case AggregateCall():
                assert self._aggregate is not None, "an aggregate outside an aggregate operator"
                return self._aggregate(node)
            case PythonValue():
                function = self.body.refer("function", python_function(node))
                arguments = ", ".join(self.name(argument).code for argument in node.arguments)
                return self._keep(node, f"{function}({arguments})")

    def _case(self, node: Case) -> Value:
        otherwise = self.value(node.otherwise)
        code, nullable = otherwise.nullable_code, bool(otherwise.nulls)
        for test, chosen in reversed(node.branches):
            value = self.value(chosen)
            nullable = nullable or bool(value.nulls)
            code = f"{value.nullable_code} if {self.condition(test)} else {code}"
        return self._keep(node, code, nullable=nullable)

    def _coalesce(self, node: Coalesce) -> Value:
        values = []
        for operand in node.operands:
            values.append(self.name(operand))
            if not values[-1].nulls:
                break
        if len(values) == 1:
            return values[0]
        code = values[-1].code
        for value in reversed(values[:-1]):
            code = f"{value.code} if {value.code} is not None else {code}"
        return self._keep(node, code, nullable=bool(values[-1].nulls))

    def _call(self, node: Call) -> Value:
        function = FUNCTIONS[node.function]
        template = function.template(tuple(argument.type for argument in node.arguments))
        if not function.strict:
            atoms = [self.name(argument) for argument in node.arguments]
            code = self._fill(template, atoms)
            return self._keep(node, code) if function.may_be_null else Value(code)
        arguments = [self.value(argument) for argument in node.arguments]
        nulls = nulls_of(*arguments)
        code = self._fill(template, arguments)
        if function.may_be_null:
            return self._keep(node, Value(code, nulls).nullable_code)
        return Value(code, nulls, atom=template == "$0" and arguments[0].atom)

    # ---------------- arithmetic: whole numbers wrap around, nothing divides by zero

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

    # ---------------- conditions: NaN compares, logic in two values where only one matters

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


def _maybe_nan(node: Node) -> bool:
    """Whether a float can be NaN: a constant cannot, nor a whole number."""
    if isinstance(node, Cast):
        return node.operand.type in FLOATING or node.operand.type is DataType.STRING
    return not isinstance(node, Literal)
