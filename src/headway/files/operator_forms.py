"""Operators as written in files: one form a kind, or two where there are two ways to write it.

:mod:`headway.files.step_forms` finds them by their keys.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Annotated, Any, ClassVar, Literal, TypedDict

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from headway.errors import Problem
from headway.files.forms import (
    TAG,
    ColumnsChoice,
    CostChoice,
    Count,
    Duration,
    ExpressionChoice,
    Form,
    ImportPath,
    Name,
    NativePath,
    PositiveDuration,
    SchemaChoice,
    Schemas,
    StreamName,
    columns_model,
    columns_plain,
    cost_model,
    cost_plain,
    expression_model,
    expression_plain,
    is_mapping,
    read_by,
    refusal,
)
from headway.model.operators import (
    LEAST_REFUSING,
    MOST_REFUSING,
    ONLY_PORT,
    Aggregate,
    AssociationGate,
    Distinct,
    Filter,
    Fusion,
    Gather,
    Input,
    Join,
    Map,
    OperatorBase,
    Parameter,
    Sample,
    Union,
    UserDefined,
)
from headway.model.quantities import Cost, OptionalPart, format_duration, parse_duration
from headway.model.query import ComponentUse, Step

# ---------------------------------------------------------------- what all forms share

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


class CommonFields(TypedDict):
    """The fields of OperatorBase that every entry sets alike."""

    name: str
    cost: Cost | None
    selectivity: float
    most_outputs: int | None
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
    most_outputs: Count | None = Field(
        default=None,
        description="the most outputs one input can cause, used for promises; needed of a class "
        "of the user whose results are worked on",
    )
    timeout: Duration | None = Field(
        default=None,
        description="several inputs: once one has come, wait this long for the others, then run",
    )

    def common(self, name: str) -> CommonFields:
        return CommonFields(
            name=name,
            cost=cost_model(self.cost),
            selectivity=self.selectivity,
            most_outputs=self.most_outputs,
            timeout=self.timeout,
        )


class SingleInputForm(OperatorForm):
    """An operator that reads one stream."""

    places: ClassVar[Mapping[str, str]] = {"inputs.input": "from", "inputs": "from"}

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
    if operator.most_outputs is not None:
        result["most_outputs"] = operator.most_outputs
    if operator.timeout is not None:
        result["timeout"] = format_duration(operator.timeout)
    return result


def inputs_model(streams: Mapping[str, str]) -> tuple[Input, ...]:
    return tuple(Input(port, stream) for port, stream in streams.items())


def inputs_plain(inputs: Iterable[Input]) -> dict[str, str]:
    return {item.port: item.stream for item in inputs}


# ---------------------------------------------------------------- filter
# ``near: {filter: "x < 200", from: radar, cost: 50 us}``


class FilterForm(SingleInputForm):
    """Passes the tuples for which the condition is true."""

    key = "filter"
    model = Filter
    places: ClassVar[Mapping[str, str]] = {"where": "filter", **SingleInputForm.places}

    filter: ExpressionChoice = Field(description="the condition, in SQL or as a Python function")

    def to_model(self, name: str, schemas: Schemas, at: str) -> Filter:
        where = expression_model(self.filter)
        return Filter(inputs=self.only_input, where=where, **self.common(name))

    @classmethod
    def to_plain(cls, step: Filter) -> dict[str, Any]:
        return {
            "filter": expression_plain(step.where),
            "from": step.streams[0],
            **common_plain(step),
        }


# ---------------------------------------------------------------- map
# ``kmh: {map: {v: v * 3.6}, from: speed}``; ``set`` instead of ``map`` keeps other columns.


class MapForm(SingleInputForm):
    """Computes all columns of the output."""

    key = "map"
    model = Map
    places: ClassVar[Mapping[str, str]] = {"columns": "map", **SingleInputForm.places}

    map: ColumnsChoice = Field(description="the output's columns, each an expression")

    def to_model(self, name: str, schemas: Schemas, at: str) -> Map:
        return Map(inputs=self.only_input, columns=columns_model(self.map), **self.common(name))

    @classmethod
    def to_plain(cls, step: Map) -> dict[str, Any]:
        return {cls.key: columns_plain(step.columns), "from": step.streams[0], **common_plain(step)}

    @classmethod
    def writes(cls, step: Any) -> bool:
        return isinstance(step, Map) and not step.keep


class SetForm(SingleInputForm):
    """Computes some columns and keeps the others."""

    key = "set"
    model = Map
    places: ClassVar[Mapping[str, str]] = {"columns": "set", **SingleInputForm.places}

    columns: ColumnsChoice = Field(
        alias="set", description="the columns to add or replace, each an expression"
    )

    def to_model(self, name: str, schemas: Schemas, at: str) -> Map:
        columns = columns_model(self.columns)
        return Map(inputs=self.only_input, columns=columns, keep=True, **self.common(name))

    @classmethod
    def to_plain(cls, step: Map) -> dict[str, Any]:
        return {cls.key: columns_plain(step.columns), "from": step.streams[0], **common_plain(step)}

    @classmethod
    def writes(cls, step: Any) -> bool:
        return isinstance(step, Map) and step.keep


# ---------------------------------------------------------------- union
# ``both: {union: [own.vehicle, around.vehicles], cost: 20 us}``


class UnionForm(OperatorForm):
    """Merges streams of one schema, tuple by tuple."""

    key = "union"
    model = Union
    places: ClassVar[Mapping[str, str]] = {"inputs": "union"}

    union: Annotated[list[StreamName], Field(min_length=1)] = Field(description="the streams")

    def to_model(self, name: str, schemas: Schemas, at: str) -> Union:
        return Union(inputs=union_inputs(self.union), **self.common(name))

    @classmethod
    def to_plain(cls, step: Union) -> dict[str, Any]:
        return {"union": list(step.streams), **common_plain(step)}


def union_inputs(streams: list[str]) -> tuple[Input, ...]:
    """The ports of a Union are numbered from 1."""
    return tuple(
        Input(f"{ONLY_PORT}{number}", stream) for number, stream in enumerate(streams, start=1)
    )


# ---------------------------------------------------------------- join
# ``near: {join: {radar: radar, own: own}, within: 50 ms, select: {x: radar.x + own.x}}``


def _form(value: Any) -> str:
    return f"{TAG}pair" if isinstance(value, list) else f"{TAG}one"


Pair = Annotated[list[Name], Field(min_length=2, max_length=2)]
Key = Annotated[
    Annotated[Name, Tag(f"{TAG}one")] | Annotated[Pair, Tag(f"{TAG}pair")], Discriminator(_form)
]


def _pair(key: str | list[str]) -> tuple[str, str]:
    """``id`` is short for ``[id, id]``."""
    return (key, key) if isinstance(key, str) else (key[0], key[1])


class JoinForm(OperatorForm):
    """Pairs tuples of two streams that are close in sensing time and agree on keys."""

    key = "join"
    model = Join
    places: ClassVar[Mapping[str, str]] = {"inputs": "join", "columns": "select"}

    join: Annotated[Streams, Field(min_length=2, max_length=2)] = Field(
        description="the two streams, left and right, under the names that expressions use"
    )
    within: Duration = Field(description="how far the sensing times of a pair may lie apart")
    keys: list[Key] = Field(
        default=[], description="columns that must be equal: 'id', or [left column, right column]"
    )
    where: ExpressionChoice | None = Field(default=None, description="a further condition")
    select: ColumnsChoice = Field(
        default={}, description="the output's columns; without it, all columns of both sides"
    )
    partners: Annotated[dict[Name, Count], Field(min_length=1, max_length=1)] | None = Field(
        default=None,
        description="the most partners a tuple of that side finds, such as {radar: 1}; without "
        "it, as many as the other side's rate and 'within' allow",
    )

    def to_model(self, name: str, schemas: Schemas, at: str) -> Join:
        return Join(
            inputs=inputs_model(self.join),
            within=self.within,
            keys=tuple(_pair(key) for key in self.keys),
            where=None if self.where is None else expression_model(self.where),
            columns=columns_model(self.select),
            partners=None if self.partners is None else next(iter(self.partners.items())),
            **self.common(name),
        )

    @classmethod
    def to_plain(cls, step: Join) -> dict[str, Any]:
        result: dict[str, Any] = {
            "join": inputs_plain(step.inputs),
            "within": format_duration(step.within),
        }
        if step.keys:
            result["keys"] = [left if left == right else [left, right] for left, right in step.keys]
        if step.where is not None:
            result["where"] = expression_plain(step.where)
        if step.columns:
            result["select"] = columns_plain(step.columns)
        if step.partners is not None:
            result["partners"] = dict([step.partners])
        return {**result, **common_plain(step)}


# ---------------------------------------------------------------- aggregate
# ``mean: {aggregate: {v: "avg(v)"}, from: speed, by: [id], window: 1 s, every: 500 ms}``


class AggregateForm(SingleInputForm):
    """Groups the tuples of a window of sensing time."""

    key = "aggregate"
    model = Aggregate
    places: ClassVar[Mapping[str, str]] = {"columns": "aggregate", **SingleInputForm.places}

    aggregate: ColumnsChoice = Field(
        description="the output's columns after the keys, each with an aggregate such as avg(v)"
    )
    by: list[Name] = Field(default=[], description="the columns to group by")
    window: PositiveDuration = Field(description="the window's length")
    every: PositiveDuration | None = Field(
        default=None, description="how often a window starts; the window's length if left out"
    )

    def to_model(self, name: str, schemas: Schemas, at: str) -> Aggregate:
        return Aggregate(
            inputs=self.only_input,
            columns=columns_model(self.aggregate),
            by=tuple(self.by),
            window=self.window,
            every=self.window if self.every is None else self.every,
            **self.common(name),
        )

    @classmethod
    def to_plain(cls, step: Aggregate) -> dict[str, Any]:
        result: dict[str, Any] = {
            "aggregate": columns_plain(step.columns),
            "from": step.streams[0],
        }
        if step.by:
            result["by"] = list(step.by)
        result["window"] = format_duration(step.window)
        if step.every != step.window:
            result["every"] = format_duration(step.every)
        return {**result, **common_plain(step)}


# ---------------------------------------------------------------- distinct
# ``first: {distinct: [id], from: v2v, within: 1 s}``


class DistinctForm(SingleInputForm):
    """Of tuples with equal keys close in sensing time, passes the first to arrive."""

    key = "distinct"
    model = Distinct
    places: ClassVar[Mapping[str, str]] = {
        "keys": "distinct",
        "inputs.input": "from",
        "inputs": "from",
    }

    distinct: list[Name] = Field(
        description="the columns that tell tuples apart; none: all tuples are alike"
    )
    within: Duration = Field(
        description="how far the sensing time must lie from that of every result of equal keys"
    )

    def to_model(self, name: str, schemas: Schemas, at: str) -> Distinct:
        return Distinct(
            inputs=self.only_input,
            keys=tuple(self.distinct),
            within=self.within,
            **self.common(name),
        )

    @classmethod
    def to_plain(cls, step: Distinct) -> dict[str, Any]:
        return {
            "distinct": list(step.keys),
            "from": step.streams[0],
            "within": format_duration(step.within),
            **common_plain(step),
        }


# ---------------------------------------------------------------- sample
# ``slow: {sample: every 10 ms, from: speed}``; of several: ``inputs: {v: speed, a: yaw}``


_EVERY = re.compile(r"\s*(?:every\s+)?(.*)", re.DOTALL)
EVERY_FORM = "'every' and a duration, such as 'every 10 ms'"


def parse_every(text: str) -> int:
    """Nanoseconds of ``'every 10 ms'`` or ``'10 ms'``; ValueError when it is neither."""
    match = _EVERY.fullmatch(text)
    assert match is not None
    every = parse_duration(match[1])
    if every < 1:
        raise ValueError(f"{text!r}: the time between two samples must be positive")
    return every


Every = Annotated[
    int,
    BeforeValidator(read_by(parse_every, "not the time between two samples", EVERY_FORM)),
    WithJsonSchema({"type": "string", "pattern": r"^\s*(every\s+)?\d.*$"}),
]


HoldChoice = Annotated[
    Annotated[PositiveDuration, Tag(f"{TAG}short")]
    | Annotated[dict[Name, PositiveDuration], Tag(f"{TAG}long")],
    Discriminator(is_mapping),
]


class SampleForm(OperatorForm):
    """Reads the last value of its inputs at the instants of a clock."""

    key = "sample"
    model = Sample
    places: ClassVar[Mapping[str, str]] = {"every": "sample", "inputs.input": "from"}

    sample: Every = Field(description="the time between two instants: 'every 10 ms'")
    stream: StreamName | None = Field(
        default=None, alias="from", description="the stream it reads; its columns stay as they are"
    )
    inputs: Annotated[Streams, Field(min_length=2)] | None = Field(
        default=None, description="or several, by port: their columns go out as port_column"
    )
    offset: Duration = Field(
        default=0, description="how far the instants lie from the multiples of 'every'"
    )
    jitter: Duration = Field(default=0, description="how much later an instant can be")
    hold: HoldChoice | None = Field(
        default=None,
        description="how long a value is read after it came, or by input {v: 10 ms, r: 1 s}; if "
        "left out, as long as the next one can take by the gaps and clocks before it, or 1 s",
    )

    def to_model(self, name: str, schemas: Schemas, at: str) -> Sample:
        if (self.stream is None) == (self.inputs is None):
            schemas.problems.append(
                Problem(
                    "a sample reads one stream or several",
                    at=at,
                    want="write 'from: stream', or 'inputs: {port: stream, port: stream}'",
                )
            )
        only = () if self.stream is None else (Input(ONLY_PORT, self.stream),)
        return Sample(
            inputs=only if self.inputs is None else inputs_model(self.inputs),
            every=self.sample,
            offset=self.offset,
            jitter=self.jitter,
            hold=self.hold if isinstance(self.hold, int) else None,
            holds=tuple(self.hold.items()) if isinstance(self.hold, dict) else (),
            **self.common(name),
        )

    @classmethod
    def to_plain(cls, step: Sample) -> dict[str, Any]:
        result: dict[str, Any] = {"sample": f"every {format_duration(step.every)}"}
        if [port.port for port in step.inputs] == [ONLY_PORT]:
            result["from"] = step.streams[0]
        else:
            result["inputs"] = inputs_plain(step.inputs)
        for key, value in (("offset", step.offset), ("jitter", step.jitter), ("hold", step.hold)):
            if value:
                result[key] = format_duration(value)
        if step.holds:
            result["hold"] = {port: format_duration(time) for port, time in step.holds}
        return {**result, **common_plain(step)}


# ---------------------------------------------------------------- user-defined
# ``z: {udo: "my_package.my_module:MyOperator", inputs: {a: a}, schema: Result}``


def _parameter(value: Any) -> Any:
    if not isinstance(value, bool | int | float | str):
        raise refusal("a parameter must be a number, text, true or false")
    return value


ParameterValue = Annotated[
    Any,
    BeforeValidator(_parameter),
    WithJsonSchema({"type": ["boolean", "number", "string"]}),
]


class OptionalForm(Form):
    """What a class does besides its cost while nothing else is ready, up to its deadline."""

    time: PositiveDuration = Field(description="time of the whole part, at execution rate 1")
    piece: PositiveDuration = Field(description="time of a piece, which is not interrupted")


class ClassForm(OperatorForm):
    """What operators written as classes share."""

    native: NativePath | None = Field(
        default=None,
        description="the class in C++ for native code, as 'header.hpp:Class'; the header is found "
        "like a Python module",
    )

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
    optional: OptionalForm | None = Field(
        default=None, description="a part that runs while there is time (imprecise computation)"
    )

    @property
    def optional_part(self) -> OptionalPart | None:
        given = self.optional
        return None if given is None else OptionalPart(given.time, given.piece)

    @property
    def parameter_pairs(self) -> tuple[tuple[str, Parameter], ...]:
        return tuple(self.parameters.items())


def class_plain(step: UserDefined | Fusion, schema: Any) -> dict[str, Any]:
    """The shared part of a class operator, back as plain values."""
    result: dict[str, Any] = {} if step.native is None else {"native": step.native}
    result |= {"inputs": inputs_plain(step.inputs), "schema": schema}
    if step.gather is not Gather.ALL:
        result["gather"] = step.gather.value
    if step.parameters:
        result["parameters"] = dict(step.parameters)
    if step.optional is not None:
        time, piece = format_duration(step.optional.time), format_duration(step.optional.piece)
        result["optional"] = {"time": time, "piece": piece}
    return {**result, **common_plain(step)}


def schema_plain(step: UserDefined | Fusion) -> dict[str, str]:
    return {item.name: item.describe() for item in step.schema.fields}


class UdoForm(ClassForm):
    """A user-defined operator: a Python class that both engines run, or one in C++."""

    key = "udo"
    model = UserDefined
    places: ClassVar[Mapping[str, str]] = {"implementation": "udo"}

    udo: ImportPath | None = Field(
        description="the class, as 'package.module:Class'; null if there is only one in C++"
    )

    def to_model(self, name: str, schemas: Schemas, at: str) -> UserDefined:
        return UserDefined(
            inputs=inputs_model(self.inputs),
            implementation=self.udo,
            native=self.native,
            schema=schemas.resolve(self.schema_, f"{at}.schema"),
            gather=Gather(self.gather),
            parameters=self.parameter_pairs,
            optional=self.optional_part,
            **self.common(name),
        )

    @classmethod
    def to_plain(cls, step: UserDefined) -> dict[str, Any]:
        return {"udo": step.implementation, **class_plain(step, schema_plain(step))}


# ---------------------------------------------------------------- fusion
# ``own: {fusion: "package.module:Class", inputs: {gps: gps, speed: speed}, front: 1 s, ...}``


class AssociationGateForm(Form):
    """How a fusion tells measurements of an object from those of another under the same key."""

    accept: float = Field(
        ge=MOST_REFUSING,
        le=LEAST_REFUSING,
        description="the share of an object's true measurements that is inside the gate (chi-square"
        ", squared Mahalanobis distance)",
    )
    confirm: Annotated[int, Field(ge=1)] = Field(
        default=3,
        description="at so many moments another object is measured before it takes over the key",
    )


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

    fusion: ImportPath | None = Field(
        description="the class, as 'package.module:Class'; null if there is only one in C++"
    )
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
    gate: AssociationGateForm | None = Field(
        default=None,
        description="leaves out what is too far from its object, and meets another one anew; "
        "without it tuples of one key are of one object",
    )
    correlated: bool = Field(
        default=False,
        description="the inputs' errors may depend on each other (others have filtered them): "
        "covariance intersection, for SurroundingsFusion",
    )

    def to_model(self, name: str, schemas: Schemas, at: str) -> Fusion:
        gate = self.gate
        return Fusion(
            inputs=inputs_model(self.inputs),
            implementation=self.fusion,
            native=self.native,
            schema=schemas.resolve(self.schema_, f"{at}.schema"),
            front=self.front,
            rear=self.rear,
            object_key=self.object_key,
            sensor_key=self.sensor_key,
            gate=None if gate is None else AssociationGate(gate.accept, gate.confirm),
            correlated=self.correlated,
            gather=Gather(self.gather),
            parameters=self.parameter_pairs,
            optional=self.optional_part,
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
            **({} if step.gate is None else {"gate": asdict(step.gate)}),
            **({"correlated": True} if step.correlated else {}),
            **class_plain(step, schema_plain(step)),
        }


# ---------------------------------------------------------------- component
# ``own: {component: own_vehicle, inputs: {gps: gps}}``: its outputs are ``own.PORT``.


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
