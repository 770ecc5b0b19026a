"""The dataflow graph of an expanded query: who feeds whom, in a fixed topological order."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from headway.model.operators import Operator
from headway.model.query import Output, Query, Source


@dataclass(frozen=True, slots=True)
class Graph:
    """Look-ups over a query's streams. ``order`` lists operators so that producers come first; ties
    are broken by their order in the query."""

    sources: dict[str, Source]
    operators: dict[str, Operator]
    outputs: dict[str, Output]
    consumers: dict[str, tuple[str, ...]]
    """stream -> operators that read it, each once, in query order"""
    outputs_of: dict[str, tuple[str, ...]]
    """stream -> outputs it feeds"""
    order: tuple[str, ...] = field(default=())

    def out_degree(self, stream: str) -> int:
        """How many operators and outputs take the stream."""
        return len(self.consumers[stream]) + len(self.outputs_of[stream])

    def sources_before(self, stream: str) -> tuple[str, ...]:
        """The sources that a stream can come from, in query order."""
        found, pending = {stream}, [stream]
        while pending:
            name = pending.pop()
            if name in self.operators:
                new = set(self.operators[name].streams) - found
                found |= new
                pending += new
        return tuple(name for name in self.sources if name in found)


def graph_of(query: Query) -> Graph:
    """The graph of an expanded and checked query. Operators on a cycle are missing from
    ``order``."""
    sources = {source.name: source for source in query.sources}
    operators = {operator.name: operator for operator in query.operators}
    consumers: dict[str, list[str]] = {name: [] for name in (*sources, *operators)}
    waiting: dict[str, int] = {}
    for operator in operators.values():
        inputs = dict.fromkeys(operator.streams)
        waiting[operator.name] = sum(stream in operators for stream in inputs)
        for stream in inputs:
            if stream in consumers:
                consumers[stream].append(operator.name)
    outputs_of: dict[str, list[str]] = {name: [] for name in consumers}
    for output in query.outputs:
        if output.stream in outputs_of:
            outputs_of[output.stream].append(output.name)

    position = {name: index for index, name in enumerate(operators)}
    ready = [position[name] for name, count in waiting.items() if count == 0]
    heapify(ready)
    names = list(operators)
    order: list[str] = []
    while ready:
        name = names[heappop(ready)]
        order.append(name)
        for consumer in consumers[name]:
            waiting[consumer] -= 1
            if waiting[consumer] == 0:
                heappush(ready, position[consumer])
    return Graph(
        sources=sources,
        operators=operators,
        outputs={output.name: output for output in query.outputs},
        consumers={name: tuple(found) for name, found in consumers.items()},
        outputs_of={name: tuple(found) for name, found in outputs_of.items()},
        order=tuple(order),
    )
