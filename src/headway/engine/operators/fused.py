"""Filters, maps and unions that follow each other, as one generated function (AEDSMS section 5.6).

One text is generated and compiled per run of operators, with three forms of the same function:

- ``run(row)`` gives the row or None,
- ``count(row)`` also tells how many operators ran: a filter that drops ends the train early,
- ``tally(rows)`` is a loop over many rows, and counts, by operator, those whose train ended there.

A function of the user that raises costs its tuple and nothing else: the tuple goes to the side
list as FAILED with the operator's name, as that operator got it, and the train ends for it as if
that operator had dropped it. Which operator it was is read off the line of the generated text, and
what it got is computed again, so that success costs nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from headway.engine.operators.operator_base import DropKind, Dropped, SideList, failure
from headway.expressions.body import Body, build, define
from headway.expressions.emit import Emitter, Value
from headway.expressions.scope import Scope
from headway.model.expression import Expression, typed
from headway.model.expression_tree import ColumnRef, columns_of
from headway.model.operators import Filter, Map, Operator, Union
from headway.model.schema import TIMESTAMP_COLUMN, Schema
from headway.model.user_operator import Row

StatelessOperator = Filter | Map | Union
FORMS = ("run", "count", "tally")


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
        writer = _FusedForms(operators, schemas)
        texts = [writer.function(form) for form in FORMS]
        self.source = "\n".join(texts)
        self._starts = writer.starts(texts)
        functions = build(self.source, list(FORMS), {**writer.globals, "fail": self._fail})
        self.run: Callable[[Row], Row | None] = functions[0]
        self.count: Callable[[Row], tuple[Row | None, int]] = functions[1]
        self.tally: Callable[[Iterable[Row]], tuple[list[Row], list[int]]] = functions[2]

    def __call__(self, row: Row) -> Row | None:
        return self.run(row)

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
        made = Fused(operators[:index], schemas).run(row)
        return row if made is None else made  # None: a function that does not keep its word


class _FusedForms:
    """Writes the forms of one run of operators."""

    def __init__(
        self, operators: Sequence[StatelessOperator], schemas: Mapping[str, Schema]
    ) -> None:
        self.operators = operators
        self.scopes = [Scope.row(schemas[operator.streams[0]]) for operator in operators]
        self.globals: dict[str, Any] = {}
        self._marks: dict[str, list[tuple[int, int]]] = {}

    def starts(self, texts: Sequence[str]) -> list[tuple[int, int]]:
        """(first line, operator's index) in the whole text, in order of the lines."""
        found, offset = [], 1
        for text, marks in zip(texts, self._marks.values(), strict=True):
            # One line for the head of the function; the texts are joined by a line break.
            found += [(offset + 1 + line, index) for line, index in marks]
            offset += text.count("\n") + 1
        return found

    def function(self, form: str) -> str:
        body = Body()
        marks = self._marks.setdefault(form, [])
        for taken in ("rows", "out", "append", "error", "ended"):
            body.fresh(taken)
        row = body.fresh("row")
        if form in ("run", "count"):
            body.line("try:")
            with body.indented():
                self._steps(body, form, row, _read_by_index(body, self.scopes[0], row), marks)
            give_up = "" if form == "run" else "return None, "
            body.line("except Exception as error:")
            body.line(f"    {give_up}fail({row}, error)")
            return self._finish(form, row, body)
        body.line(f"ended = [0] * {len(self.operators)}")
        body.line("out = []")
        body.line("append = out.append")
        values = self._unpacked(body)
        if values is None:
            head, failed, read = row, row, _read_by_index(body, self.scopes[0], row)
        else:
            head = f"{', '.join(value.code for value in values.values())},"
            failed, read = f"({head})", _reader_of(values)
        body.line(f"for {head} in rows:")
        with body.indented():
            body.line("try:")
            with body.indented():
                self._steps(body, form, row, read, marks)
            body.line("except Exception as error:")
            body.line(f"    ended[fail({failed}, error) - 1] += 1")
        body.line("return out, ended")
        return self._finish(form, "rows", body)

    def _finish(self, form: str, parameter: str, body: Body) -> str:
        self.globals |= body.globals
        return define(form, [parameter], body)

    def _unpacked(self, body: Body) -> dict[str, Value] | None:
        """All columns as locals, if the rows are rebuilt and most columns are looked at."""
        scope = self.scopes[0]
        columns = scope.ports[0][1].columns
        used = {TIMESTAMP_COLUMN}
        for operator in self.operators:
            if isinstance(operator, Filter):
                used |= _names(operator.where)
            if isinstance(operator, Map):
                used.update(*(_names(column.value) for column in operator.columns))
                if operator.keep or 2 * len(used) > len(columns):
                    return {
                        field.name: _local(body, field.name, field.name != TIMESTAMP_COLUMN)
                        for field in columns
                    }
                break
        return None

    def _steps(
        self,
        body: Body,
        form: str,
        row: str,
        read: Callable[[ColumnRef], Value],
        marks: list[tuple[int, int]],
    ) -> None:
        stop, give = {
            "run": ("return None", "return {0}"),
            "count": ("return None, {0}", "return {0}, {1}"),
            "tally": ("ended[{0} - 1] += 1; continue", "append({0})"),
        }[form]
        emitter = Emitter(body, read)
        result = row
        for index, (operator, scope) in enumerate(zip(self.operators, self.scopes, strict=True)):
            marks.append((len(body.lines), index))
            if isinstance(operator, Filter):
                body.line(f"if not {emitter.require(typed(operator.where).tree)}:")
                with body.indented():
                    body.line(stop.format(index + 1))
            elif isinstance(operator, Map):
                values = _mapped(body, emitter, operator, scope)
                result = f"({', '.join(value.code for value in values.values())},)"
                emitter = Emitter(body, _reader_of(values))
        body.line(give.format(result, len(self.operators)))


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


def _names(expression: Expression) -> set[str]:
    return {column.name for column in columns_of(typed(expression))}


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
