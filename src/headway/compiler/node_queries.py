"""Pass: the low-level query of each node, with what it sends and receives (LLQ)."""

from __future__ import annotations

from dataclasses import replace

from headway.compiler.compilation import Compilation
from headway.model.plan import Crossing, NodeQuery
from headway.model.routes import architecture_of


def split(compilation: Compilation) -> Compilation:
    """Cuts the query at node borders; every stream that crosses gets its route and delays."""
    graph, placement = compilation.graph, compilation.placement
    architecture = architecture_of(compilation.vehicle)
    crossings: list[Crossing] = []
    for stream in (*graph.sources, *graph.order):
        sender = placement[stream]
        size = compilation.schemas[stream].size_bytes
        receivers = dict.fromkeys(placement[consumer] for consumer in graph.consumers[stream])
        for receiver in receivers:
            if receiver == sender:
                continue
            hops = architecture.hops(compilation.routes[stream, receiver], size)
            crossings.append(
                Crossing(
                    stream=stream, sender=sender, receiver=receiver, size_bytes=size, hops=hops
                )
            )
    return replace(
        compilation,
        crossings=tuple(crossings),
        node_queries=tuple(_node_queries(compilation, crossings)),
    )


def _node_queries(compilation: Compilation, crossings: list[Crossing]) -> list[NodeQuery]:
    graph, placement = compilation.graph, compilation.placement
    names = [node.name for node in compilation.vehicle.nodes]
    sources: dict[str, list[str]] = {name: [] for name in names}
    operators: dict[str, list[str]] = {name: [] for name in names}
    outputs: dict[str, list[str]] = {name: [] for name in names}
    for source in graph.sources:
        sources[placement[source]].append(source)
    for operator in graph.order:
        operators[placement[operator]].append(operator)
    for output in graph.outputs.values():
        outputs[placement[output.stream]].append(output.name)
    return [
        NodeQuery(
            node=name,
            sources=tuple(sources[name]),
            operators=tuple(operators[name]),
            sends=tuple((c.stream, c.receiver) for c in crossings if c.sender == name),
            receives=tuple((c.stream, c.sender) for c in crossings if c.receiver == name),
            outputs=tuple(outputs[name]),
        )
        for name in names
    ]
