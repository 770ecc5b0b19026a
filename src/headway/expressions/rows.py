"""Functions of rows: conditions, new rows, and chains of both in one generated function.

A row is a plain tuple laid out as ``Schema.columns``: its timestamp in microseconds, then the
declared columns. At a join each port has a row of its own, all None where there is no partner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headway.expressions.body import Body, build, define
from headway.expressions.emit import Emitter, Value
from headway.expressions.scope import Scope
from headway.model.expression_tree import ColumnRef, Typed
from headway.model.schema import TIMESTAMP_COLUMN, DataType

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class RowFunction:
    """A compiled function and the text it was compiled from."""

    function: Callable[..., Any]
    source: str

    def __call__(self, *rows: Row) -> Any:
        return self.function(*rows)


@dataclass(frozen=True, slots=True)
class Keep:
    """A step of a chain: goes on only with the rows for which the condition is true."""

    where: Typed


@dataclass(frozen=True, slots=True)
class Select:
    """A step of a chain: a new row of named columns. The timestamp stays in front."""

    columns: tuple[tuple[str, Typed], ...]


Step = Keep | Select


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


def compile_chain(steps: Sequence[Step], scope: Scope) -> RowFunction:
    """Filters and maps as one ``function(row) -> row or None``; None: a filter let it not pass."""
    body = Body()
    read_row = RowReader(body, scope)
    emitter = Emitter(body, read_row)
    row = read_row.parameters[0]
    for step in steps:
        if isinstance(step, Keep):
            body.line(f"if not {emitter.require(step.where.tree)}:")
            with body.indented():
                body.line("return None")
            continue
        timestamp = emitter.name(_TIMESTAMP)
        fresh = {TIMESTAMP_COLUMN: timestamp}
        for name, column in step.columns:
            value = emitter.value(column.tree)
            if not value.atom:
                local = body.fresh(f"v_{name}")
                body.line(f"{local} = {value.nullable_code}")
                value = Value(local, (local,) if value.nulls else (), atom=True)
            fresh[name] = value
        row = _tuple([value.code for value in fresh.values()])
        emitter = Emitter(body, _reader_of(fresh))
    body.line(f"return {row}")
    return _finish("chain", read_row.parameters, body)


_TIMESTAMP = ColumnRef(None, TIMESTAMP_COLUMN, DataType.TIMESTAMP, nullable=False)


def _reader_of(values: Mapping[str, Value]) -> Callable[[ColumnRef], Value]:
    return lambda column: values[column.name]


def _finish(name: str, parameters: Sequence[str], body: Body) -> RowFunction:
    source = define(name, parameters, body)
    (function,) = build(source, [name], body.globals)
    return RowFunction(function, source)


def _tuple(codes: Sequence[str]) -> str:
    return f"({', '.join(codes)},)" if codes else "()"
