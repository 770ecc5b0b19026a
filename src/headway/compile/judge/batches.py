"""How long tuples may run as one batch so that every promise is still kept."""

from __future__ import annotations

from headway.compile.compilation import Compilation
from headway.compile.judge.analysis import Analysis
from headway.compile.judge.kept import broken, compilation_of
from headway.model.plan import Plan

FINEST = 1_000
"""budgets below a microsecond are not worth a batch"""


def batch_budget(plan: Plan) -> int:
    """The longest batch, in nanoseconds of work, with which all deadlines can still be promised.

    Tried from the least slack downwards, each time halved. 0 where the plan has no verdict or does
    not keep its promises anyway: then every tuple is scheduled by itself.
    """
    verdict = plan.verdict
    if verdict is None or not verdict.safe:
        return 0
    compilation = compilation_of(plan)
    budget = min(promise.slack or 0 for promise in verdict.promises)
    while budget >= FINEST and not _kept(compilation, budget):
        budget //= 2
    return budget if budget >= FINEST else 0


def _kept(compilation: Compilation, budget: int) -> bool:
    return not broken(Analysis(compilation, batch=budget), compilation.query.outputs)
