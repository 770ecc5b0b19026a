"""A plan that can be run: whole, and with its costs known or left out."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from headway.compiler.node_queries import on_one_node
from headway.compiler.read_plan import read_plan
from headway.model.plan import Plan
from headway.model.user_operator import find_modules_beside
from headway.yaml_tree import read_text


@dataclass(frozen=True, kw_only=True)
class RunnablePlan:
    """``charged``: operators take their declared costs; otherwise none takes any time."""

    plan: Plan
    charged: bool
    note: str = ""
    """what the user did not ask for but should know"""
    placing: Callable[[], AbstractContextManager[None]] = nullcontext
    """gives problems of the query their place in its file"""


def runnable(plan: Plan, *, zero_cost: bool, option: str = "zero_cost=True") -> RunnablePlan:
    """Without costs there is one node and no network, because that is what a query means.
    ``option`` is what the note calls the way to ask for that."""
    if zero_cost:
        return RunnablePlan(plan=on_one_node(plan), charged=False)
    if plan.verdict is not None:
        return RunnablePlan(plan=plan, charged=True)
    free = [operator.name for operator in plan.query.operators if operator.cost is None]
    if free:
        note = f"no vehicle, and no cost for {_some(free)}: operators take no time"
        return RunnablePlan(plan=plan, charged=False, note=note)
    note = f"no vehicle: declared costs on one node of rate 1 ({option}: none)"
    return RunnablePlan(plan=plan, charged=True, note=note)


def load_plan(path: Path) -> Plan:
    """The plan of a file; FileError names what it lacks of what the compiler guarantees of one."""
    find_modules_beside(path)
    return read_plan(read_text(path), str(path))


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
