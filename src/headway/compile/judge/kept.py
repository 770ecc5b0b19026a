"""Whether promises of a plan still hold when it is run in another way than it was judged."""

from __future__ import annotations

from collections.abc import Iterable

from headway.compile.compilation import Compilation
from headway.compile.judge.analysis import Analysis
from headway.model.graph import graph_of
from headway.model.plan import Plan
from headway.model.query import Output


def compilation_of(plan: Plan) -> Compilation:
    """What the judgement of a plan starts from."""
    return Compilation(
        query=plan.query,
        vehicle=plan.vehicle,
        timed=True,
        graph=graph_of(plan.query),
        schemas=dict(plan.schemas),
        placement=dict(plan.placement),
        crossings=plan.crossings,
        tasks=plan.tasks,
    )


def broken(analysis: Analysis, outputs: Iterable[Output]) -> list[Output]:
    """Solves the analysis; the outputs whose deadline cannot be promised by it."""
    analysis.solve()
    found = []
    for output in outputs:
        bound = analysis.age_sent(output.stream)
        if bound is None or bound > (output.deadline or 0):
            found.append(output)
    return found
