"""``deadband``: passes a tuple when a value has moved far enough since the last one that passed.

    steady: {deadband: 0.5, of: v, from: speed, by: [wheel]}

This file is what the operator is; node executables carry it. How it is written in files is in
``deadband_files``, what it does in ``deadband_engine``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from headway.errors import Problem
from headway.model.operator_kinds import VEHICLE, OperatorKind
from headway.model.operators import OperatorBase, Traits


@dataclass(frozen=True, kw_only=True)
class Deadband(OperatorBase):
    """``width``: how far the column ``of`` must move; ``by``: columns whose values are looked at
    apart. A NULL is as far from every number as can be."""

    width: float
    of: str
    by: tuple[str, ...] = ()
    kind: Literal["deadband"] = "deadband"

    traits: ClassVar[Traits] = Traits(keeps_state=True, order_matters=True)

    def problems(self) -> Iterator[Problem]:
        if not self.width >= 0:
            yield Problem("must not be negative", at="width", got=str(self.width))


KIND = OperatorKind(
    kind="deadband",
    model="headway_plugin_example.deadband:Deadband",
    forms=("headway_plugin_example.deadband_files:DeadbandForm",),
    infer="headway_plugin_example.deadband_files:infer_deadband",
    engines={VEHICLE: "headway_plugin_example.deadband_engine:DeadbandOperator"},
    cases="headway_plugin_example.deadband_cases:CASES",
)
