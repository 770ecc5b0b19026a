"""From a plan to what runs: trains as the policy wants them, assembled into units."""

from __future__ import annotations

from collections.abc import Collection

from headway.compiler.deadlines import with_deadlines
from headway.compiler.trains import form_tasks
from headway.model.graph import graph_of
from headway.model.plan import Plan, Task
from headway.runtime.static_order import StaticOrder, static_order
from headway.runtime.units import Program, assemble
from headway.schedule.online.policy import Policy


def tasks_for(plan: Plan, policy: Policy) -> tuple[list[Task], StaticOrder]:
    """The tasks of all nodes under a policy (trains or single operators) and their static order."""
    graph = graph_of(plan.query)
    formed = form_tasks(graph, dict(plan.placement), plan.vehicle, fuse=policy.fuse)
    tasks = list(with_deadlines(formed, graph, plan.crossings))
    return tasks, static_order(tasks, plan.static_order)


def build_program(
    plan: Plan, policy: Policy, *, charged: bool = True, apart: Collection[str] = ()
) -> Program:
    """The units of all nodes. ``charged`` off gives every operator the cost nothing: the meaning
    of the query (design: a run on an infinitely fast machine)."""
    tasks, order = tasks_for(plan, policy)
    return assemble(plan, policy, tasks, order, charged=charged, apart=apart)
