"""What every operator entry has, and the contract of a form."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, TypedDict

from pydantic import Field

from headway.files.fields import Count, Duration, Name, StreamName
from headway.files.forms import Form
from headway.files.values import CostChoice, Schemas, cost_model, cost_plain
from headway.model.cost import Cost
from headway.model.operators import Input, OperatorBase
from headway.model.operators.base import ONLY_PORT
from headway.model.query import Step
from headway.model.time import format_duration

Streams = dict[Name, StreamName]
"""port: stream"""


class StepForm(Form):
    """An entry under ``operators``: exactly one key, its kind, says what it is."""

    key: ClassVar[str]
    """The key that tells this kind."""
    model: ClassVar[type[Any]]
    """The value it becomes."""
    places: ClassVar[Mapping[str, str]] = {}
    """The model's field -> the key it is written under, where they differ; for error messages."""

    @abstractmethod
    def to_model(self, name: str, schemas: Schemas, at: str) -> Step:
        """The operator of that name; ``at`` is its path, for problems."""

    @classmethod
    @abstractmethod
    def to_plain(cls, step: Any) -> dict[str, Any]:
        """What a person would write for that operator."""

    @classmethod
    def writes(cls, step: Any) -> bool:
        """Whether this form is the one to write that step."""
        return isinstance(step, cls.model)


class Common(TypedDict):
    """The fields of OperatorBase that every entry sets alike."""

    name: str
    cost: Cost | None
    selectivity: float
    most_outputs: int
    timeout: int | None


class OperatorForm(StepForm):
    """The settings that all operators share."""

    cost: CostChoice | None = Field(
        default=None,
        description="computation time at execution rate 1 (the paper's c_o); needed for a vehicle",
    )
    selectivity: Annotated[float, Field(ge=0)] = Field(
        default=1.0, description="outputs per input in the long run, used for loads"
    )
    most_outputs: Count = Field(
        default=1, description="the most outputs one input can cause, used for promises"
    )
    timeout: Duration | None = Field(
        default=None,
        description="several inputs: once one has come, wait this long for the others, then run",
    )

    def common(self, name: str) -> Common:
        return Common(
            name=name,
            cost=cost_model(self.cost),
            selectivity=self.selectivity,
            most_outputs=self.most_outputs,
            timeout=self.timeout,
        )


class SingleInputForm(OperatorForm):
    """An operator that reads one stream."""

    stream: StreamName = Field(alias="from", description="the stream it reads")

    @property
    def only_input(self) -> tuple[Input, ...]:
        return (Input(ONLY_PORT, self.stream),)


def common_plain(operator: OperatorBase) -> dict[str, Any]:
    """The shared settings that differ from their defaults."""
    result: dict[str, Any] = {}
    if operator.cost is not None:
        result["cost"] = cost_plain(operator.cost)
    if operator.selectivity != 1.0:
        result["selectivity"] = operator.selectivity
    if operator.most_outputs != 1:
        result["most_outputs"] = operator.most_outputs
    if operator.timeout is not None:
        result["timeout"] = format_duration(operator.timeout)
    return result


def inputs_model(streams: Mapping[str, str]) -> tuple[Input, ...]:
    return tuple(Input(port, stream) for port, stream in streams.items())


def inputs_plain(inputs: Iterable[Input]) -> dict[str, str]:
    return {item.port: item.stream for item in inputs}
