"""Pass: what each operator costs on the kind of processor it was put on.

Where a cost is given by kinds, the placement decides which one counts. From then on it is the
operator's cost, so that deadlines, bounds, engines and native code see one number; the others stay
with it, for another placement.
"""

from __future__ import annotations

from dataclasses import replace

from headway.compiler.compilation import Compilation
from headway.model.graph import graph_of


def settle_costs(compilation: Compilation) -> Compilation:
    """Gives every operator whose cost depends on the kind of its node the cost it has there."""
    graph, placement = compilation.graph, compilation.placement
    kinds = {node.name: node.core_kind for node in compilation.vehicle.nodes}
    settled = {}
    for name, operator in graph.operators.items():
        if operator.cost is None or not operator.cost.kinds:
            continue
        cost = operator.cost.on(kinds[placement[name]])
        if cost is not None and cost != operator.cost:
            settled[name] = replace(operator, cost=cost)
    if not settled:
        return compilation
    steps = tuple(settled.get(step.name, step) for step in compilation.query.steps)
    query = replace(compilation.query, steps=steps)
    return replace(compilation, query=query, graph=graph_of(query))
