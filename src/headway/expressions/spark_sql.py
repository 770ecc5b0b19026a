"""Typed trees to Spark SQL, with every cast and literal type written out."""

from __future__ import annotations

from collections.abc import Callable

from headway.errors import Problem, UnsupportedError
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
    Typed,
)
from headway.model.schema import DataType

RenderColumn = Callable[[ColumnRef], str]
RenderPython = Callable[[PythonValue], str]


def quoted(name: str) -> str:
    """An identifier in backticks."""
    return "`" + name.replace("`", "``") + "`"


def plain_column(column: ColumnRef) -> str:
    """```port`.`column```, or the column alone where there are no ports."""
    own = quoted(column.name)
    return own if column.port is None else f"{quoted(column.port)}.{own}"


def to_spark_sql(
    typed: Typed,
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

    def render(self, node: Node) -> str:
        match node:
            case Literal():
                return _literal(node)
            case ColumnRef():
                return self._column(node)
            case Cast():
                return f"CAST({self.render(node.operand)} AS {node.type.value})"
            case Arithmetic() | Compare() | Logic():
                return f"({self.render(node.left)} {node.operator} {self.render(node.right)})"
            case Negate():
                return f"(- {self.render(node.operand)})"
            case Not():
                return f"(NOT {self.render(node.operand)})"
            case IsNull():
                return f"({self.render(node.operand)} IS NULL)"
            case In():
                options = ", ".join(_literal(option) for option in node.options)
                return f"({self.render(node.operand)} IN ({options}))"
            case Case():
                branches = " ".join(
                    f"WHEN {self.render(test)} THEN {self.render(value)}"
                    for test, value in node.branches
                )
                return f"CASE {branches} ELSE {self.render(node.otherwise)} END"
            case Coalesce():
                return self._call("coalesce", node.operands)
            case Call():
                return self._call(node.function, node.arguments)
            case AggregateCall():
                argument = "*" if node.argument is None else self.render(node.argument)
                return f"{node.function}({argument})"
            case PythonValue():
                if self._python is None:
                    raise UnsupportedError(
                        Problem(f"the Python function {node.function} cannot be written as SQL")
                    )
                return self._python(node)

    def _call(self, name: str, arguments: tuple[Node, ...]) -> str:
        return f"{name}({', '.join(self.render(argument) for argument in arguments)})"


def _literal(node: Literal) -> str:
    value = node.value
    if value is None:
        return f"CAST(NULL AS {node.type.value})"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        # "${" begins what Spark replaces before it parses, where a session's settings let it.
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("${", "$\\{")
        return f"'{escaped}'"
    suffix = {DataType.BIGINT: "L", DataType.DOUBLE: "D"}.get(node.type, "")
    text = f"{value!r}{suffix}"
    return f"({text})" if value < 0 else text
