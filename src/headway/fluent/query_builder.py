"""Queries and components built in Python: streams that know their builder, step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Unpack

from headway.files.forms import cost_plain, expression_plain
from headway.files.load_queries import read_step
from headway.files.operator_forms import CommonFields
from headway.fluent.accepted_values import (
    Duration,
    ExpressionLike,
    OperatorOptions,
    OptionalLike,
    SchemaLike,
    class_path,
    refuse,
    to_choice,
    to_columns,
    to_cost,
    to_expression,
    to_name,
    to_optional,
    to_rate,
    to_schema,
    to_time,
)
from headway.model.expression import PythonCall, Sql
from headway.model.operators import (
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
    Parameter,
    Sample,
    Union,
    UserDefined,
)
from headway.model.quantities import Cost, Rate
from headway.model.query import (
    Component,
    ComponentUse,
    Criticality,
    LoadShedder,
    Output,
    Port,
    Query,
    Source,
    Step,
)
from headway.model.schema import Schema


def common(name: str, at: str, options: OperatorOptions) -> CommonFields:
    """Options of a call as fields of an operator."""
    return CommonFields(
        name=name,
        cost=to_cost(options["cost"], f"{at}.cost") if "cost" in options else None,
        selectivity=float(options.get("selectivity", 1.0)),
        most_outputs=options.get("most_outputs"),
        timeout=to_time(options["timeout"], f"{at}.timeout") if "timeout" in options else None,
    )


class Stream:
    """The output of a source, operator or component; its methods add operators that read it."""

    def __init__(self, builder: GraphBuilder, name: str) -> None:
        self._builder = builder
        self._name = name

    @property
    def name(self) -> str:
        """The stream's name in the query."""
        return self._name

    @property
    def builder(self) -> GraphBuilder:
        """The query or component it belongs to."""
        return self._builder

    def __repr__(self) -> str:
        return f"<stream {self._name} of {self._builder.name}>"

    @property
    def _inputs(self) -> tuple[Input, ...]:
        return (Input(ONLY_PORT, self._name),)

    def filter(
        self, name: str, where: ExpressionLike, **options: Unpack[OperatorOptions]
    ) -> Stream:
        """Passes the tuples for which ``where`` is true."""
        at = self._builder.path(name)
        condition = to_expression(where, f"{at}.where")
        return self._builder.add(
            Filter(inputs=self._inputs, where=condition, **common(name, at, options))
        )

    def map(
        self, name: str, columns: Mapping[str, ExpressionLike], **options: Unpack[OperatorOptions]
    ) -> Stream:
        """Computes all columns of the output."""
        return self._map(name, columns, False, options)

    def set(
        self, name: str, columns: Mapping[str, ExpressionLike], **options: Unpack[OperatorOptions]
    ) -> Stream:
        """Adds or replaces columns and keeps the others."""
        return self._map(name, columns, True, options)

    def _map(
        self, name: str, columns: Mapping[str, ExpressionLike], keep: bool, options: OperatorOptions
    ) -> Stream:
        at = self._builder.path(name)
        return self._builder.add(
            Map(
                inputs=self._inputs,
                columns=to_columns(columns, at),
                keep=keep,
                **common(name, at, options),
            )
        )

    def aggregate(
        self,
        name: str,
        columns: Mapping[str, ExpressionLike],
        *,
        window: Duration,
        every: Duration | None = None,
        by: Sequence[str] = (),
        **options: Unpack[OperatorOptions],
    ) -> Stream:
        """Groups the tuples of each window of sensing time by the columns ``by``."""
        at = self._builder.path(name)
        length = to_time(window, f"{at}.window")
        return self._builder.add(
            Aggregate(
                inputs=self._inputs,
                columns=to_columns(columns, at),
                window=length,
                every=length if every is None else to_time(every, f"{at}.every"),
                by=(by,) if isinstance(by, str) else tuple(by),
                **common(name, at, options),
            )
        )

    def apply(self, kind: str, name: str, value: Any, **settings: Any) -> Stream:
        """An operator of any kind that reads this stream: see :meth:`GraphBuilder.apply`."""
        return self._builder.apply(kind, name, value, **{"from": self, **settings})

    def sample(
        self,
        name: str,
        *,
        every: Duration,
        offset: Duration = 0,
        jitter: Duration = 0,
        hold: Duration | None = None,
        **options: Unpack[OperatorOptions],
    ) -> Stream:
        """Reads the last value at the instants of a clock; of several streams:
        :meth:`GraphBuilder.sample`."""
        return self._builder.sample(
            name,
            {ONLY_PORT: self},
            every=every,
            offset=offset,
            jitter=jitter,
            hold=hold,
            **options,
        )

    def distinct(
        self,
        name: str,
        keys: Sequence[str] = (),
        *,
        within: Duration,
        **options: Unpack[OperatorOptions],
    ) -> Stream:
        """Of tuples with equal ``keys`` close in sensing time, passes the first to arrive."""
        at = self._builder.path(name)
        return self._builder.add(
            Distinct(
                inputs=self._inputs,
                keys=(keys,) if isinstance(keys, str) else tuple(keys),
                within=to_time(within, f"{at}.within"),
                **common(name, at, options),
            )
        )


class Outputs:
    """The output streams of a component's use: ``own.vehicle`` or ``own['vehicle']``."""

    def __init__(self, use: str, streams: Mapping[str, Stream]) -> None:
        self._use = use
        self._streams = dict(streams)

    def __getitem__(self, port: str) -> Stream:
        if port not in self._streams:
            known = ", ".join(self._streams) or "none"
            raise refuse(
                f"no output '{port}'", f"operators.{self._use}", want=f"its outputs: {known}"
            )
        return self._streams[port]

    def __getattr__(self, port: str) -> Stream:
        if port.startswith("_"):  # notebooks and copy() ask for such names
            raise AttributeError(port)
        return self[port]

    def __iter__(self) -> Iterator[str]:
        return iter(self._streams)


class GraphBuilder:
    """Steps in the order they are added; names are unique. Use QueryBuilder or component()."""

    def __init__(self, name: str) -> None:
        self.name = to_name(name, "name")
        self._steps: dict[str, Step] = {}
        self._taken: set[str] = set()
        self._components: dict[str, Component] = {}

    def path(self, name: str) -> str:
        """The dotted path of an operator, for messages."""
        return f"operators.{name}"

    def add(self, step: Step) -> Stream:
        """Takes a step of the model as it is; returns its stream."""
        self._take(step.name, self.path(step.name))
        self._steps[step.name] = step
        return Stream(self, step.name)

    def _take(self, name: str, at: str) -> None:
        if to_name(name, at) in self._taken:
            raise refuse(f"the name '{name}' is taken", at, want="choose another")
        self._taken.add(name)

    def _stream(self, stream: Stream, at: str) -> str:
        """The name of a stream, which must be one of ours."""
        given: object = stream
        if not isinstance(given, Stream):
            want = "pass what source(), filter(), ... returned"
            raise refuse("a stream is wanted", at, got=repr(given), want=want)
        if stream.builder is not self:
            raise refuse(
                f"the stream '{stream.name}' belongs to '{stream.builder.name}'",
                at,
                want=f"use a stream of '{self.name}', or hand it in through a component's input",
            )
        return stream.name

    def _inputs(self, streams: Mapping[str, Stream], at: str) -> tuple[Input, ...]:
        return tuple(
            Input(to_name(port, f"{at}.inputs"), self._stream(stream, f"{at}.inputs.{port}"))
            for port, stream in streams.items()
        )

    def apply(self, kind: str, name: str, value: Any, **settings: Any) -> Stream:
        """An operator of any kind, as an entry of a file gives it: for kinds of other packages.

        ``kind`` is the key that tells the kind and ``value`` what stands there; ``settings`` are
        the entry's other keys. A stream stands for its name:
        ``q.apply("nearest", "n", {"left": a, "right": b}, within="1 s")``."""
        at = self.path(name)
        entry = {kind: value, **settings}
        written = {key: self._written(inner, f"{at}.{key}") for key, inner in entry.items()}
        return self.add(read_step(name, written, at))

    def _written(self, value: Any, at: str) -> Any:
        """As it would stand in a file: streams by their names."""
        if isinstance(value, Stream):
            return self._stream(value, at)
        if isinstance(value, Cost):
            return cost_plain(value)
        if isinstance(value, Sql | PythonCall):
            return expression_plain(value)
        if isinstance(value, Schema):
            return {field.name: field.describe() for field in value.fields}
        if isinstance(value, Mapping):
            return {key: self._written(inner, f"{at}.{key}") for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self._written(inner, at) for inner in value]
        return value

    def union(self, name: str, *streams: Stream, **options: Unpack[OperatorOptions]) -> Stream:
        """Merges streams of one schema, tuple by tuple."""
        at = self.path(name)
        ports = {f"{ONLY_PORT}{number}": item for number, item in enumerate(streams, start=1)}
        return self.add(Union(inputs=self._inputs(ports, at), **common(name, at, options)))

    def join(
        self,
        name: str,
        streams: Mapping[str, Stream],
        *,
        within: Duration,
        keys: Sequence[str | tuple[str, str]] = (),
        where: ExpressionLike | None = None,
        select: Mapping[str, ExpressionLike] | None = None,
        partners: tuple[str, int] | None = None,
        **options: Unpack[OperatorOptions],
    ) -> Stream:
        """Pairs tuples of two streams; ``streams`` names them left, right, as expressions do."""
        at = self.path(name)
        if len(streams) != 2:
            raise refuse("a join reads two streams", at, got=str(len(streams)))
        return self.add(
            Join(
                inputs=self._inputs(streams, at),
                within=to_time(within, f"{at}.within"),
                keys=tuple(
                    (key, key) if isinstance(key, str) else (key[0], key[1]) for key in keys
                ),
                where=None if where is None else to_expression(where, f"{at}.where"),
                columns=to_columns(select or {}, at),
                partners=partners,
                **common(name, at, options),
            )
        )

    def sample(
        self,
        name: str,
        streams: Mapping[str, Stream],
        *,
        every: Duration,
        offset: Duration = 0,
        jitter: Duration = 0,
        hold: Duration | Mapping[str, Duration] | None = None,
        **options: Unpack[OperatorOptions],
    ) -> Stream:
        """Reads the last value of each stream every ``every``, ``offset`` after its multiples and
        up to ``jitter`` later. A value is read for ``hold`` after it came, for all inputs or by
        port. Of several streams the columns go out as ``port_column``."""
        at = self.path(name)
        return self.add(
            Sample(
                inputs=self._inputs(streams, at),
                every=to_time(every, f"{at}.every"),
                offset=to_time(offset, f"{at}.offset"),
                jitter=to_time(jitter, f"{at}.jitter"),
                hold=to_time(hold, f"{at}.hold") if isinstance(hold, str | int) else None,
                holds=tuple(
                    (port, to_time(time, f"{at}.hold.{port}"))
                    for port, time in (hold.items() if isinstance(hold, Mapping) else ())
                ),
                **common(name, at, options),
            )
        )

    def udo(
        self,
        name: str,
        implementation: type | str | None,
        inputs: Mapping[str, Stream],
        *,
        schema: SchemaLike,
        native: str | None = None,
        gather: Gather | str = Gather.ALL,
        parameters: Mapping[str, Parameter] | None = None,
        optional: OptionalLike | None = None,
        **options: Unpack[OperatorOptions],
    ) -> Stream:
        """A user-defined operator: a class that can be imported, or its path 'module:Class';
        ``native`` is one in C++, beside it or alone (then None): 'header.hpp:Class'."""
        at = self.path(name)
        return self.add(
            UserDefined(
                inputs=self._inputs(inputs, at),
                implementation=class_path(implementation, f"{at}.implementation"),
                native=native,
                schema=to_schema(schema, f"{at}.schema"),
                gather=to_choice(Gather, gather, f"{at}.gather"),
                parameters=tuple((parameters or {}).items()),
                optional=to_optional(optional, f"{at}.optional"),
                **common(name, at, options),
            )
        )

    def fusion(
        self,
        name: str,
        implementation: type | Callable[..., Any] | str | None,
        inputs: Mapping[str, Stream],
        *,
        schema: SchemaLike,
        native: str | None = None,
        front: Duration,
        rear: Duration,
        object: str | None = None,
        sensor: str | None = None,
        gate: AssociationGate | float | None = None,
        correlated: bool = False,
        gather: Gather | str = Gather.ALL,
        parameters: Mapping[str, Parameter] | None = None,
        optional: OptionalLike | None = None,
        **options: Unpack[OperatorOptions],
    ) -> Stream:
        """A sensor data fusion operator (SDFO); ``object`` and ``sensor`` are columns. ``gate`` is
        the share of an object's true measurements that is let through, ``correlated`` says that the
        inputs' errors may depend on each other."""
        at = self.path(name)
        return self.add(
            Fusion(
                inputs=self._inputs(inputs, at),
                implementation=class_path(implementation, f"{at}.implementation"),
                native=native,
                schema=to_schema(schema, f"{at}.schema"),
                front=to_time(front, f"{at}.front"),
                rear=to_time(rear, f"{at}.rear"),
                object_key=object,
                sensor_key=sensor,
                gate=AssociationGate(gate) if isinstance(gate, int | float) else gate,
                correlated=correlated,
                gather=to_choice(Gather, gather, f"{at}.gather"),
                parameters=tuple((parameters or {}).items()),
                optional=to_optional(optional, f"{at}.optional"),
                **common(name, at, options),
            )
        )

    def use(
        self, name: str, component: Component | ComponentBuilder, /, **inputs: Stream
    ) -> Outputs:
        """Uses a component like an operator: ``use('own', spc_a, gps=gps).vehicle``."""
        at = self.path(name)
        built = component if isinstance(component, Component) else component.build()
        nested = () if isinstance(component, Component) else component.library
        ports = {port.name for port in built.inputs}
        if ports != set(inputs):
            raise refuse(
                f"the inputs of '{built.name}' do not fit",
                at,
                got=", ".join(inputs) or "none",
                want=f"give it {', '.join(sorted(ports)) or 'none'}",
            )
        self.add(ComponentUse(name=name, component=built.name, inputs=self._inputs(inputs, at)))
        self.include(*nested, built)
        return Outputs(name, {port: Stream(self, f"{name}.{port}") for port, _ in built.outputs})

    def include(self, *components: Component) -> None:
        """Adds components to the library of this builder; ``use`` does it by itself."""
        for component in components:
            known = self._components.setdefault(component.name, component)
            if known != component:
                at = f"components.{component.name}"
                raise refuse("two components of that name", at, want="rename one")

    @property
    def library(self) -> tuple[Component, ...]:
        """The components it uses, directly or inside others, inner ones first."""
        return tuple(self._components.values())


class ComponentBuilder(GraphBuilder):
    """A component in the making: inputs, operators, outputs."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._ports: list[Port] = []
        self._outputs: dict[str, str] = {}

    def path(self, name: str) -> str:
        return f"components.{self.name}.operators.{name}"

    def input(self, name: str, schema: SchemaLike) -> Stream:
        """A stream that enters; inside it goes by that name."""
        at = f"components.{self.name}.inputs.{name}"
        self._take(name, at)
        self._ports.append(Port(name=name, schema=to_schema(schema, at)))
        return Stream(self, name)

    def output(self, name: str, stream: Stream) -> None:
        """A stream that leaves."""
        at = f"components.{self.name}.outputs.{name}"
        if to_name(name, at) in self._outputs:
            raise refuse(f"the output '{name}' is taken", at, want="choose another")
        self._outputs[name] = self._stream(stream, at)

    def build(self) -> Component:
        """The component as a value of the model."""
        return Component(
            name=self.name,
            inputs=tuple(self._ports),
            steps=tuple(self._steps.values()),
            outputs=tuple(self._outputs.items()),
        )


def component(name: str) -> ComponentBuilder:
    """Starts a component: ``spc = component('spc_a'); gps = spc.input('gps', Gps)``."""
    return ComponentBuilder(name)


class QueryBuilder(GraphBuilder):
    """A query in the making: sources, operators, outputs.

    >>> q = QueryBuilder("hello")
    >>> speed = q.source("speed", {"v": "double [m/s]"}, rate="1 per 10 ms")
    >>> fast = speed.filter("fast", "v > 30", cost="50 us")
    >>> q.output("alarm", fast, deadline="5 ms")
    >>> query = q.build()
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._sources: list[Source] = []
        self._outputs: dict[str, Output] = {}

    def source(
        self,
        name: str,
        schema: SchemaLike,
        *,
        rate: str | Rate | None = None,
        jitter: Duration = 0,
        offset: Duration | None = None,
        gap: Duration | None = None,
        delay: Duration = 0,
        lateness: Duration = 0,
        shed: LoadShedder | None = None,
    ) -> Stream:
        """An input stream; :class:`headway.model.query.Source` tells what the settings mean."""
        at = f"sources.{name}"
        if rate is None and jitter:
            raise refuse("a jitter without a rate", f"{at}.jitter", want="add a rate")
        self._take(name, at)
        self._sources.append(
            Source(
                name=name,
                schema=to_schema(schema, f"{at}.schema"),
                rate=None if rate is None else to_rate(rate, jitter, f"{at}.rate"),
                offset=None if offset is None else to_time(offset, f"{at}.offset"),
                gap=None if gap is None else to_time(gap, f"{at}.gap"),
                delay=to_time(delay, f"{at}.delay"),
                lateness=to_time(lateness, f"{at}.lateness"),
                shedder=shed,
            )
        )
        return Stream(self, name)

    def output(
        self,
        name: str,
        stream: Stream,
        *,
        deadline: Duration | None,
        criticality: Criticality | str = Criticality.HARD,
        weight: float = 1.0,
        age: Duration | None = None,
        reaction: Duration | None = None,
        through: Sequence[Stream] = (),
    ) -> None:
        """An output stream with its end-to-end deadline; None for none. ``age`` and ``reaction``
        are the greatest data age and reaction time allowed, from each source; only on ways
        through the streams of ``through``, one right after the other."""
        at = f"outputs.{name}"
        if to_name(name, at) in self._outputs:
            raise refuse(f"the output '{name}' is taken", at, want="choose another")
        self._outputs[name] = Output(
            name=name,
            stream=self._stream(stream, f"{at}.from"),
            deadline=None if deadline is None else to_time(deadline, f"{at}.deadline"),
            criticality=to_choice(Criticality, criticality, f"{at}.criticality"),
            weight=float(weight),
            age=None if age is None else to_time(age, f"{at}.age"),
            reaction=None if reaction is None else to_time(reaction, f"{at}.reaction"),
            through=tuple(self._stream(one, f"{at}.through") for one in through),
        )

    def build(self) -> Query:
        """The query as a value of the model, equal to the one a YAML file would give."""
        return Query(
            name=self.name,
            sources=tuple(self._sources),
            steps=tuple(self._steps.values()),
            outputs=tuple(self._outputs.values()),
            components=self.library,
        )
