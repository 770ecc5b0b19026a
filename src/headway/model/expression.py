"""Expressions as the model sees them: text to be parsed later, or a named Python function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from headway.model.schema import DataType


@dataclass(frozen=True, slots=True)
class Sql:
    """An SQL expression in Spark's dialect; SQL NULL rules hold on every engine."""

    text: str
    kind: Literal["sql"] = "sql"


@dataclass(frozen=True, slots=True)
class PythonCall:
    """A Python function of some columns, ``module:name``. It works everywhere and costs speed on
    Spark."""

    function: str
    arguments: tuple[str, ...]
    returns: DataType
    unit: str | None = None
    kind: Literal["python"] = "python"


Expression = Sql | PythonCall


@dataclass(frozen=True, slots=True)
class Column:
    """A named result of an expression."""

    name: str
    value: Expression
