"""What all emitters of code share: naming what is needed twice, filling templates."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace

from headway.expressions.body import Body
from headway.expressions.emit_values import Value, bare
from headway.model.expression_tree import AggregateCall, ColumnRef, Node

_PLACEHOLDER = re.compile(r"([$@])(\d|\*)")

ReadColumn = Callable[[ColumnRef], Value]
ReadAggregate = Callable[[AggregateCall], Value]


class EmitterBase(ABC):
    """Writes expressions into a body. What was given a name is not computed again."""

    def __init__(
        self, body: Body, read: ReadColumn, aggregate: ReadAggregate | None = None
    ) -> None:
        self.body = body
        self._read = read
        self._aggregate = aggregate
        self._named: dict[Node, Value] = {}
        self._sure: frozenset[str] = frozenset()

    def result(self, node: Node) -> str:
        """Code of the value, None for NULL; it may be used once."""
        return self.value(node).nullable_code

    def name(self, node: Node) -> Value:
        """The value as an atom."""
        value = self.value(node)
        if value.atom:
            return value
        return self._keep(node, value.nullable_code, nullable=bool(value.nulls))

    def value(self, node: Node) -> Value:
        value = self._named.get(node) or self._value(node)
        if self._sure.isdisjoint(value.nulls):
            return value
        return replace(value, nulls=tuple(n for n in value.nulls if n not in self._sure))

    def _keep(self, node: Node, code: str, *, nullable: bool = True) -> Value:
        name = self.body.fresh()
        self.body.line(f"{name} = {bare(code)}")
        self._named[node] = Value(name, (name,) if nullable else (), atom=True)
        return self._named[node]

    @abstractmethod
    def _value(self, node: Node) -> Value:
        """The value of a node that has no name yet."""

    @abstractmethod
    def condition(self, node: Node) -> str:
        """Code that is truthy exactly when the value is true, not false or NULL."""

    def _fill(self, template: str, values: list[Value]) -> str:
        """The template with its arguments; an argument marked ``@`` gets a name on the way."""
        codes = [value.code for value in values]
        firsts = list(codes)
        for index, value in enumerate(values):
            if f"@{index}" in template and f"${index}" in template and not value.atom:
                codes[index] = self.body.fresh()
                firsts[index] = f"({codes[index]} := {bare(value.code)})"

        def insert(match: re.Match[str]) -> str:
            if match[2] == "*":
                return ", ".join(codes)
            return (firsts if match[1] == "@" else codes)[int(match[2])]

        return _PLACEHOLDER.sub(insert, template)
