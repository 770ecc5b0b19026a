"""``both: {union: [own.vehicle, around.vehicles], cost: 20 us}``"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from headway.files.fields import StreamName
from headway.files.operators.base import OperatorForm, common_plain
from headway.files.values import Schemas
from headway.model.operators import Input, Union
from headway.model.operators.base import ONLY_PORT


class UnionForm(OperatorForm):
    """Merges streams of one schema, tuple by tuple."""

    key = "union"
    model = Union
    places: ClassVar[Mapping[str, str]] = {"inputs": "union"}

    union: Annotated[list[StreamName], Field(min_length=1)] = Field(description="the streams")

    def to_model(self, name: str, schemas: Schemas, at: str) -> Union:
        return Union(inputs=union_inputs(self.union), **self.common(name))

    @classmethod
    def to_plain(cls, step: Union) -> dict[str, Any]:
        return {"union": list(step.streams), **common_plain(step)}


def union_inputs(streams: list[str]) -> tuple[Input, ...]:
    """The ports of a Union are numbered from 1."""
    return tuple(
        Input(f"{ONLY_PORT}{number}", stream) for number, stream in enumerate(streams, start=1)
    )
