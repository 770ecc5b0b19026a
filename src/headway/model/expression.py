"""Expressions as people write them, SQL or a Python function, and what the compiler made of them.

The compiler parses and type-checks an expression once and keeps the typed tree beside it; engines
run the tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from headway.errors import QueryError
from headway.model.expression_tree import Typed
from headway.model.names import ImportPath, Name, StreamName
from headway.model.schema import DataType


@dataclass(frozen=True, slots=True)
class Sql:
    """An SQL expression in Spark's dialect; SQL NULL rules hold on every engine."""

    text: str
    typed: Typed | None = None
    """what it means over the columns of its place; None before the query is compiled"""
    kind: Literal["sql"] = "sql"


@dataclass(frozen=True, slots=True)
class PythonCall:
    """A Python function of some columns, ``module:name``. It works everywhere and costs speed on
    Spark."""

    function: ImportPath
    arguments: tuple[StreamName, ...]
    returns: DataType
    unit: str | None = None
    typed: Typed | None = None
    kind: Literal["python"] = "python"


Expression = Sql | PythonCall


def typed(expression: Expression) -> Typed:
    """The typed tree of an expression in a compiled query."""
    if expression.typed is None:
        written = expression.text if isinstance(expression, Sql) else expression.function
        raise QueryError(
            "the expression is not compiled", got=written, want="compile the query again"
        )
    return expression.typed


@dataclass(frozen=True, slots=True)
class Column:
    """A named result of an expression."""

    name: Name
    value: Expression
