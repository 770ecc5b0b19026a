"""``own: {component: own_vehicle, inputs: {gps: gps}}``: its outputs are ``own.PORT``."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from headway.files.fields import Name
from headway.files.operators.base import StepForm, Streams, inputs_model, inputs_plain
from headway.files.values import Schemas
from headway.model.query import ComponentUse


class ComponentUseForm(StepForm):
    """A stream processing component used like an operator."""

    key = "component"
    model = ComponentUse

    component: Name = Field(description="the component's name, here or in a library under 'use'")
    inputs: Streams = Field(default={}, description="the component's input: the stream that enters")

    def to_model(self, name: str, schemas: Schemas, at: str) -> ComponentUse:
        return ComponentUse(name=name, component=self.component, inputs=inputs_model(self.inputs))

    @classmethod
    def to_plain(cls, step: ComponentUse) -> dict[str, Any]:
        return {"component": step.component, "inputs": inputs_plain(step.inputs)}
