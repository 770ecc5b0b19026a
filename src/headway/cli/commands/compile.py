"""``headway compile``: a query and a vehicle to a plan, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType

from headway.cli.terminal import (
    ExitCode,
    heading,
    placed,
    sentence,
    show,
    table,
    write,
    write_files,
    write_problem,
)
from headway.compiler import compile_query
from headway.compiler.latency.soft_room import soft_rooms
from headway.errors import InputError, PlacementError, Problem
from headway.files import LoadedVehicle, load_query, load_vehicle
from headway.model.codec import plan_to_json
from headway.model.plan import Plan
from headway.model.query import Query
from headway.model.taskset import percent
from headway.report.plan import plan_tables
from headway.report.plan.plan_page import plan_html
from headway.report.plan.plan_picture import plan_svg
from headway.report.plan.plan_tables import sign, summary
from headway.schedule.online import overload_policy_named
from headway.schedule.overload.plan_paths import BEYOND, check_nodes, task_sets_of
from headway.schedule.overload.soft_expectations import expectations, soft_room
from headway.schedule.static import (
    ALGORITHMS,
    ExactAlpha,
    Instance,
    algorithm_named,
    graph_of_plan,
    pinned,
)

# ------------------------------------------------------------
# ``headway compile --placement``: a static schedule says where each operator runs.
#
# The compiler lies below the schedulers and knows nothing of them, so the way is: compile,
# schedule the plan's task graph, and compile again with every operator pinned where the schedule
# has it. The schedule's order of starts goes into the plan; the policy ``static`` keeps it at run
# time.

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


# ------------------------------------------------------------
# What ``headway compile --policy rop-edf-1`` adds to the verdict.


KNOWN = ("rop-edf-1", "rop-edf-2")


def reservations(plan: Plan, policy: str) -> list[str]:
    """A line for each node and each soft path; TaskSetError when the hard ones do not fit."""
    name = overload_policy_named(policy).name
    if name not in KNOWN:
        want = f"choose {' or '.join(KNOWN)}"
        raise InputError(Problem(f"{policy!r} gives no guarantee to speak of", want=want))
    lines = []
    sets = task_sets_of(plan)
    check_nodes(sets)
    rooms = soft_rooms(plan)
    for task_set in sets:
        room = soft_room(task_set)
        lines.append(
            f"{sign(True)} {task_set.name}: hard paths reserve {percent(task_set.hard_capacity)}, "
            f"{percent(room)} is left for soft load, whatever the soft load is"
        )
        engine = min(room, rooms.get(task_set.name, room))
        if engine < room:
            lines.append(
                f"  in the engine {percent(engine // 1000 * 1000)} is left: operators there are "
                "not interrupted, and hard outputs must be able to wait for one"
            )
        for one in expectations(task_set):
            chance = one.whole_jobs if name == KNOWN[0] else one.shares
            kept = f", {percent(one.reserved)} reserved" if name == KNOWN[1] else ""
            if BEYOND not in one.task:
                lines.append(f"  {one.task} asks for {percent(one.wanted)}: {chance.value}{kept}")
        beyond = [one for one in expectations(task_set) if BEYOND in one.task]
        if beyond:
            wanted = sum(one.wanted for one in beyond)
            fit = min(100.0, 100 * room / wanted)
            lines.append(
                f"  beyond the shedders {percent(wanted)} more may come: "
                f"at most {fit:.0f} % of it fits"
            )
    return lines


# ------------------------------------------------------------
# ``headway compile``: a query and a vehicle to a plan, for people and for programs.


def compile_(
    query: Annotated[Path, typer.Argument(metavar="QUERY.yaml", help="the query")],
    vehicle: Annotated[
        Path | None,
        typer.Option(
            metavar="VEHICLE.yaml",
            help="the vehicle to compile for; without it there is one node and no verdict",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="write plan.json, plan.html and plan.svg into this folder"
        ),
    ] = None,
    placement: Annotated[
        str,
        typer.Option(
            metavar="WAY",
            help=f"'{LEAST_TRAFFIC}', or a static schedule's: hvlb-cc, heft, … (headway schedule)",
        ),
    ] = LEAST_TRAFFIC,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="rop-edf-1 or rop-edf-2: also say what is left for soft tasks"
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="print the plan as JSON instead of tables")
    ] = False,
) -> None:
    """Compile a query for a vehicle: where each operator runs, by when, and what can be promised.

    \b
    Example:
      headway compile examples/hello/query.yaml --vehicle examples/hello/vehicle.yaml

    For every output the plan holds a bound on the time from sensing to output that no run within
    the declared rates and costs exceeds. A bound beyond its deadline comes with the place to blame
    and changes that were tried and help.

    Exit code: 0 every deadline is promised (or there is no vehicle), 1 one cannot be, 2 bad input.
    """
    loaded = load_query(query)
    loaded_vehicle = load_vehicle(vehicle) if vehicle is not None else None
    with placed(loaded, loaded_vehicle):
        plan = compile_query(loaded.query, loaded_vehicle.vehicle if loaded_vehicle else None)
        if placement != LEAST_TRAFFIC:
            plan = placed_by_schedule(loaded.query, plan, placement)
        reserved = reservations(plan, policy) if policy is not None else []
    if loaded_vehicle is not None:
        for problem in unused_pins(plan, loaded_vehicle):
            write_problem(f"note: {problem}")
    plan_json = plan_to_json(plan)
    written: list[Path] = []
    if out is not None:
        contents = {
            "plan.json": plan_json,
            "plan.html": plan_html(plan),
            "plan.svg": plan_svg(plan),
        }
        written = write_files(out, contents)
    if json:
        write(plan_json)
    else:
        show([*_explained(plan, written), *(sentence(line) for line in reserved)])
    if plan.verdict is not None and not plan.verdict.safe:
        raise typer.Exit(int(ExitCode.NOT_PROMISED))


def _explained(plan: Plan, written: list[Path]) -> Iterator[RenderableType]:
    """The whole plan in words; the verdict last, where the eye is when the command ends."""
    on = f" on {plan.vehicle.name}" if plan.verdict is not None else ""
    yield heading(f"{plan.query.name}{on}")
    tables = (
        plan_tables.placement(plan),
        plan_tables.tasks(plan),
        plan_tables.crossings(plan),
        plan_tables.loads(plan),
        *plan_tables.derivations(plan),
        plan_tables.promises(plan),
    )
    for content in tables:
        if content.rows:
            yield table(content)
    yield sentence(summary(plan))
    for path in written:
        yield f"wrote {path}"


def unused_pins(plan: Plan, vehicle: LoadedVehicle) -> Iterator[Problem]:
    """Pins that name no operator of this query: another query's, or a slip of the pen."""
    operators = [operator.name for operator in plan.query.operators]
    for name, _ in vehicle.vehicle.pins:
        if name not in operators:
            near = get_close_matches(name, operators, n=1)
            want = f"did you mean {near[0]!r}?" if near else "it has no effect"
            problem = Problem("this query has no such operator", at=f"pins.{name}", want=want)
            yield vehicle.places.attach_all([problem])[0]
