"""Named expressions to fields: the part that Map, Join and Aggregate share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from headway.errors import InputError, Problem
from headway.expressions import Typed
from headway.expressions.tree import ColumnRef, Literal
from headway.model.expression import Column, Expression
from headway.model.schema import NAME, NAME_FORM, RESERVED_COLUMNS, Field, Schema


def fields_of(
    columns: Iterable[Column],
    typed: Callable[[Expression], Typed],
    inputs: Mapping[Any, Schema],
) -> list[Field]:
    """The fields the columns define; all problems of all columns at once.

    ``inputs`` are the schemas by port (None for a single input): a string keeps its longest length.
    """
    fields: list[Field] = []
    problems: list[Problem] = []
    for column in columns:
        at = f"columns.{column.name}"
        try:
            result = typed(column.value)
        except InputError as error:
            problems += [problem.within(at) for problem in error.problems]
            continue
        length = _length(result, inputs)
        fields.append(Field(column.name, result.type, result.unit, length))
    problems += name_problems([column.name for column in columns])
    if problems:
        raise InputError(problems)
    return fields


def _length(result: Typed, inputs: Mapping[Any, Schema]) -> int | None:
    """The longest length of a string that is a constant or a column as it is."""
    node = result.tree
    if isinstance(node, Literal) and isinstance(node.value, str):
        return len(node.value.encode())
    if isinstance(node, ColumnRef) and node.port in inputs:
        field = inputs[node.port].find(node.name)
        return field.length if field else None
    return None


def name_problems(names: Iterable[str]) -> list[Problem]:
    """Names that cannot be columns, or are there twice."""
    problems = []
    seen: set[str] = set()
    for name in names:
        at = f"columns.{name}"
        if not NAME.fullmatch(name):
            problems.append(Problem(f"{name!r} cannot be a name", at=at, want=f"use {NAME_FORM}"))
        elif name in RESERVED_COLUMNS:
            problems.append(
                Problem(f"column {name!r} is part of every stream", at=at, want="rename it")
            )
        elif name in seen:
            problems.append(Problem(f"column {name!r} is there twice", at=at, want="rename one"))
        seen.add(name)
    return problems
