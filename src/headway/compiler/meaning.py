"""A compiled query on one node without a network: with operators that take no time, its meaning.

The query is expanded and type-checked already and there is nothing to place, so engines can ask for
it at run time: nothing is parsed.
"""

from __future__ import annotations

from collections.abc import Mapping

from headway.compiler.compilation import Compilation, plan_of
from headway.compiler.deadlines import deadlines
from headway.compiler.node_queries import split
from headway.compiler.trains import trains
from headway.model.graph import graph_of
from headway.model.plan import ONLY_NODE, Plan
from headway.model.query import Query
from headway.model.schema import Schema
from headway.model.vehicle import Node, Vehicle


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
