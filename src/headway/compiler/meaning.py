"""A compiled query on one node without a network: with operators that take no time, its meaning."""

from __future__ import annotations

from headway.compiler.compilation import Compilation
from headway.compiler.front_end import FRONT_END
from headway.compiler.passes import PASSES, plan_of
from headway.model.graph import graph_of
from headway.model.plan import ONLY_NODE, Plan
from headway.model.vehicle import Node, Vehicle


def on_one_node(plan: Plan) -> Plan:
    """The plan that the query gives without a vehicle; the query is expanded and checked
    already."""
    if plan.verdict is None:
        return plan
    compilation = Compilation(
        query=plan.query,
        vehicle=Vehicle(name=ONLY_NODE, nodes=(Node(name=ONLY_NODE),)),
        timed=False,
        graph=graph_of(plan.query),
        schemas=dict(plan.schemas),
    )
    for run_pass in PASSES[len(FRONT_END) :]:
        compilation = run_pass(compilation)
    return plan_of(compilation)
