"""Operators and load shedders as a plan has them: each expression with its typed tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar, cast

from headway.compiler.schemas import INFER
from headway.expressions import Scope
from headway.expressions.check import check
from headway.model.operators import OperatorBase
from headway.model.query import LoadShedder
from headway.model.schema import Schema

AnOperator = TypeVar("AnOperator", bound=OperatorBase)


def compiled(operator: AnOperator, schemas: Mapping[str, Schema]) -> AnOperator:
    """``schemas`` are those of its streams, by name."""
    inputs = {port.port: schemas[port.stream] for port in operator.inputs}
    kind: str = operator.kind  # type: ignore[attr-defined]
    return cast(AnOperator, INFER[kind](operator, inputs)[0])


def compiled_shedder(shedder: LoadShedder, schema: Schema) -> LoadShedder:
    value = replace(shedder.value, typed=check(shedder.value, Scope.row(schema)))
    return replace(shedder, value=value)
