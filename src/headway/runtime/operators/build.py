"""From the model's operators to those that run.

What runs a kind is named by :mod:`headway.model.operator_kinds` and imported when it is needed: a
node's executable holds no more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import groupby
from typing import Any, cast

from headway.model.operator_kinds import VEHICLE, implementation
from headway.model.operators import Operator
from headway.model.schema import Schema
from headway.runtime.operators.base import StatefulOperator
from headway.runtime.operators.fused import Fused, StatelessOperator, is_stateless

Behaviour = Callable[[Any, Mapping[str, Schema], Schema], StatefulOperator]
"""(operator, schemas of its inputs by port, schema of its output) -> what runs it"""


def build_stateful(operator: Operator, schemas: Mapping[str, Schema]) -> StatefulOperator:
    """A new instance, without state; ``schemas`` are those of the streams, by name."""
    inputs = {port.port: schemas[port.stream] for port in operator.inputs}
    behaviour: Behaviour = implementation(operator, VEHICLE)
    return behaviour(operator, inputs, schemas[operator.name])


def steps_of(
    operators: Sequence[Operator],
    schemas: Mapping[str, Schema],
    stateful: Mapping[str, StatefulOperator],
    apart: Collection[str] = (),
) -> list[Fused | StatefulOperator]:
    """The steps of a train: stateless neighbours fused, the others those of ``stateful``, which all
    trains through an operator share. Operators ``apart`` are fused with none."""
    steps: list[Fused | StatefulOperator] = []

    def step_of(operator: Operator) -> tuple[bool, str]:
        return is_stateless(operator), operator.name if operator.name in apart else ""

    for (fusible, _), group in groupby(operators, step_of):
        if fusible:
            steps.append(Fused([cast(StatelessOperator, one) for one in group], schemas))
        else:
            steps += [stateful[operator.name] for operator in group]
    return steps
