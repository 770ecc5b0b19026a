"""The meaning of the native operators as sets, after design.md: an oracle beside both engines.

No windows that close, no memory that is swept: marks are decided in arrival order, joins and
aggregates look at all unmarked tuples at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from tests.contract.recordings import Answer, Recording, comparable

from headway.engine.operators.operator_base import key_function
from headway.expressions.aggregates import compile_aggregates
from headway.expressions.check import check
from headway.expressions.rows import compile_condition, compile_values
from headway.expressions.scope import Scope
from headway.model.graph import graph_of
from headway.model.operators import Aggregate, Filter, Join, Map, Operator, Union
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.model.schema import DataType, Schema
from headway.model.user_operator import Row


class Marked(NamedTuple):
    row: Row
    late: bool


def definition(plan: Plan, recording: Recording) -> Answer:
    answer: Answer = Counter()
    graph, schemas = graph_of(plan.query), dict(plan.schemas)
    for vehicle in recording.vehicles:
        streams: dict[str, list[Marked]] = {
            source.name: list(
                _marked(
                    (a.row for a in recording.arrivals(plan, vehicle) if a.source == source.name),
                    source.lateness // MICROSECOND,
                )
            )
            for source in plan.query.sources
        }
        for name in graph.order:
            operator = graph.operators[name]
            streams[name] = _result(operator, [streams[s] for s in operator.streams], schemas)
        for output in plan.query.outputs:
            answer.update(
                (vehicle, output.name, comparable(one.row)) for one in streams[output.stream]
            )
    return answer


def _marked(rows: Iterable[Row], lateness: int) -> Iterable[Marked]:
    newest: int | None = None
    for row in rows:
        yield Marked(row, newest is not None and row[0] < newest - lateness)
        newest = row[0] if newest is None else max(newest, row[0])


def _result(
    operator: Operator, inputs: list[list[Marked]], schemas: dict[str, Schema]
) -> list[Marked]:
    scope = Scope.row(schemas[operator.streams[0]])
    match operator:
        case Filter():
            passes = compile_condition(check(operator.where, scope, want=DataType.BOOLEAN), scope)
            return [one for one in inputs[0] if passes(one.row)]
        case Map():
            computed = {column.name: check(column.value, scope) for column in operator.columns}
            names = schemas[operator.name].names
            values = compile_values([computed.get(n) or scope.column(n) for n in names], scope)
            return [Marked((one.row[0], *values(one.row)), one.late) for one in inputs[0]]
        case Union():
            return [one for rows in inputs for one in rows]
        case Join():
            return list(_joined(operator, inputs, schemas))
        case Aggregate():
            return list(_grouped(operator, inputs[0], schemas[operator.streams[0]]))
    raise AssertionError(operator.kind)


def _joined(
    operator: Join, inputs: list[list[Marked]], schemas: dict[str, Schema]
) -> Iterable[Marked]:
    ports = {port.port: schemas[port.stream] for port in operator.inputs}
    scope = Scope.join(ports)
    values = compile_values([check(column.value, scope) for column in operator.columns], scope)
    where = (
        compile_condition(check(operator.where, scope, want=DataType.BOOLEAN), scope)
        if operator.where is not None
        else lambda left, right: True
    )
    left_key, right_key = (
        key_function(schema, [pair[side] for pair in operator.keys])
        for side, schema in enumerate(ports.values())
    )
    for left, left_late in inputs[0]:
        for right, right_late in inputs[1]:
            near = abs(left[0] - right[0]) * MICROSECOND <= operator.within
            key = left_key(left)
            alike = None not in key and key == right_key(right)
            if near and alike and not left_late and not right_late and where(left, right):
                yield Marked((min(left[0], right[0]), *values(left, right)), False)


def _grouped(operator: Aggregate, rows: list[Marked], schema: Schema) -> Iterable[Marked]:
    scope = Scope.aggregate(schema)
    functions = compile_aggregates(
        [check(c.value, scope, aggregates=True, grouping=operator.by) for c in operator.columns],
        scope,
        operator.by,
    )
    key_of = key_function(schema, operator.by)
    window, every = operator.window // MICROSECOND, operator.every // MICROSECOND
    groups: dict[tuple[int, Row], list[Row]] = {}
    for row, late in rows:
        start = row[0] // every * every
        while not late and start + window > row[0]:
            groups.setdefault((start, key_of(row)), []).append(row)
            start -= every
    for (start, key), members in groups.items():
        state = functions.new()
        for row in members:
            functions.add(state, row)
        values = functions.result(state, key, start, start + window)
        yield Marked((min(row[0] for row in members), *key, *values), False)
