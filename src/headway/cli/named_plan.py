"""From what is named on the command line to a plan that can be run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from headway.errors import FileError, Place
from headway.front_door.compiling import compile
from headway.front_door.runnable_plan import RunnablePlan, load_plan, runnable

PLAN_SUFFIX = ".json"
ZERO_COST = "--zero-cost"


def runnable_plan(query: Path, vehicle: Path | None, *, zero_cost: bool) -> RunnablePlan:
    """Compiles a query, or reads a plan; without costs there is one node and no network, because
    that is what a query means."""
    if query.suffix != PLAN_SUFFIX:
        compiled = compile(query, vehicle)
        prepared = runnable(compiled.plan, zero_cost=zero_cost, option=ZERO_COST)
        return replace(prepared, placing=compiled.placing)
    if vehicle is not None:
        raise FileError(
            "a plan is for a vehicle already",
            place=Place(str(query)),
            got=f"--vehicle {vehicle}",
            want="leave out --vehicle, or name the query instead of the plan",
        )
    return runnable(load_plan(query), zero_cost=zero_cost, option=ZERO_COST)
