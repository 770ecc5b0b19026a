"""Pass: the low-level query of each node, with what it sends and receives (LLQ); and a compiled
query on one node only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headway.compiler.compilation import Compilation, plan_of
from headway.compiler.deadlines import deadlines
from headway.compiler.trains import trains
from headway.model.graph import graph_of
from headway.model.plan import ONLY_NODE, Crossing, NodeQuery, Plan
from headway.model.query import Query
from headway.model.routes import architecture_of
from headway.model.schema import Schema
from headway.model.vehicle import Node, Vehicle


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


# ------------------------------------------------------------
# A compiled query on one node without a network: with operators that take no time, its meaning.
#
# The query is expanded and type-checked already and there is nothing to place, so engines can ask
# for it at run time: nothing is parsed.


def on_one_node(plan: Plan) -> Plan:
    """The plan that the query gives without a vehicle."""
    return plan if plan.verdict is None else meaning_of(plan.query, dict(plan.schemas))


def meaning_of(query: Query, schemas: Mapping[str, Schema]) -> Plan:
    """The plan of a query on the only node there is; ``schemas`` are those of its streams."""
    graph = graph_of(query)
    compilation = Compilation(
        query=query,
        vehicle=Vehicle(name=ONLY_NODE, nodes=(Node(name=ONLY_NODE),)),
        timed=False,
        graph=graph,
        schemas=schemas,
        placement=dict.fromkeys((*graph.sources, *graph.operators), ONLY_NODE),
    )
    return plan_of(deadlines(trains(split(compilation))))
