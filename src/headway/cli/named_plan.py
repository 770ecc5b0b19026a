"""From what is named on the command line to a plan that can be run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from headway.compiler.python_code import refuse_python
from headway.errors import FileError, InputError, Place
from headway.front_door.compiling import compile
from headway.front_door.runnable_plan import RunnablePlan, load_plan, runnable
from headway.model.plan import Plan

PLAN_SUFFIX = ".json"
ZERO_COST = "--zero-cost"


def runnable_plan(
    query: Path, vehicle: Path | None, *, zero_cost: bool, python: bool = True
) -> RunnablePlan:
    """Compiles a query, or reads a plan; without costs there is one node and no network, because
    that is what a query means. ``python=False`` refuses one that names Python code."""
    if query.suffix != PLAN_SUFFIX:
        compiled = compile(query, vehicle, python=python)
        prepared = runnable(compiled.plan, zero_cost=zero_cost, option=ZERO_COST)
        return replace(prepared, placing=compiled.placing)
    if vehicle is not None:
        raise FileError(
            "a plan is for a vehicle already",
            place=Place(str(query)),
            got=f"--vehicle {vehicle}",
            want="leave out --vehicle, or name the query instead of the plan",
        )
    plan = load_plan(query)
    if not python:
        _refuse_python(plan, query)
    return runnable(plan, zero_cost=zero_cost, option=ZERO_COST)


def _refuse_python(plan: Plan, path: Path) -> None:
    """The low-level queries of a plan are derived from its query, and checked when it is read."""
    try:
        refuse_python(plan.query)
    except InputError as error:
        place = Place(str(path))
        raise FileError(replace(problem, place=place) for problem in error.problems) from None
