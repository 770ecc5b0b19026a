"""``own: {fusion: "package.module:Class", inputs: {gps: gps, speed: speed}, front: 1 s, ...}``"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from headway.files.fields import ImportPath, Name, PositiveDuration
from headway.files.operators.base import inputs_model
from headway.files.operators.udo import ClassForm, class_plain, schema_plain
from headway.files.values import Schemas
from headway.model.operators import Fusion, Gather
from headway.model.time import format_duration


class FusionForm(ClassForm):
    """A sensor data fusion operator (SDFO): a class with a front window of inputs, by object and
    sensor, and a rear window of its outputs, by object."""

    key = "fusion"
    model = Fusion
    places: ClassVar[Mapping[str, str]] = {
        "implementation": "fusion",
        "object_key": "object",
        "sensor_key": "sensor",
    }

    fusion: ImportPath = Field(description="the class, as 'package.module:Class'")
    front: PositiveDuration = Field(description="how long inputs are kept, in sensing time")
    rear: PositiveDuration = Field(description="how long outputs are kept, in sensing time")
    object_key: Name | None = Field(
        default=None,
        alias="object",
        description="the column that tells observed objects apart; without it there is one object",
    )
    sensor_key: Name | None = Field(
        default=None,
        alias="sensor",
        description="the column that tells sensors apart; without it the input port does",
    )

    def to_model(self, name: str, schemas: Schemas, at: str) -> Fusion:
        return Fusion(
            inputs=inputs_model(self.inputs),
            implementation=self.fusion,
            schema=schemas.resolve(self.schema_, f"{at}.schema"),
            front=self.front,
            rear=self.rear,
            object_key=self.object_key,
            sensor_key=self.sensor_key,
            gather=Gather(self.gather),
            parameters=self.parameter_pairs,
            **self.common(name),
        )

    @classmethod
    def to_plain(cls, step: Fusion) -> dict[str, Any]:
        keys = {"object": step.object_key, "sensor": step.sensor_key}
        return {
            "fusion": step.implementation,
            "front": format_duration(step.front),
            "rear": format_duration(step.rear),
            **{key: column for key, column in keys.items() if column is not None},
            **class_plain(step, schema_plain(step)),
        }
