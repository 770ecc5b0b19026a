"""``headway compile``: a query and a vehicle to a plan, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType

from headway.cli.exit_codes import ExitCode
from headway.cli.outputs import write_files
from headway.cli.placement import LEAST_TRAFFIC, placed_by_schedule
from headway.cli.places import placed
from headway.cli.reservations import reservations
from headway.cli.screen import heading, sentence, show, table, write, write_problem
from headway.compile import compile_query
from headway.errors import Problem
from headway.files import LoadedVehicle, load_query, load_vehicle
from headway.model.codec import plan_to_json
from headway.model.plan import Plan
from headway.report import plan_tables
from headway.report.plan_page import plan_html
from headway.report.plan_picture import plan_svg
from headway.report.words import summary


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
