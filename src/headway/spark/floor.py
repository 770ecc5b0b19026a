"""The shortest deadline that a live query on Spark may promise.

Measured (docs/spark.md): a micro-batch that filters takes 50 to 180 ms end to end, one with state
in Python 330 to 550 ms. Below the floor even an idle cluster would miss all the time.
"""

from __future__ import annotations

from headway.errors import Problem, UnsupportedError
from headway.model.graph import graph_of
from headway.model.plan import Plan
from headway.model.time import MILLISECOND, format_duration
from headway.spark.regions import ancestors, keeps_state

FLOOR = 200 * MILLISECOND
"""for outputs that need no state"""
FLOOR_WITH_STATE = 500 * MILLISECOND


def floor_of(plan: Plan, stream: str) -> int:
    """For an output that comes from this stream."""
    graph = graph_of(plan.query)
    needed = ancestors(graph, [stream])
    stateful = any(keeps_state(graph.operators[name]) for name in needed & graph.operators.keys())
    shed = any(graph.sources[name].shedder for name in needed & graph.sources.keys())
    return FLOOR_WITH_STATE if stateful or shed else FLOOR


def refuse_below_floor(plan: Plan) -> None:
    """UnsupportedError with all outputs whose deadline Spark cannot keep."""
    problems = [
        Problem(
            f"Spark cannot keep this deadline: its micro-batches take about "
            f"{format_duration(floor)} for such a query",
            at=f"outputs.{output.name}.deadline",
            got=format_duration(output.deadline),
            want="run it in the vehicle (--engine vehicle), or let it be computed late: --late-ok, "
            "or --mode batch for a recording",
        )
        for output in plan.query.outputs
        if output.deadline is not None
        and output.deadline < (floor := floor_of(plan, output.stream))
    ]
    if problems:
        raise UnsupportedError(problems)
