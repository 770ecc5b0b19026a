"""Typed trees to Spark SQL, with every cast and literal type written out."""

from __future__ import annotations

from collections.abc import Callable

from headway.errors import UnsupportedError
from headway.model import expression_tree
from headway.model.schema import DataType

RenderColumn = Callable[[expression_tree.ColumnRef], str]
RenderPython = Callable[[expression_tree.PythonValue], str]


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

    def render(self, node: expression_tree.Node) -> str:
        match node:
            case expression_tree.Literal():
                return _literal(node)
            case expression_tree.ColumnRef():
                return self._column(node)
            case expression_tree.Cast():
                return f"CAST({self.render(node.operand)} AS {node.type.value})"
            case expression_tree.Arithmetic() | expression_tree.Compare() | expression_tree.Logic():
                return f"({self.render(node.left)} {node.operator} {self.render(node.right)})"
            case expression_tree.Negate():
                return f"(- {self.render(node.operand)})"
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
                return self._call(node.function, node.arguments)
            case expression_tree.AggregateCall():
                argument = "*" if node.argument is None else self.render(node.argument)
                return f"{node.function}({argument})"
            case expression_tree.PythonValue():
                if self._python is None:
                    raise UnsupportedError(
                        f"the Python function {node.function} cannot be written as SQL"
                    )
                return self._python(node)

    def _call(self, name: str, arguments: tuple[expression_tree.Node, ...]) -> str:
        return f"{name}({', '.join(self.render(argument) for argument in arguments)})"


def _literal(node: expression_tree.Literal) -> str:
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
