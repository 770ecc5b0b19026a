"""Join: keys must be comparable; columns of both sides go out, or those selected."""

from __future__ import annotations

from collections.abc import Mapping

from headway.compile.inference.columns import fields_of, name_problems
from headway.errors import InputError, Problem, QueryError
from headway.expressions import Scope, check
from headway.model.operators import Join
from headway.model.schema import DataType, Schema


def infer_join(operator: Join, inputs: Mapping[str, Schema]) -> Schema:
    left, right = inputs.values()
    problems: list[Problem] = []
    for left_name, right_name in operator.keys:
        mine, theirs = left.find(left_name), right.find(right_name)
        for port, name, field in zip(inputs, (left_name, right_name), (mine, theirs), strict=True):
            if field is None:
                problems.append(Problem(f"port {port!r} has no column {name!r}", at="keys"))
        if mine and theirs and (mine.type, mine.unit) != (theirs.type, theirs.unit):
            problems.append(
                Problem(
                    f"keys {left_name!r} and {right_name!r} cannot be compared",
                    at="keys",
                    got=f"{mine.describe()} and {theirs.describe()}",
                    want="convert one of them with a map first",
                )
            )
    scope = Scope.join(dict(inputs))
    if operator.where is not None:
        try:
            check(operator.where, scope, want=DataType.BOOLEAN)
        except InputError as error:
            problems += [problem.within("where") for problem in error.problems]
    if operator.within < 0:
        problems.append(Problem("a time window must not be negative", at="within"))
    if problems:
        raise QueryError(problems)
    if operator.columns:
        fields = fields_of(
            operator.columns, lambda expression: check(expression, scope), {**inputs}
        )
        return Schema(tuple(fields))
    both = (*left.fields, *right.fields)
    if any("twice" in problem.what for problem in name_problems(field.name for field in both)):
        doubles = sorted(set(left.names) & set(right.names))
        raise QueryError(
            Problem(
                "both sides have columns of the same name",
                at="columns",
                got=", ".join(doubles),
                want="say which columns go out with 'select'",
            )
        )
    return Schema(both)
