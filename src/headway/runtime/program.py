"""From a plan to what runs: trains as the policy wants them, assembled into units."""

from __future__ import annotations

from collections.abc import Collection

from headway.model.plan import Plan, Task
from headway.runtime.static_order import StaticOrder, static_order
from headway.runtime.units import Program, assemble
from headway.schedule.online.policy import Policy


def tasks_for(plan: Plan, policy: Policy) -> tuple[tuple[Task, ...], StaticOrder]:
    """The tasks of all nodes under a policy (trains or single operators) and their static order."""
    tasks = plan.scheduled(trains=policy.fuse)
    return tasks, static_order(tasks, plan.static_order)


def build_program(
    plan: Plan, policy: Policy, *, charged: bool = True, apart: Collection[str] = ()
) -> Program:
    """The units of all nodes. ``charged`` off gives every operator the cost nothing: the meaning
    of the query (design: a run on an infinitely fast machine)."""
    tasks, order = tasks_for(plan, policy)
    return assemble(plan, policy, tasks, order, charged=charged, apart=apart)
