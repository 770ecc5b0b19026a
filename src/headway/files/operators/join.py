"""``near: {join: {radar: radar, own: own}, within: 50 ms, select: {x: radar.x + own.x}}``"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Discriminator, Field, Tag

from headway.files.fields import Count, Duration, Name
from headway.files.forms import TAG
from headway.files.operators.base import (
    OperatorForm,
    Streams,
    common_plain,
    inputs_model,
    inputs_plain,
)
from headway.files.values import (
    ColumnsChoice,
    ExpressionChoice,
    Schemas,
    columns_model,
    columns_plain,
    expression_model,
    expression_plain,
)
from headway.model.operators import Join
from headway.model.time import format_duration


def _form(value: Any) -> str:
    return f"{TAG}pair" if isinstance(value, list) else f"{TAG}one"


Pair = Annotated[list[Name], Field(min_length=2, max_length=2)]
Key = Annotated[
    Annotated[Name, Tag(f"{TAG}one")] | Annotated[Pair, Tag(f"{TAG}pair")], Discriminator(_form)
]


def _pair(key: str | list[str]) -> tuple[str, str]:
    """``id`` is short for ``[id, id]``."""
    return (key, key) if isinstance(key, str) else (key[0], key[1])


class JoinForm(OperatorForm):
    """Pairs tuples of two streams that are close in sensing time and agree on keys."""

    key = "join"
    model = Join
    places: ClassVar[Mapping[str, str]] = {"inputs": "join", "columns": "select"}

    join: Annotated[Streams, Field(min_length=2, max_length=2)] = Field(
        description="the two streams, left and right, under the names that expressions use"
    )
    within: Duration = Field(description="how far the sensing times of a pair may lie apart")
    keys: list[Key] = Field(
        default=[], description="columns that must be equal: 'id', or [left column, right column]"
    )
    where: ExpressionChoice | None = Field(default=None, description="a further condition")
    select: ColumnsChoice = Field(
        default={}, description="the output's columns; without it, all columns of both sides"
    )
    partners: Annotated[dict[Name, Count], Field(min_length=1, max_length=1)] | None = Field(
        default=None,
        description="the most partners a tuple of that side finds, such as {radar: 1}",
    )

    def to_model(self, name: str, schemas: Schemas, at: str) -> Join:
        return Join(
            inputs=inputs_model(self.join),
            within=self.within,
            keys=tuple(_pair(key) for key in self.keys),
            where=None if self.where is None else expression_model(self.where),
            columns=columns_model(self.select),
            partners=None if self.partners is None else next(iter(self.partners.items())),
            **self.common(name),
        )

    @classmethod
    def to_plain(cls, step: Join) -> dict[str, Any]:
        result: dict[str, Any] = {
            "join": inputs_plain(step.inputs),
            "within": format_duration(step.within),
        }
        if step.keys:
            result["keys"] = [left if left == right else [left, right] for left, right in step.keys]
        if step.where is not None:
            result["where"] = expression_plain(step.where)
        if step.columns:
            result["select"] = columns_plain(step.columns)
        if step.partners is not None:
            result["partners"] = dict([step.partners])
        return {**result, **common_plain(step)}
