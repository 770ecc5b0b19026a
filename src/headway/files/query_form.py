"""The form of query files and of the libraries they use."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from headway.files.fields import (
    Columns,
    Duration,
    Name,
    PositiveDuration,
    PositiveNumber,
    RateText,
    StreamName,
)
from headway.files.forms import Form, refusal
from headway.files.operators import StepChoice
from headway.files.values import ExpressionChoice, SchemaChoice
from headway.model.time import parse_duration


class ShedderForm(Form):
    """A load shedder: the least valuable tuples beyond a limit are dropped."""

    at_most: RateText = Field(description="the limit, such as '20 per 100 ms' of arrival time")
    value: ExpressionChoice = Field(description="a tuple's value; the lowest values are dropped")
    decide: Literal["arrival", "window_end"] = Field(
        default="arrival",
        description="arrival: at once, by values learnt so far; window_end: exact, but later",
    )


class SourceForm(Form):
    """An input stream. Every tuple also carries its sensing time, the column timestamp."""

    schema_: SchemaChoice = Field(
        alias="schema", description="a declared schema's name, or the columns"
    )
    rate: RateText | None = Field(
        default=None, description="the most tuples in any interval, such as '10 per 100 ms'"
    )
    jitter: Duration = Field(
        default=0, description="how much each tuple of that rate may be delayed"
    )
    gap: PositiveDuration | None = Field(
        default=None, description="the longest silence, where one is promised"
    )
    delay: Duration = Field(default=0, description="the longest time from sensing to arrival")
    lateness: Duration = Field(
        default=0, description="how far behind the newest timestamp a tuple may be and still count"
    )
    shed: ShedderForm | None = Field(default=None, description="a load shedder on this stream")

    @model_validator(mode="after")
    def _jitter_needs_rate(self) -> SourceForm:
        if self.jitter and self.rate is None:
            raise refusal("a jitter without a rate", "add 'rate'", got="", key="jitter")
        return self


def _deadline(value: Any) -> int | None:
    if value == "none":
        return None
    try:
        return parse_duration(value)
    except (TypeError, ValueError):
        raise refusal(
            "not a deadline", "write a duration such as '30 ms', or none for an output without one"
        ) from None


Deadline = Annotated[
    int | None,
    BeforeValidator(_deadline),
    WithJsonSchema({"type": "string", "description": "a duration, or none"}),
]


class OutputForm(Form):
    """An output stream and how soon its tuples must be there."""

    stream: StreamName = Field(alias="from", description="the stream that goes out")
    deadline: Deadline = Field(
        description="from sensing to output, end to end, such as '30 ms'; none for no deadline"
    )
    criticality: Literal["hard", "soft"] = Field(
        default="hard", description="hard: must never be missed; soft: as rarely as possible"
    )
    weight: PositiveNumber = Field(
        default=1.0, description="this output's share in the weighted miss ratio"
    )


Steps = Annotated[
    dict[Name, StepChoice],
    Field(description="operators and uses of components, by the name of the stream they produce"),
]


class ComponentForm(Form):
    """A stream processing component (SPC): a named, typed part of a query, to be reused."""

    inputs: dict[Name, SchemaChoice] = Field(
        default={}, description="the streams that enter, with their schemas"
    )
    operators: Steps = Field(default={})
    outputs: dict[Name, StreamName] = Field(description="the streams that leave: the one inside")


Schemas = Annotated[dict[Name, Columns], Field(description="schemas that streams share, by name")]
Components = Annotated[dict[Name, ComponentForm], Field(description="components, by name")]
Use = Annotated[
    list[str], Field(description="libraries of schemas and components: paths relative to this file")
]


class LibraryForm(Form):
    """A file of schemas and components that queries use."""

    use: Use = Field(default=[])
    schemas: Schemas = Field(default={})
    components: Components = Field(default={})


class QueryForm(Form):
    """A query: what to compute from which sources, and how soon. It names no ECU."""

    query: Name = Field(description="the query's name")
    use: Use = Field(default=[])
    schemas: Schemas = Field(default={})
    sources: dict[Name, SourceForm] = Field(description="the input streams, by name")
    components: Components = Field(default={})
    operators: Steps = Field(default={})
    outputs: dict[Name, OutputForm] = Field(description="the output streams, by name")
