"""Filters, maps and unions that follow each other, as one generated function (AEDSMS section 5.6).

One function is generated and compiled per run of operators: ``run(row)`` gives the row or None, and
how many operators ran, since a filter that drops ends the train early.

A function of the user that raises costs its tuple and nothing else: the tuple goes to the side
list as FAILED with the operator's name, as that operator got it, and the train ends for it as if
that operator had dropped it. Which operator it was is read off the line of the generated text, and
what it got is computed again, so that success costs nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headway.engine.operators.operator_base import DropKind, Dropped, SideList, failure
from headway.expressions.body import Body, build, define
from headway.expressions.emit import Emitter, Value
from headway.expressions.scope import Scope
from headway.model.expression import typed
from headway.model.expression_tree import ColumnRef
from headway.model.operators import Filter, Map, Operator, Union
from headway.model.schema import Schema
from headway.model.user_operator import Row

StatelessOperator = Filter | Map | Union


def is_stateless(operator: Operator) -> bool:
    """Whether the operator can stand in a fused run."""
    return isinstance(operator, StatelessOperator)


class Fused(SideList):
    """A run of stateless operators. ``source`` is the generated text."""

    def __init__(
        self, operators: Sequence[StatelessOperator], schemas: Mapping[str, Schema]
    ) -> None:
        """``schemas`` are those of the streams, by name."""
        self.operators = tuple(operator.name for operator in operators)
        self._given = (tuple(operators), schemas)
        super().__init__(">".join(self.operators))
        writer = _Writer(operators, schemas)
        self.source = writer.function()
        self._starts = writer.starts
        self.run: Callable[[Row], tuple[Row | None, int]]
        (self.run,) = build(self.source, ["run"], {**writer.globals, "fail": self._fail})

    def _fail(self, row: Row, error: Exception) -> int:
        """Notes the failure; gives how many operators ran, the failing one included."""
        traceback = error.__traceback__
        assert traceback is not None
        lines = [line for line, _ in self._starts]
        index = self._starts[bisect_right(lines, traceback.tb_lineno) - 1][1]
        given = self._given_to(index, row)
        problem = failure(self.operators[index], given, error)
        self.side.append(Dropped(self.operators[index], DropKind.FAILED, given, str(problem)))
        return index + 1

    def _given_to(self, index: int, row: Row) -> Row:
        """What the operators before that one made of a row of the train."""
        operators, schemas = self._given
        if not any(isinstance(operator, Map) for operator in operators[:index]):
            return row
        made, _ = Fused(operators[:index], schemas).run(row)
        return row if made is None else made  # None: a function that does not keep its word


class _Writer:
    """Writes the function of one run of operators."""

    def __init__(
        self, operators: Sequence[StatelessOperator], schemas: Mapping[str, Schema]
    ) -> None:
        self.operators = operators
        self.scopes = [Scope.row(schemas[operator.streams[0]]) for operator in operators]
        self.globals: dict[str, Any] = {}
        self.starts: list[tuple[int, int]] = []
        """(first line, operator's index), in order of the lines"""

    def function(self) -> str:
        body = Body()
        body.fresh("error")
        row = body.fresh("row")
        body.line("try:")
        with body.indented():
            self._steps(body, row)
        body.line("except Exception as error:")
        body.line(f"    return None, fail({row}, error)")
        self.globals = body.globals
        return define("run", [row], body)

    def _steps(self, body: Body, row: str) -> None:
        emitter = Emitter(body, _read_by_index(body, self.scopes[0], row))
        result = row
        for index, (operator, scope) in enumerate(zip(self.operators, self.scopes, strict=True)):
            # Lines count from 1, and the head of the function is one.
            self.starts.append((len(body.lines) + 2, index))
            if isinstance(operator, Filter):
                body.line(f"if not {emitter.require(typed(operator.where).tree)}:")
                with body.indented():
                    body.line(f"return None, {index + 1}")
            elif isinstance(operator, Map):
                values = _mapped(body, emitter, operator, scope)
                result = f"({', '.join(value.code for value in values.values())},)"
                emitter = Emitter(body, _reader_of(values))
        body.line(f"return {result}, {len(self.operators)}")


def _mapped(body: Body, emitter: Emitter, operator: Map, scope: Scope) -> dict[str, Value]:
    """The columns of a map's output, each in a local."""
    ((_, schema),) = scope.ports
    kept = schema.columns if operator.keep else schema.columns[:1]
    trees = {field.name: scope.column(field.name).tree for field in kept}
    trees |= {column.name: typed(column.value).tree for column in operator.columns}
    values = {}
    for name, tree in trees.items():
        value = emitter.value(tree)
        if not value.atom:
            local = _local(body, name, bool(value.nulls))
            body.line(f"{local.code} = {value.nullable_code}")
            value = local
        values[name] = value
    return values


def _local(body: Body, column: str, nullable: bool) -> Value:
    name = body.fresh(f"v_{column}")
    return Value(name, (name,) if nullable else (), atom=True)


def _reader_of(values: Mapping[str, Value]) -> Callable[[ColumnRef], Value]:
    return lambda column: values[column.name]


def _read_by_index(body: Body, scope: Scope, row: str) -> Callable[[ColumnRef], Value]:
    """Reads a column into a local when it is first needed."""
    names = [field.name for field in scope.ports[0][1].columns]
    found: dict[str, Value] = {}

    def read(column: ColumnRef) -> Value:
        if column.name not in found:
            found[column.name] = _local(body, column.name, column.nullable)
            body.line(f"{found[column.name].code} = {row}[{names.index(column.name)}]")
        return found[column.name]

    return read
