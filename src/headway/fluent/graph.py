"""What queries and components have in common when built in Python: steps and their streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from headway.fluent.outputs import Outputs
from headway.fluent.stream import Stream, common
from headway.fluent.values import (
    Duration,
    ExpressionLike,
    Options,
    SchemaLike,
    import_path,
    refuse,
    to_choice,
    to_columns,
    to_expression,
    to_name,
    to_schema,
    to_time,
)
from headway.model.operators import Fusion, Gather, Input, Join, Parameter, Union, UserDefined
from headway.model.operators.base import ONLY_PORT
from headway.model.query import Component, ComponentUse, Step

if TYPE_CHECKING:
    from headway.fluent.component import ComponentBuilder


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

    def union(self, name: str, *streams: Stream, **options: Unpack[Options]) -> Stream:
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
        **options: Unpack[Options],
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

    def udo(
        self,
        name: str,
        implementation: type | str,
        inputs: Mapping[str, Stream],
        *,
        schema: SchemaLike,
        gather: Gather | str = Gather.ALL,
        parameters: Mapping[str, Parameter] | None = None,
        **options: Unpack[Options],
    ) -> Stream:
        """A user-defined operator: a class that can be imported, or its path 'module:Class'."""
        at = self.path(name)
        return self.add(
            UserDefined(
                inputs=self._inputs(inputs, at),
                implementation=import_path(implementation, f"{at}.implementation"),
                schema=to_schema(schema, f"{at}.schema"),
                gather=to_choice(Gather, gather, f"{at}.gather"),
                parameters=tuple((parameters or {}).items()),
                **common(name, at, options),
            )
        )

    def fusion(
        self,
        name: str,
        implementation: type | Callable[..., Any] | str,
        inputs: Mapping[str, Stream],
        *,
        schema: SchemaLike,
        front: Duration,
        rear: Duration,
        object: str | None = None,
        sensor: str | None = None,
        gather: Gather | str = Gather.ALL,
        parameters: Mapping[str, Parameter] | None = None,
        **options: Unpack[Options],
    ) -> Stream:
        """A sensor data fusion operator (SDFO); ``object`` and ``sensor`` are columns."""
        at = self.path(name)
        return self.add(
            Fusion(
                inputs=self._inputs(inputs, at),
                implementation=import_path(implementation, f"{at}.implementation"),
                schema=to_schema(schema, f"{at}.schema"),
                front=to_time(front, f"{at}.front"),
                rear=to_time(rear, f"{at}.rear"),
                object_key=object,
                sensor_key=sensor,
                gather=to_choice(Gather, gather, f"{at}.gather"),
                parameters=tuple((parameters or {}).items()),
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
