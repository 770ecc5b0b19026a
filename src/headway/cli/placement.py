"""``headway compile --placement``: a static schedule says where each operator runs.

The compiler lies below the schedulers and knows nothing of them, so the way is: compile, schedule
the plan's task graph, and compile again with every operator pinned where the schedule has it. The
schedule's order of starts goes into the plan; the policy ``static`` keeps it at run time.
"""

from __future__ import annotations

from dataclasses import replace

from headway.compile import compile_query
from headway.errors import PlacementError, Problem
from headway.model.plan import Plan
from headway.model.query import Query
from headway.schedule.static import (
    ALGORITHMS,
    ExactAlpha,
    Instance,
    algorithm_named,
    graph_of_plan,
    pinned,
)

LEAST_TRAFFIC = "least-traffic"
FAMILY = "hvlb-cc"
"""Stands for the member of the family that cannot fail."""


def placed_by_schedule(query: Query, plan: Plan, name: str) -> Plan:
    """The query compiled again, its operators where the algorithm's schedule puts them.

    PlacementError when the algorithm has no schedule; the nodes' capacities still hold, so that
    compiling may refuse the schedule's placement too."""
    algorithm = ALGORITHMS["hvlb-cc-c"] if name == FAMILY else algorithm_named(name)
    graph, network = graph_of_plan(plan)
    result = algorithm.run(Instance(graph, network), ExactAlpha())
    if result.schedule is None:
        raise PlacementError(
            Problem(
                f"{algorithm.name} has no schedule",
                got=str(result.failure),
                want=f"use --placement {FAMILY}, which cannot fail",
            )
        )
    placed = compile_query(query, pinned(plan.vehicle, plan, result.schedule))
    operators = {operator.name for operator in placed.query.operators}
    starts = sorted(result.schedule.tasks, key=lambda task: (task.start, task.task))
    order = tuple(task.task for task in starts if task.task in operators)
    return replace(placed, static_order=order)
