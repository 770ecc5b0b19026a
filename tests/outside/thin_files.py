"""``thin`` as written in files, and the schema of its output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field
from tests.outside.thin_kind import Thin

from headway.errors import Problem, QueryError
from headway.files.forms import Name, Schemas
from headway.files.operator_forms import SingleInputForm, common_plain
from headway.model.schema import Schema


class ThinForm(SingleInputForm):
    """Passes every n-th tuple."""

    key = "thin"
    model = Thin
    places: ClassVar[Mapping[str, str]] = {"nth": "thin", "inputs.input": "from", "inputs": "from"}

    thin: int = Field(description="passes every so many-th tuple")
    by: list[Name] = Field(default=[], description="the columns whose values are counted apart")

    def to_model(self, name: str, schemas: Schemas, at: str) -> Thin:
        return Thin(inputs=self.only_input, nth=self.thin, by=tuple(self.by), **self.common(name))

    @classmethod
    def to_plain(cls, step: Thin) -> dict[str, Any]:
        by = {"by": list(step.by)} if step.by else {}
        return {"thin": step.nth, "from": step.streams[0], **by, **common_plain(step)}


def infer_thin(operator: Thin, inputs: Mapping[str, Schema]) -> tuple[Thin, Schema]:
    (schema,) = inputs.values()
    if missing := [name for name in operator.by if schema.find(name) is None]:
        raise QueryError(Problem(f"unknown column {name!r}", at="by") for name in missing)
    return operator, schema
