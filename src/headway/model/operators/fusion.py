"""The sensor data fusion operator (SDFO, AEDSMS section 5.7): a user-defined operator with a front
window of inputs (by object and sensor) and a rear window of its own outputs (by object)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from headway.model.operators.base import Gather, OperatorBase
from headway.model.operators.udo import Parameter
from headway.model.schema import Schema


@dataclass(frozen=True, kw_only=True)
class Fusion(OperatorBase):
    """``object_key`` and ``sensor_key`` are columns that every input has, or None: a single
    object, and the input port as the sensor. ``front`` and ``rear`` are the windows' lengths of
    sensing time."""

    implementation: str
    schema: Schema
    front: int
    rear: int
    object_key: str | None = None
    sensor_key: str | None = None
    gather: Gather = Gather.ALL
    parameters: tuple[tuple[str, Parameter], ...] = ()
    kind: Literal["fusion"] = "fusion"
