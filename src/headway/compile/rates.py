"""Pass: the long-run rate of every stream when all sources deliver their worst case."""

from __future__ import annotations

from dataclasses import replace

from headway.compile.compilation import Compilation
from headway.model.operators import Aggregate, Join, Operator


def rates(compilation: Compilation) -> Compilation:
    """Tuples per second of each stream; nothing when the query is compiled without a vehicle."""
    if not compilation.timed:
        return compilation
    graph = compilation.graph
    found: dict[str, float] = {}
    for source in graph.sources.values():
        arrivals = source.arrivals
        found[source.name] = arrivals.sustained.per_second if arrivals else 0.0
    for name in graph.order:
        operator = graph.operators[name]
        inputs = sum(found[stream] for stream in operator.streams)
        found[name] = inputs * operator.selectivity * windows_per_tuple(operator)
        if isinstance(operator, Join) and operator.partners is not None:
            port, most = operator.partners
            pairs = sum(found[i.stream] for i in operator.inputs if i.port == port) * most
            found[name] = min(found[name], pairs)
    return replace(compilation, rates=found)


def windows_per_tuple(operator: Operator) -> int:
    """In how many windows a tuple falls; 1 for operators without windows of output."""
    if isinstance(operator, Aggregate):
        return -(-operator.window // operator.every)
    return 1
