"""``z: {udo: "my_package.my_module:MyOperator", inputs: {a: a}, schema: Result}``"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from headway.files.fields import ImportPath, Name
from headway.files.forms import refusal
from headway.files.operators.base import (
    OperatorForm,
    Streams,
    common_plain,
    inputs_model,
    inputs_plain,
)
from headway.files.values import SchemaChoice, Schemas
from headway.model.operators import Fusion, Gather, Parameter, UserDefined


def _parameter(value: Any) -> Any:
    if not isinstance(value, bool | int | float | str):
        raise refusal("a parameter must be a number, text, true or false")
    return value


ParameterValue = Annotated[
    Any,
    BeforeValidator(_parameter),
    WithJsonSchema({"type": ["boolean", "number", "string"]}),
]


class ClassForm(OperatorForm):
    """What operators written as Python classes share."""

    inputs: Annotated[Streams, Field(min_length=1)] = Field(description="port: stream")
    schema_: SchemaChoice = Field(
        alias="schema", description="the output's schema: a declared name, or its columns"
    )
    gather: Literal["all", "time"] = Field(
        default="all",
        description="with a timeout: run when all inputs are there, or always when time is up",
    )
    parameters: dict[Name, ParameterValue] = Field(
        default={}, description="settings handed to the class"
    )

    @property
    def parameter_pairs(self) -> tuple[tuple[str, Parameter], ...]:
        return tuple(self.parameters.items())


def class_plain(step: UserDefined | Fusion, schema: Any) -> dict[str, Any]:
    """The shared part of a class operator, back as plain values."""
    result: dict[str, Any] = {"inputs": inputs_plain(step.inputs), "schema": schema}
    if step.gather is not Gather.ALL:
        result["gather"] = step.gather.value
    if step.parameters:
        result["parameters"] = dict(step.parameters)
    return {**result, **common_plain(step)}


def schema_plain(step: UserDefined | Fusion) -> dict[str, str]:
    return {item.name: item.describe() for item in step.schema.fields}


class UdoForm(ClassForm):
    """A user-defined operator: a Python class that both engines run."""

    key = "udo"
    model = UserDefined
    places: ClassVar[Mapping[str, str]] = {"implementation": "udo"}

    udo: ImportPath = Field(description="the class, as 'package.module:Class'")

    def to_model(self, name: str, schemas: Schemas, at: str) -> UserDefined:
        return UserDefined(
            inputs=inputs_model(self.inputs),
            implementation=self.udo,
            schema=schemas.resolve(self.schema_, f"{at}.schema"),
            gather=Gather(self.gather),
            parameters=self.parameter_pairs,
            **self.common(name),
        )

    @classmethod
    def to_plain(cls, step: UserDefined) -> dict[str, Any]:
        return {"udo": step.implementation, **class_plain(step, schema_plain(step))}
