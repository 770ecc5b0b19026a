"""``kmh: {map: {v: v * 3.6}, from: speed}``; ``set`` instead of ``map`` keeps other columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from headway.files.operators.base import SingleInputForm, common_plain
from headway.files.values import ColumnsChoice, Schemas, columns_model, columns_plain
from headway.model.operators import Map


class MapForm(SingleInputForm):
    """Computes all columns of the output."""

    key = "map"
    model = Map
    places: ClassVar[Mapping[str, str]] = {
        "columns": "map",
        "inputs.input": "from",
        "inputs": "from",
    }

    map: ColumnsChoice = Field(description="the output's columns, each an expression")

    def to_model(self, name: str, schemas: Schemas, at: str) -> Map:
        return Map(inputs=self.only_input, columns=columns_model(self.map), **self.common(name))

    @classmethod
    def to_plain(cls, step: Map) -> dict[str, Any]:
        return {cls.key: columns_plain(step.columns), "from": step.streams[0], **common_plain(step)}

    @classmethod
    def writes(cls, step: Any) -> bool:
        return isinstance(step, Map) and not step.keep


class SetForm(SingleInputForm):
    """Computes some columns and keeps the others."""

    key = "set"
    model = Map
    places: ClassVar[Mapping[str, str]] = {
        "columns": "set",
        "inputs.input": "from",
        "inputs": "from",
    }

    columns: ColumnsChoice = Field(
        alias="set", description="the columns to add or replace, each an expression"
    )

    def to_model(self, name: str, schemas: Schemas, at: str) -> Map:
        columns = columns_model(self.columns)
        return Map(inputs=self.only_input, columns=columns, keep=True, **self.common(name))

    @classmethod
    def to_plain(cls, step: Map) -> dict[str, Any]:
        return {cls.key: columns_plain(step.columns), "from": step.streams[0], **common_plain(step)}

    @classmethod
    def writes(cls, step: Any) -> bool:
        return isinstance(step, Map) and step.keep
