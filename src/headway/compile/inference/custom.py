"""User-defined and fusion operators declare their output; their inputs must have the key
columns."""

from __future__ import annotations

import re
from collections.abc import Mapping

from headway.errors import Problem, QueryError
from headway.model.operators import Fusion, UserDefined
from headway.model.schema import Schema

_IMPLEMENTATION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def infer_custom(operator: UserDefined | Fusion, inputs: Mapping[str, Schema]) -> Schema:
    problems: list[Problem] = []
    if not _IMPLEMENTATION.fullmatch(operator.implementation):
        problems.append(
            Problem(
                "not the place of a class",
                at="implementation",
                got=repr(operator.implementation),
                want="write 'package.module:Class'",
            )
        )
    if isinstance(operator, Fusion):
        for what, column in (("object", operator.object_key), ("sensor", operator.sensor_key)):
            for port, schema in inputs.items():
                if column is not None and schema.find(column) is None:
                    problems.append(Problem(f"input {port!r} has no column {column!r}", at=what))
        if min(operator.front, operator.rear) < 0:
            problems.append(Problem("a window must not be negative", at="front"))
    if problems:
        raise QueryError(problems)
    return operator.schema
