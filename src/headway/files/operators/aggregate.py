"""``mean: {aggregate: {v: "avg(v)"}, from: speed, by: [id], window: 1 s, every: 500 ms}``"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from headway.files.fields import Name, PositiveDuration
from headway.files.operators.base import SingleInputForm, common_plain
from headway.files.values import ColumnsChoice, Schemas, columns_model, columns_plain
from headway.model.operators import Aggregate
from headway.model.time import format_duration


class AggregateForm(SingleInputForm):
    """Groups the tuples of a window of sensing time."""

    key = "aggregate"
    model = Aggregate
    places: ClassVar[Mapping[str, str]] = {
        "columns": "aggregate",
        "inputs.input": "from",
        "inputs": "from",
    }

    aggregate: ColumnsChoice = Field(
        description="the output's columns after the keys, each with an aggregate such as avg(v)"
    )
    by: list[Name] = Field(default=[], description="the columns to group by")
    window: PositiveDuration = Field(description="the window's length")
    every: PositiveDuration | None = Field(
        default=None, description="how often a window starts; the window's length if left out"
    )

    def to_model(self, name: str, schemas: Schemas, at: str) -> Aggregate:
        return Aggregate(
            inputs=self.only_input,
            columns=columns_model(self.aggregate),
            by=tuple(self.by),
            window=self.window,
            every=self.window if self.every is None else self.every,
            **self.common(name),
        )

    @classmethod
    def to_plain(cls, step: Aggregate) -> dict[str, Any]:
        result: dict[str, Any] = {
            "aggregate": columns_plain(step.columns),
            "from": step.streams[0],
        }
        if step.by:
            result["by"] = list(step.by)
        result["window"] = format_duration(step.window)
        if step.every != step.window:
            result["every"] = format_duration(step.every)
        return {**result, **common_plain(step)}
