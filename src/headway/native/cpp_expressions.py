"""Typed trees to C++17: the third way to compute an expression, beside Python and Spark SQL.

NULL, types, overflow and division are as in :mod:`headway.expressions.emit`. The functions of the
runtime take any value, so nothing is guarded: a value is computed whatever the row has, and beside
it stands when it is known. Only what can be NULL for a reason of its own (a division, a logarithm,
a text that is no number) says so itself. Strings are seen where they lie (``std::string_view``);
only what makes a new one gives it a place.

For other writers of generated code::

    body = CppBody(taken=["row", "out"])
    emitter = CppEmitter(body, row_reader("row", struct))
    value = emitter.value(tree)
    value.code, value.known      the C++ of the value, and of when it is not NULL
    value.maybe_code             the C++ of a Maybe
    column_code(value, type)     the C++ of a column's value, a Text for a string
    emitter.condition(tree)      a C++ bool: true only where the value is true
    body.lines(), body.headers   the statements these need before them, and their headers
    result_length(tree, lengths) the room that a string needs at most, in bytes

Whole functions are written by :mod:`headway.native.cpp_row_functions` (filters, maps, joins) and
:mod:`headway.native.cpp_aggregates`; rows are structs of :mod:`headway.native.cpp_types`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from headway.expressions.functions import FUNCTIONS
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
from headway.native.cpp_body import CppBody, bare
from headway.native.cpp_functions import ARITHMETIC, CPP_CASTS, CPP_FUNCTIONS, VALUE, CppFunction
from headway.native.cpp_text_lengths import Lengths, refused, result_length
from headway.native.cpp_types import local_type, text_room
from headway.native.cpp_values import (
    CppValue,
    ReadAggregate,
    ReadColumn,
    all_known,
    literal_code,
    maybe_or,
    zero_code,
)

_LONG_CODE = 64
"""what is longer gets a name"""


_COMPARISONS = {
    "=": "equal",
    "<>": "not_equal",
    "<": "less",
    "<=": "less_or_equal",
    ">": "greater",
    ">=": "greater_or_equal",
}
_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_WHOLE_ARITHMETIC = {"+": "add", "-": "subtract", "*": "multiply"}
_PLACEHOLDER = re.compile(r"\$(\d|\*|N|T)")


class CppEmitter:
    """Writes expressions into a body. What was given a name is not computed again."""

    def __init__(
        self,
        body: CppBody,
        read: ReadColumn,
        lengths: Lengths | None = None,
        aggregate: ReadAggregate | None = None,
    ) -> None:
        self.body = body
        self._read = read
        self._lengths = lengths
        self._aggregate = aggregate
        self._values: dict[Node, CppValue] = {}
        self._named: set[Node] = set()
        body.headers.add(VALUE)

    # ---------------- values

    def value(self, node: Node) -> CppValue:
        found = self._values.get(node)
        if found is None:
            found = self._value(node)
            if not found.atom and len(found.code) > _LONG_CODE:
                found = self._keep(node, _name_of(node), found)
            found = replace(found, known=self._short(found.known))
            self._values[node] = found
        return found

    def name(self, node: Node) -> CppValue:
        """The value as an atom."""
        value = self.value(node)
        return value if value.atom else self._keep(node, _name_of(node), value)

    def condition(self, node: Node) -> str:
        """Code that is true exactly when the value is true, not false or NULL."""
        return self._truth(node)

    def _keep(self, node: Node, base: str, value: CppValue) -> CppValue:
        name = self.body.define(base, local_type(node.type), value.code)
        return self._is(node, CppValue(name, self._short(value.known), atom=True))

    def _keep_maybe(self, node: Node, base: str, code: str, known: tuple[str, ...]) -> CppValue:
        """Gives a name to what is a Maybe by itself, NULL also where ``known`` says so."""
        name = self.body.define(base, f"headway::Maybe<{local_type(node.type)}>", code)
        known = self._short((*known, f"{name}.known"))
        return self._is(node, CppValue(f"{name}.value", known, atom=True))

    def _is(self, node: Node, value: CppValue) -> CppValue:
        """The value has a name now, by which it goes from here on."""
        self._values[node] = value
        self._named.add(node)
        return value

    def _short(self, known: tuple[str, ...]) -> tuple[str, ...]:
        if sum(map(len, known)) <= _LONG_CODE:
            return known
        return (self.body.define("known", "bool", " && ".join(known)),)

    def _value(self, node: Node) -> CppValue:
        match node:
            case Literal():
                if node.value is None:
                    return CppValue(zero_code(node.type), ("false",), atom=True)
                return CppValue(literal_code(node), atom=True)
            case ColumnRef():
                return self._read(node)
            case Cast():
                return self._applied(node, CPP_CASTS[node.operand.type, node.type], [node.operand])
            case Negate():
                return self._negate(node)
            case Arithmetic():
                return self._arithmetic(node)
            case Compare():
                return self._compare(node)
            case Logic():
                return self._logic(node)
            case Not():
                operand = self.value(node.operand)
                return CppValue(f"(!{operand.code})", operand.known)
            case IsNull():
                operand = self.value(node.operand)
                return CppValue(f"(!({operand.known_code}))" if operand.known else "false")
            case In():
                operand = self.value(node.operand)
                options = ", ".join(literal_code(option) for option in node.options)
                kind = local_type(node.operand.type)
                code = f"headway::one_of<{kind}>({bare(operand.code)}, {{{options}}})"
                return CppValue(code, operand.known)
            case Case():
                branches = [
                    (self.condition(test), self.value(chosen)) for test, chosen in node.branches
                ]
                return self._chosen(node, "chosen", branches, self.value(node.otherwise))
            case Coalesce():
                return self._coalesce(node)
            case Call():
                return self._call(node)
            case AggregateCall():
                assert self._aggregate is not None, "an aggregate outside an aggregate operator"
                return self._aggregate(node)
            case PythonValue():
                raise refused(node)

    def _chosen(
        self,
        node: Node,
        base: str,
        branches: list[tuple[str, CppValue]],
        otherwise: CppValue,
    ) -> CppValue:
        """The value of the first branch whose condition holds."""
        values = [*(value for _, value in branches), otherwise]
        kind, zero = local_type(node.type), zero_code(node.type)
        if not any(value.known for value in values):
            codes = [(test, value.code) for test, value in branches]
            name = self.body.choose(base, kind, zero, codes, otherwise.code)
            return self._is(node, CppValue(name, atom=True))
        null = f"headway::null<{kind}>()"
        maybes = [(test, maybe_or(value, null)) for test, value in branches]
        name = self.body.choose(
            base, f"headway::Maybe<{kind}>", null, maybes, maybe_or(otherwise, null)
        )
        return self._is(node, CppValue(f"{name}.value", (f"{name}.known",), atom=True))

    def _coalesce(self, node: Coalesce) -> CppValue:
        values = []
        for operand in node.operands:
            values.append(self.value(operand))
            if not values[-1].known:
                break
        *first, last = values
        if not first:
            return last
        branches = [
            (value.known_code, CppValue(value.code))
            for value in first
            if "false" not in value.known
        ]
        return self._chosen(node, "first_known", branches, last) if branches else last

    # ---------------- functions

    def _call(self, node: Call) -> CppValue:
        function = CPP_FUNCTIONS[node.function]
        if node.function == "isnan":
            operand = self.value(node.arguments[0])
            test = f"headway::is_nan({bare(operand.code)})"
            return CppValue(f"({' && '.join([*operand.known, test])})" if operand.known else test)
        assert FUNCTIONS[node.function].strict != function.takes_maybe
        return self._applied(node, function, node.arguments)

    def _applied(
        self, node: Cast | Call, function: CppFunction, arguments: Iterable[Node]
    ) -> CppValue:
        operands = [self.value(argument) for argument in arguments]
        template = function.text(tuple(argument.type for argument in arguments))
        if template == "$0":
            return operands[0]
        known = () if function.takes_maybe else all_known(*operands)
        code = self._filled(template, node, operands, takes_maybe=function.takes_maybe)
        self.body.headers.add(function.header)
        base = _name_of(node)
        if function.gives_maybe:
            return self._keep_maybe(node, base, code, known)
        if function.makes_text:
            name = self.body.define(base, f"headway::Text<{self._room(node)}>", code)
            return self._is(node, CppValue(f"{name}.view()", self._short(known), atom=True))
        return CppValue(code, known)

    def _filled(
        self, template: str, node: Node, operands: list[CppValue], *, takes_maybe: bool
    ) -> str:
        kind = local_type(node.type)
        null = f"headway::null<{kind}>()"
        codes = [
            maybe_or(operand, null) if takes_maybe else bare(operand.code) for operand in operands
        ]

        def insert(match: re.Match[str]) -> str:
            match match[1]:
                case "*":
                    return ", ".join(codes)
                case "T":
                    return kind
                case "N":
                    return str(self._room(node))
            return codes[int(match[1])]

        return _PLACEHOLDER.sub(insert, template)

    def _room(self, node: Node) -> int:
        assert self._lengths is not None, "the lengths of the columns are not given"
        return text_room(result_length(node, self._lengths))

    # ---------------- arithmetic: whole numbers wrap around, nothing divides by zero

    def _negate(self, node: Negate) -> CppValue:
        operand = self.value(node.operand)
        if node.type.is_integral:
            self.body.headers.add(ARITHMETIC)
            return CppValue(f"headway::negate({bare(operand.code)})", operand.known)
        return CppValue(f"(-{operand.code})", operand.known)

    def _arithmetic(self, node: Arithmetic) -> CppValue:
        left, right = self.value(node.left), self.value(node.right)
        known = all_known(left, right)
        if node.operator in ("/", "%", "div"):
            return self._division(node, left, right, known)
        if node.type.is_integral:
            self.body.headers.add(ARITHMETIC)
            function = _WHOLE_ARITHMETIC[node.operator]
            return CppValue(f"headway::{function}({bare(left.code)}, {bare(right.code)})", known)
        return CppValue(f"({self._opened(node, left.code)} {node.operator} {right.code})", known)

    def _opened(self, node: Arithmetic, left: str) -> str:
        """The left operand, without its parentheses in a chain such as a + b - c."""
        inner = node.left
        if not isinstance(inner, Arithmetic) or inner in self._named:
            return left
        same_level = ("+", "-") if node.operator in ("+", "-") else (node.operator,)
        return bare(left) if inner.operator in same_level else left

    def _division(
        self, node: Arithmetic, left: CppValue, right: CppValue, known: tuple[str, ...]
    ) -> CppValue:
        """Dividing by zero is NULL; by a constant it cannot happen."""
        if node.operator == "/" and isinstance(node.right, Literal) and node.right.value:
            return CppValue(f"({self._opened(node, left.code)} / {right.code})", known)
        self.body.headers.add(ARITHMETIC)
        base = "remainder" if node.operator == "%" else "quotient"
        code = f"headway::{base}({bare(left.code)}, {bare(right.code)})"
        return self._keep_maybe(node, base, code, known)

    # ---------------- conditions: NaN compares, logic in two values where only one matters

    def _compare(self, node: Compare) -> CppValue:
        left, right = self.value(node.left), self.value(node.right)
        if node.operator == "<=>":
            return self._null_safe(node, left, right)
        function = _COMPARISONS[node.operator]
        code = f"headway::{function}({bare(left.code)}, {bare(right.code)})"
        return CppValue(code, all_known(left, right))

    def _null_safe(self, node: Compare, left: CppValue, right: CppValue) -> CppValue:
        if left.known and right.known:
            null = f"headway::null<{local_type(node.left.type)}>()"
            code = f"headway::same({maybe_or(left, null)}, {maybe_or(right, null)})"
            return CppValue(code)
        equal = f"headway::equal({bare(left.code)}, {bare(right.code)})"
        known = all_known(left, right)
        return CppValue(f"({' && '.join([*known, equal])})" if known else equal)

    def _logic(self, node: Logic) -> CppValue:
        if not self._nullable(node):
            return CppValue(self._truth(node))
        # Both what makes it true and what makes it false are written: their parts get names.
        self._name_parts(node)
        base = "both" if node.operator == "AND" else "either"
        true = self._truth(node)
        if not true.isidentifier():
            true = self.body.define(base, "bool", true)
        known = self.body.define(f"{base}_known", "bool", f"{true} || {self._falsity(node)}")
        return self._is(node, CppValue(true, (known,), atom=True))

    def _name_parts(self, node: Node) -> None:
        match node:
            case Logic():
                self._name_parts(node.left)
                self._name_parts(node.right)
            case Not():
                self._name_parts(node.operand)
            case _:
                self.name(node)

    def _nullable(self, node: Node) -> bool:
        if isinstance(node, Logic):
            return self._nullable(node.left) or self._nullable(node.right)
        if isinstance(node, Not):
            return self._nullable(node.operand)
        return bool(self.value(node).known)

    def _truth(self, node: Node) -> str:
        match node:
            case Logic() if node not in self._named:
                return self._joined(self._truth, node, node.operator)
            case Not():
                return self._falsity(node.operand)
        value = self.value(node)
        return _guarded(value.known, value.code)

    def _falsity(self, node: Node) -> str:
        match node:
            case Logic() if node not in self._named:
                return self._joined(self._falsity, node, "OR" if node.operator == "AND" else "AND")
            case Not():
                return self._truth(node.operand)
            case Compare() if node.operator in _OPPOSITE and node not in self._named:
                opposite = Compare(_OPPOSITE[node.operator], node.left, node.right)
                value = self.value(opposite)
                return _guarded(value.known, value.code)
            case IsNull():
                return _guarded(self.value(node.operand).known, "")
        value = self.value(node)
        return _guarded(value.known, f"!{value.code}")

    def _joined(self, test: Callable[[Node], str], node: Logic, operator: str) -> str:
        """Both conditions or either; a chain such as a AND b AND c needs no inner parentheses."""
        sign, other = (" && ", " || ") if operator == "AND" else (" || ", " && ")
        sides = []
        for child in (node.left, node.right):
            side = test(child)
            inner = bare(side)
            if other not in inner:
                side = inner
            elif len(side) > _LONG_CODE:
                base = "either" if operator == "AND" else "both"
                side = self.body.define(base, "bool", side)
            sides.append(side)
        return f"({sign.join(sides)})"


def _guarded(known: tuple[str, ...], code: str) -> str:
    parts = [*known, code] if code else list(known)
    if len(parts) > 1:
        return f"({' && '.join(parts)})"
    return parts[0] if parts else "true"


def _name_of(node: Node) -> str:
    """What a part of an expression is called, before its number."""
    match node:
        case Cast():
            return "parsed" if node.operand.type is DataType.STRING else "converted"
        case Arithmetic():
            names = {"+": "sum", "-": "difference", "*": "product", "%": "remainder"}
            return names.get(node.operator, "quotient")
        case Compare() | Logic() | Not() | IsNull() | In():
            return "test"
        case Call():
            return f"{node.function}_"
    return "value"
