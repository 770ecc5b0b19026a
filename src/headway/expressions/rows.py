"""Functions of rows: conditions and new rows as generated functions.

A row is a plain tuple laid out as ``Schema.columns``: its timestamp in microseconds, then the
declared columns. At a join each port has a row of its own, all None where there is no partner.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from headway.expressions.body import Body, build, define
from headway.expressions.emit import Emitter, Value
from headway.expressions.scope import Scope
from headway.model.expression_tree import ColumnRef, Typed

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class RowFunction:
    """A compiled function and the text it was compiled from."""

    function: Callable[..., Any]
    source: str

    def __call__(self, *rows: Row) -> Any:
        return self.function(*rows)


@dataclass(slots=True)
class RowReader:
    """Reads columns out of row variables into locals, each when it is first needed."""

    body: Body
    scope: Scope
    parameters: tuple[str, ...] = field(init=False)
    _locals: dict[tuple[str | None, str], Value] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.parameters = tuple(
            self.body.fresh("row" if port is None else f"row_{port}")
            for port, _ in self.scope.ports
        )

    def __call__(self, column: ColumnRef) -> Value:
        key = (column.port, column.name)
        if key not in self._locals:
            place = [port for port, _ in self.scope.ports].index(column.port)
            names = [known.name for known in self.scope.ports[place][1].columns]
            prefix = "v" if column.port is None else f"v_{column.port}"
            name = self.body.fresh(f"{prefix}_{column.name}")
            self.body.line(f"{name} = {self.parameters[place]}[{names.index(column.name)}]")
            self._locals[key] = Value(name, (name,) if column.nullable else (), atom=True)
        return self._locals[key]


def compile_condition(where: Typed, scope: Scope) -> RowFunction:
    """``function(row) -> bool``, one row per port: true only where the condition is true."""
    body = Body()
    read = RowReader(body, scope)
    code = Emitter(body, read).condition(where.tree)
    body.line(f"return True if {code} else False")
    return _finish("condition", read.parameters, body)


def compile_values(columns: Sequence[Typed], scope: Scope) -> RowFunction:
    """``function(row) -> tuple`` of the columns' values alone, one row per port."""
    body = Body()
    read = RowReader(body, scope)
    emitter = Emitter(body, read)
    values = [emitter.result(column.tree) for column in columns]
    body.line(f"return {_tuple(values)}")
    return _finish("values", read.parameters, body)


def compile_value(value: Typed, scope: Scope) -> RowFunction:
    """``function(row) -> value``, None for NULL."""
    body = Body()
    read = RowReader(body, scope)
    body.line(f"return {Emitter(body, read).result(value.tree)}")
    return _finish("value", read.parameters, body)


def _finish(name: str, parameters: Sequence[str], body: Body) -> RowFunction:
    source = define(name, parameters, body)
    (function,) = build(source, [name], body.globals)
    return RowFunction(function, source)


def _tuple(codes: Sequence[str]) -> str:
    return f"({', '.join(codes)},)" if codes else "()"
