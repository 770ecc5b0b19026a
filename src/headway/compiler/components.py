"""Pass 2: replace every component use by the component's operators (AEDSMS section 5.4, step 1).

An operator ``map1`` of the component used as ``own`` becomes ``own.map1``. Where it came from is
kept, so that later problems point at the component's file.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from headway.compiler.compilation import Compilation, PortCheck
from headway.model.graph import graph_of
from headway.model.operators import Input, Operator
from headway.model.query import Component, ComponentUse, Step


def expand(compilation: Compilation) -> Compilation:
    """The query without components, and its graph."""
    query = compilation.query
    expansion = _Expansion({component.name: component for component in query.components})
    names = {source.name: source.name for source in query.sources}
    expansion.add_steps(query.steps, names, prefix="", path="operators")
    expanded = replace(
        query,
        steps=tuple(expansion.resolved()),
        outputs=tuple(replace(o, stream=expansion.follow(o.stream)) for o in query.outputs),
        components=(),
    )
    checks = [
        replace(check, stream=expansion.follow(check.stream)) for check in expansion.port_checks
    ]
    return replace(
        compilation,
        query=expanded,
        graph=graph_of(expanded),
        origins=expansion.origins,
        port_checks=tuple(checks),
    )


@dataclass(slots=True)
class _Expansion:
    components: dict[str, Component]
    operators: list[Operator] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    port_checks: list[PortCheck] = field(default_factory=list)

    def add_steps(
        self, steps: tuple[Step, ...], outside: dict[str, str], *, prefix: str, path: str
    ) -> None:
        """Adds operators under ``prefix``; ``outside`` says what input names mean further out."""

        def meaning(stream: str) -> str:
            return outside.get(stream, prefix + stream)

        for step in steps:
            name = prefix + step.name
            at = f"{path}.{step.name}"
            inputs = tuple(Input(port.port, meaning(port.stream)) for port in step.inputs)
            if not isinstance(step, ComponentUse):
                self.operators.append(replace(step, name=name, inputs=inputs))
                self.origins[name] = at
                continue
            component = self.components[step.component]
            given = {port.port: port.stream for port in inputs}
            for declared in component.inputs:
                check = PortCheck(
                    given[declared.name], declared.schema, f"{at}.inputs.{declared.name}"
                )
                self.port_checks.append(check)
            inside = f"{name}."
            self.add_steps(
                component.steps,
                given,
                prefix=inside,
                path=f"components.{component.name}.operators",
            )
            for port, stream in component.outputs:
                self.aliases[f"{name}.{port}"] = given.get(stream, inside + stream)

    def follow(self, stream: str) -> str:
        """The operator or source behind a component's output, however deep.

        An output named like the operator behind it stands for itself.
        """
        while (behind := self.aliases.get(stream, stream)) != stream:
            stream = behind
        return stream

    def resolved(self) -> list[Operator]:
        return [
            replace(
                operator,
                inputs=tuple(Input(p.port, self.follow(p.stream)) for p in operator.inputs),
            )
            for operator in self.operators
        ]
