"""Stream processing components (SPCs) built in Python."""

from __future__ import annotations

from headway.fluent.graph import GraphBuilder
from headway.fluent.stream import Stream
from headway.fluent.values import SchemaLike, refuse, to_name, to_schema
from headway.model.query import Component, Port


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
