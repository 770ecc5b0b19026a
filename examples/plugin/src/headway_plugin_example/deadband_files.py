"""``deadband`` as it is written in files, and the schema of its output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from headway.errors import Problem, QueryError
from headway.files.forms import Name, Schemas
from headway.files.operator_forms import SingleInputForm, common_plain
from headway.model.schema import DataType, Schema
from pydantic import Field

from headway_plugin_example.deadband import Deadband

NUMBERS = (DataType.INT, DataType.BIGINT, DataType.FLOAT, DataType.DOUBLE)


class DeadbandForm(SingleInputForm):
    """Passes a tuple when a value has moved far enough."""

    key = "deadband"
    model = Deadband
    places: ClassVar[Mapping[str, str]] = {
        "width": "deadband",
        "inputs.input": "from",
        "inputs": "from",
    }

    deadband: float = Field(description="how far the value must have moved since the last tuple")
    of: Name = Field(description="the column that is looked at, a number")
    by: list[Name] = Field(default=[], description="the columns whose values are looked at apart")

    def to_model(self, name: str, schemas: Schemas, at: str) -> Deadband:
        return Deadband(
            inputs=self.only_input,
            width=self.deadband,
            of=self.of,
            by=tuple(self.by),
            **self.common(name),
        )

    @classmethod
    def to_plain(cls, step: Deadband) -> dict[str, Any]:
        by = {"by": list(step.by)} if step.by else {}
        own = {"deadband": step.width, "of": step.of, "from": step.streams[0]}
        return {**own, **by, **common_plain(step)}


def infer_deadband(operator: Deadband, inputs: Mapping[str, Schema]) -> tuple[Deadband, Schema]:
    """The operator as it is (it holds no expressions) and the schema of its input; QueryError for
    columns that are not there, or no number."""
    (schema,) = inputs.values()
    problems = [
        Problem(f"unknown column {name!r}", at="by", want=f"one of {', '.join(schema.names)}")
        for name in operator.by
        if schema.find(name) is None
    ]
    field = schema.find(operator.of)
    if field is None or field.type not in NUMBERS:
        got = "no such column" if field is None else field.describe()
        problems.append(Problem(f"{operator.of!r} must be a column of numbers", at="of", got=got))
    if problems:
        raise QueryError(problems)
    return operator, schema
