"""Operators in words that a Spark engineer reads: SQL where they are SQL, for comments.

No SQL says when a tuple is late or what a window of time is; such words are in capitals too, so
these texts are for people and nobody parses them.
"""

from __future__ import annotations

from collections.abc import Sequence

from headway.model.expression import Column, Expression, Sql
from headway.model.operators import Aggregate, Filter, Join, Map, Operator, Union
from headway.model.quantities import format_duration
from headway.model.schema import Schema


def described(operator: Operator, schema: Schema) -> list[str]:
    """Lines; ``schema`` is that of its output."""
    match operator:
        case Filter():
            return [f"SELECT * FROM {operator.streams[0]}", f"WHERE {_text(operator.where)}"]
        case Map():
            kept = ["*"] if operator.keep else []
            return [*_select(operator.columns, kept), f"FROM {operator.streams[0]}"]
        case Union():
            reads = [f"SELECT * FROM {stream}" for stream in operator.streams]
            return [line for one in reads for line in (one, "UNION ALL")][:-1]
        case Join():
            return _join(operator)
        case Aggregate():
            window = format_duration(operator.window)
            every = format_duration(operator.every)
            grouped = ", ".join(("vehicle", *operator.by))
            return [
                *_select(operator.columns, operator.by),
                f"FROM {operator.streams[0]}",
                f"GROUP BY {grouped}, WINDOW OF {window} EVERY {every}",
            ]
    named = getattr(operator, "implementation", None) or getattr(operator, "native", None)
    ports = ", ".join(f"{port.port}: {port.stream}" for port in operator.inputs)
    columns = ", ".join(f"{field.name} {field.type.value}" for field in schema.fields)
    what = f"{operator.kind} {named}" if named else operator.kind
    return [f"{what} over {ports}", f"gives {columns}"]


def _join(operator: Join) -> list[str]:
    left, right = operator.inputs
    times = f"{left.port}.timestamp", f"{right.port}.timestamp"
    keys = [f"{left.port}.{ours} = {right.port}.{theirs}" for ours, theirs in operator.keys]
    apart = " = ".join(times)
    if operator.within:
        apart = f"abs({' - '.join(times)}) <= {format_duration(operator.within)}"
    lines = [
        *_select(operator.columns, () if operator.columns else ("*",)),
        f"FROM {left.stream} AS {left.port} JOIN {right.stream} AS {right.port}",
        f"ON {' AND '.join([*keys, apart])}",
    ]
    if operator.where is not None:
        lines.append(f"WHERE {_text(operator.where)}")
    if operator.timeout is not None:
        lines.append(f"AFTER {format_duration(operator.timeout)} ALSO WITHOUT A PARTNER")
    return lines


def _select(columns: Sequence[Column], before: Sequence[str]) -> list[str]:
    named = [_named(column) for column in columns]
    return [f"SELECT {', '.join([*before, *named])}"]


def _named(column: Column) -> str:
    text = _text(column.value)
    return text if text == column.name else f"{text} AS {column.name}"


def _text(expression: Expression) -> str:
    if isinstance(expression, Sql):
        return " ".join(expression.text.split())
    return f"{expression.function}({', '.join(expression.arguments)})"
