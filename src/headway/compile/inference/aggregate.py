"""Aggregate: the keys, then the aggregated columns."""

from __future__ import annotations

from collections.abc import Mapping

from headway.compile.inference.columns import fields_of, name_problems
from headway.errors import Problem, QueryError
from headway.expressions import Scope, check
from headway.model.operators import Aggregate
from headway.model.schema import Field, Schema
from headway.model.time import MICROSECOND


def infer_aggregate(operator: Aggregate, inputs: Mapping[str, Schema]) -> Schema:
    (schema,) = inputs.values()
    problems: list[Problem] = []
    keys: list[Field] = []
    for name in operator.by:
        field = schema.find(name)
        if field is None:
            problems.append(
                Problem(f"unknown column {name!r}", at="by", want=f"there are {schema.names}")
            )
        else:
            keys.append(field)
    for name, length in (("window", operator.window), ("every", operator.every)):
        if length <= 0 or length % MICROSECOND:
            problems.append(
                Problem(
                    "must be a positive number of whole microseconds", at=name, got=f"{length} ns"
                )
            )
    if operator.every > operator.window:
        problems.append(
            Problem("windows would leave gaps", at="every", want="make it at most the window")
        )
    if problems:
        raise QueryError(problems)
    scope = Scope.aggregate(schema)
    computed = fields_of(
        operator.columns,
        lambda expression: check(expression, scope, aggregates=True, grouping=operator.by),
        {None: schema},
    )
    if doubled := name_problems([field.name for field in (*keys, *computed)]):
        raise QueryError(doubled)
    return Schema((*keys, *computed))
