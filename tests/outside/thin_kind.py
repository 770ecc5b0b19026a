"""A kind of operator from another package: ``thin`` passes every n-th tuple of each key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from headway.errors import Problem
from headway.model.operator_kinds import NATIVE, VEHICLE, OperatorKind
from headway.model.operators import OperatorBase, Traits


@dataclass(frozen=True, kw_only=True)
class Thin(OperatorBase):
    nth: int
    by: tuple[str, ...] = ()
    kind: Literal["thin"] = "thin"

    traits: ClassVar[Traits] = Traits(keeps_state=True, order_matters=True)

    def problems(self) -> Iterator[Problem]:
        if self.nth < 1:
            yield Problem("must be 1 or more", at="nth", got=str(self.nth))


KIND = OperatorKind(
    kind="thin",
    model="tests.outside.thin_kind:Thin",
    forms=("tests.outside.thin_files:ThinForm",),
    infer="tests.outside.thin_files:infer_thin",
    engines={
        VEHICLE: "tests.outside.thin_behaviour:ThinOperator",
        NATIVE: "tests.outside.thin_native:write_thin",
    },
    cases="tests.outside.thin_cases:CASES",
)
