"""Operators and load shedders as a plan has them: each expression with its typed tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar, cast

from headway.expressions.check import check
from headway.expressions.scope import Scope
from headway.extensions import resolve
from headway.model.operator_kinds import kind_of
from headway.model.operators import OperatorBase
from headway.model.query import LoadShedder
from headway.model.schema import Schema

AnOperator = TypeVar("AnOperator", bound=OperatorBase)


def compiled(operator: AnOperator, schemas: Mapping[str, Schema]) -> AnOperator:
    """``schemas`` are those of its streams, by name."""
    inputs = {port.port: schemas[port.stream] for port in operator.inputs}
    return cast(AnOperator, resolve(kind_of(operator).infer)(operator, inputs)[0])


def behaving(
    operator: AnOperator, inputs: Mapping[str, Schema]
) -> tuple[AnOperator, dict[str, Schema], Schema]:
    """What its behaviour is made of; ``inputs`` by port."""
    found, output = resolve(kind_of(operator).infer)(operator, inputs)
    return cast(AnOperator, found), dict(inputs), output


def compiled_shedder(shedder: LoadShedder, schema: Schema) -> LoadShedder:
    value = replace(shedder.value, typed=check(shedder.value, Scope.row(schema)))
    return replace(shedder, value=value)
