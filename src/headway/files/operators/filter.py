"""``near: {filter: "x < 200", from: radar, cost: 50 us}``"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from headway.files.operators.base import SingleInputForm, common_plain
from headway.files.values import ExpressionChoice, Schemas, expression_model, expression_plain
from headway.model.operators import Filter


class FilterForm(SingleInputForm):
    """Passes the tuples for which the condition is true."""

    key = "filter"
    model = Filter
    places: ClassVar[Mapping[str, str]] = {
        "where": "filter",
        "inputs.input": "from",
        "inputs": "from",
    }

    filter: ExpressionChoice = Field(description="the condition, in SQL or as a Python function")

    def to_model(self, name: str, schemas: Schemas, at: str) -> Filter:
        where = expression_model(self.filter)
        return Filter(inputs=self.only_input, where=where, **self.common(name))

    @classmethod
    def to_plain(cls, step: Filter) -> dict[str, Any]:
        return {
            "filter": expression_plain(step.where),
            "from": step.streams[0],
            **common_plain(step),
        }
