"""User-defined operators: a Python class that both engines run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from headway.model.operators.base import Gather, OperatorBase
from headway.model.schema import Schema

Parameter = bool | int | float | str


@dataclass(frozen=True, kw_only=True)
class UserDefined(OperatorBase):
    """``implementation`` is ``module:Class``. With a timeout the class is called when every input
    has a tuple or the time is up; without one it is called for each tuple as it comes."""

    implementation: str
    schema: Schema
    gather: Gather = Gather.ALL
    parameters: tuple[tuple[str, Parameter], ...] = ()
    kind: Literal["udo"] = "udo"
