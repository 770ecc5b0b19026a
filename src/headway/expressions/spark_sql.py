"""Typed trees to Spark SQL that means the same in every session.

Every cast and literal type is written out, and nothing leans on the session: not on ANSI mode
(which ends a query where Headway's SQL gives NULL, wraps around or takes the nearest number), not
on its time zone, not on how its parser treats backslashes and ``${``. So a user's session need not
be changed, and Spark Connect, which looks at settings only when a query runs, gives the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count

from headway.errors import UnsupportedError
from headway.model import expression_tree
from headway.model.schema import DataType

RenderColumn = Callable[[expression_tree.ColumnRef], str]
RenderPython = Callable[[expression_tree.PythonValue], str]

_INTEGRAL = (DataType.INT, DataType.BIGINT)
_FLOATING = (DataType.FLOAT, DataType.DOUBLE)
_TRYING = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}
_LIMITS = {
    DataType.INT: ("(-2147483648)", "2147483647", "0"),
    DataType.BIGINT: ("(-9223372036854775808L)", "9223372036854775807L", "0L"),
}
_LOW_HALF = "4294967295L"
_PLAIN_TEXT = re.compile(r"[^\\'$\x00-\x1f\x7f]*")
SHORT = 300
"""letters of SQL that are rather written twice than bound to a name"""


def quoted(name: str) -> str:
    """An identifier in backticks."""
    return "`" + name.replace("`", "``") + "`"


def plain_column(column: expression_tree.ColumnRef) -> str:
    """```port`.`column```, or the column alone where there are no ports."""
    own = quoted(column.name)
    return own if column.port is None else f"{quoted(column.port)}.{own}"


def to_spark_sql(
    typed: expression_tree.Typed,
    *,
    column: RenderColumn = plain_column,
    python: RenderPython | None = None,
) -> str:
    """The expression as Spark must be told it. ``column`` says how columns are called there, and
    ``python`` what stands for a call of a Python function."""
    return _Renderer(column, python).render(typed.tree)


class _Renderer:
    def __init__(self, column: RenderColumn, python: RenderPython | None) -> None:
        self._column = column
        self._python = python
        self._names = count()

    def render(self, node: expression_tree.Node) -> str:
        match node:
            case expression_tree.Literal():
                return _literal(node)
            case expression_tree.ColumnRef():
                return self._column(node)
            case expression_tree.Cast():
                return self._cast(node)
            case expression_tree.Arithmetic():
                return self._arithmetic(node)
            case expression_tree.Compare() | expression_tree.Logic():
                return f"({self.render(node.left)} {node.operator} {self.render(node.right)})"
            case expression_tree.Negate():
                return self._negated(node)
            case expression_tree.Not():
                return f"(NOT {self.render(node.operand)})"
            case expression_tree.IsNull():
                return f"({self.render(node.operand)} IS NULL)"
            case expression_tree.In():
                options = ", ".join(_literal(option) for option in node.options)
                return f"({self.render(node.operand)} IN ({options}))"
            case expression_tree.Case():
                branches = " ".join(
                    f"WHEN {self.render(test)} THEN {self.render(value)}"
                    for test, value in node.branches
                )
                return f"CASE {branches} ELSE {self.render(node.otherwise)} END"
            case expression_tree.Coalesce():
                return self._call("coalesce", node.operands)
            case expression_tree.Call():
                return self._function(node)
            case expression_tree.AggregateCall():
                return self._aggregate(node)
            case expression_tree.PythonValue():
                if self._python is None:
                    raise UnsupportedError(
                        f"the Python function {node.function} cannot be written as SQL"
                    )
                return self._python(node)

    def _call(self, name: str, arguments: tuple[expression_tree.Node, ...]) -> str:
        return f"{name}({', '.join(self.render(argument) for argument in arguments)})"

    def _let(self, values: list[str], body: Callable[..., str]) -> str:
        """``body`` of values that it uses more than once: a long one would double the text at each
        level, so it becomes the variable of a function over an array of one."""
        names, bound = [], []
        for value in values:
            if len(value) <= SHORT:
                names.append(value)
                continue
            place = next(self._names)
            names.append(f"let{place}.x")
            bound.append((f"let{place}", value))
        text = body(*names)
        for name, value in bound:
            text = f"transform(array(named_struct('x', {value})), {name} -> {text})[0]"
        return text

    # ---------------------------------------------------------------- arithmetic

    def _arithmetic(self, node: expression_tree.Arithmetic) -> str:
        left, right = self.render(node.left), self.render(node.right)
        constant = node.right.value if isinstance(node.right, expression_tree.Literal) else None
        match node.operator:
            case "/":
                return f"({left} / {right})" if constant else f"try_divide({left}, {right})"
            case "%":
                return f"({left} % {right})" if constant else f"try_mod({left}, {right})"
            case "div":
                if constant not in (None, 0, -1):
                    return f"({left} div {right})"
                return self._let([left, right], _quotient)
        if node.type in _FLOATING or (_small(node.left) and _small(node.right)):
            return f"({left} {node.operator} {right})"
        if node.type is DataType.INT:
            wide = (f"CAST({operand} AS bigint)" for operand in (left, right))
            return _wrapped32(f" {node.operator} ".join(wide))
        return self._let([left, right], lambda a, b: _computed64(node.operator, a, b))

    def _negated(self, node: expression_tree.Negate) -> str:
        operand = self.render(node.operand)
        if node.type is DataType.INT:
            return _wrapped32(f"- CAST({operand} AS bigint)")
        if node.type is DataType.BIGINT:
            return self._let([operand], _negated64)
        return f"(- {operand})"

    # ---------------------------------------------------------------- casts

    def _cast(self, node: expression_tree.Cast) -> str:
        operand, source, to = self.render(node.operand), node.operand.type, node.type
        if source is DataType.STRING and to in _INTEGRAL:
            return self._let([operand], lambda text: _whole_of_text(text, to))
        if source is DataType.STRING and to is not source:
            return f"try_cast({operand} AS {to.value})"
        if source in _FLOATING and to in _INTEGRAL:
            return self._let([operand], lambda value: _whole_of_number(value, to))
        if source is DataType.BIGINT and to is DataType.INT:
            return _wrapped32(operand)
        return f"CAST({operand} AS {to.value})"

    # ---------------------------------------------------------------- functions

    def _function(self, node: expression_tree.Call) -> str:
        if node.type not in _INTEGRAL or node.function not in ("abs", "round", "floor", "ceil"):
            return self._call(node.function, node.arguments)
        operand = self.render(node.arguments[0])
        if node.function in ("floor", "ceil"):
            if node.arguments[0].type in _INTEGRAL:
                return operand
            return self._let([operand], lambda value: _to_whole(node.function, value))
        wide = node.type is DataType.BIGINT
        if node.function == "abs":
            if wide:
                return self._let([operand], lambda a: f"greatest({a}, try_subtract(0L, {a}))")
            return _wrapped32(f"abs(CAST({operand} AS bigint))")
        digits = node.arguments[1] if len(node.arguments) > 1 else None
        if not isinstance(digits, expression_tree.Literal) or not _negative(digits.value):
            return operand
        if wide:
            return _wrapped64(f"round(CAST({operand} AS decimal(20,0)), {_literal(digits)})")
        return _wrapped32(f"round(CAST({operand} AS bigint), {_literal(digits)})")

    def _aggregate(self, node: expression_tree.AggregateCall) -> str:
        if node.argument is None:
            return f"{node.function}(*)"
        argument = self.render(node.argument)
        if node.function != "sum" or node.type is not DataType.BIGINT or _small(node.argument):
            return f"{node.function}({argument})"
        # Neither half can overflow, and together they wrap around.
        high, low = f"sum(shiftright({argument}, 32))", f"sum({argument} & {_LOW_HALF})"
        return f"(shiftleft({high} + shiftright({low}, 32), 32) | ({low} & {_LOW_HALF}))"


def _small(node: expression_tree.Node) -> bool:
    """Whether it is a bigint that was an int: of two such, no sum or product overflows, nor does
    the sum of as many as there can be."""
    if isinstance(node, expression_tree.Literal):
        whole = isinstance(node.value, int) and node.type is DataType.BIGINT
        return whole and abs(int(node.value or 0)) < 2**31
    return (
        isinstance(node, expression_tree.Cast)
        and node.type is DataType.BIGINT
        and node.operand.type in (DataType.INT, DataType.BOOLEAN)
    )


def _negative(value: expression_tree.Scalar) -> bool:
    return isinstance(value, int) and value < 0


def _wrapped32(whole: str) -> str:
    """A bigint as an int in two's complement: bit 31 becomes the sign."""
    return f"CAST((((({whole}) & {_LOW_HALF}) ^ 2147483648L) - 2147483648L) AS int)"


def _wrapped64(exact: str) -> str:
    """A decimal without digits behind the point as a bigint in two's complement."""
    half, all_ = "9223372036854775808BD", "18446744073709551616BD"
    return f"CAST((pmod(({exact}) + {half}, {all_}) - {half}) AS bigint)"


def _computed64(operator: str, left: str, right: str) -> str:
    exact = f"CAST({left} AS decimal(20,0)) {operator} CAST({right} AS decimal(20,0))"
    return f"coalesce({_TRYING[operator]}({left}, {right}), {_wrapped64(exact)})"


def _negated64(value: str) -> str:
    """Of the least bigint it is that again."""
    return f"coalesce(try_subtract(0L, {value}), {value})"


def _quotient(left: str, right: str) -> str:
    """By zero NULL; by -1 the least bigint has no other."""
    negated = _negated64(left)
    return f"CASE WHEN {right} = -1L THEN {negated} WHEN {right} <> 0L THEN {left} div {right} END"


def _whole_of_number(value: str, to: DataType) -> str:
    """Towards zero; outside the range the nearest, and 0 for NaN."""
    least, most, zero = _LIMITS[to]
    return (
        f"coalesce(try_cast({value} AS {to.value}), CASE WHEN isnan({value}) THEN {zero} "
        f"WHEN {value} > 0 THEN {most} WHEN {value} < 0 THEN {least} END)"
    )


def _to_whole(function: str, value: str) -> str:
    """Up or down; numbers beyond the range of bigint are whole already."""
    beyond = _whole_of_number(value, DataType.BIGINT)
    return f"CASE WHEN abs({value}) < 9e18D THEN {function}({value}) ELSE {beyond} END"


def _whole_of_text(text: str, to: DataType) -> str:
    """``try_cast`` takes no digits behind a point; here they are cut off, and no digit before it is
    a zero."""
    cut = f"regexp_replace({text}, '^([^0-9.]*)([0-9]*)[.][0-9]*([^0-9.]*)$', '$10$2$3')"
    return f"coalesce(try_cast({text} AS {to.value}), try_cast({cut} AS {to.value}))"


def _literal(node: expression_tree.Literal) -> str:
    value = node.value
    if value is None:
        return f"CAST(NULL AS {node.type.value})"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        # What sessions read differently is given as bytes.
        if _PLAIN_TEXT.fullmatch(value):
            return f"'{value}'"
        return f"CAST(X'{value.encode().hex().upper()}' AS string)"
    suffix = {DataType.BIGINT: "L", DataType.DOUBLE: "D"}.get(node.type, "")
    text = f"{value!r}{suffix}"
    return f"({text})" if value < 0 else text
