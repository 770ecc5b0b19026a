"""Filter, Map and Union: the operators that look at one tuple at a time."""

from __future__ import annotations

from collections.abc import Mapping

from headway.compile.inference.columns import fields_of
from headway.errors import InputError, Problem, QueryError
from headway.expressions import Scope, check
from headway.model.operators import Filter, Map, Union
from headway.model.schema import DataType, Schema


def infer_filter(operator: Filter, inputs: Mapping[str, Schema]) -> Schema:
    """The input's schema; the condition must be boolean."""
    (schema,) = inputs.values()
    try:
        check(operator.where, Scope.row(schema), want=DataType.BOOLEAN)
    except InputError as error:
        raise QueryError(problem.within("where") for problem in error.problems) from None
    return schema


def infer_map(operator: Map, inputs: Mapping[str, Schema]) -> Schema:
    """The computed columns, after the kept ones; a kept column that is computed anew keeps its
    place."""
    (schema,) = inputs.values()
    scope = Scope.row(schema)
    computed = fields_of(
        operator.columns, lambda expression: check(expression, scope), {None: schema}
    )
    if not operator.keep:
        return Schema(tuple(computed))
    fields = {field.name: field for field in schema.fields}
    fields |= {field.name: field for field in computed}
    return Schema(tuple(fields.values()))


def infer_union(operator: Union, inputs: Mapping[str, Schema]) -> Schema:
    """All inputs must have one shape: names, types and units in the same order."""
    (first_port, first), *others = inputs.items()
    for port, schema in others:
        if not schema.same_shape(first):
            raise QueryError(
                Problem(
                    "the inputs of a union must have the same columns",
                    at=f"inputs.{port}",
                    got=f"({schema.describe()}) beside ({first.describe()}) of {first_port!r}",
                    want="make them equal with a map, in the same order",
                )
            )
    longest = [
        max((schema.fields[i] for schema in inputs.values()), key=lambda field: field.size_bytes)
        for i in range(len(first.fields))
    ]
    return Schema(tuple(longest))
