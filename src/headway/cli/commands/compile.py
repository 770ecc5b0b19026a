"""``headway compile``: a query and a vehicle to a plan, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli import terminal
from headway.front_door.compiling import LEAST_TRAFFIC, compile
from headway.model.plan import Plan
from headway.report.plan import plan_tables

if TYPE_CHECKING:
    from rich.console import RenderableType


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
    no_python: terminal.NoPythonOption = False,
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
    compiled = compile(query, vehicle, placement=placement, policy=policy, python=not no_python)
    plan, plan_json = compiled.plan, compiled.to_json()
    for problem in compiled.unused_pins():
        terminal.write_problem(f"note: {problem}")
    written: list[Path] = []
    if out is not None:
        contents = {
            "plan.json": plan_json,
            "plan.html": compiled.to_html(),
            "plan.svg": compiled.to_svg(),
        }
        written = terminal.write_files(out, contents)
    if json:
        terminal.write(plan_json)
    else:
        terminal.show(
            [
                *_explained(plan, written),
                *(terminal.sentence(line) for line in compiled.reservations),
            ]
        )
    if not compiled.safe:
        raise typer.Exit(int(terminal.ExitCode.NOT_PROMISED))


def _explained(plan: Plan, written: list[Path]) -> Iterator[RenderableType]:
    """The whole plan in words; the verdict last, where the eye is when the command ends."""
    on = f" on {plan.vehicle.name}" if plan.verdict is not None else ""
    yield terminal.heading(f"{plan.query.name}{on}")
    tables = (
        plan_tables.placement(plan),
        plan_tables.tasks(plan),
        plan_tables.crossings(plan),
        plan_tables.loads(plan),
        *plan_tables.derivations(plan),
        *plan_tables.chain_derivations(plan),
        plan_tables.chains(plan),
        plan_tables.promises(plan),
    )
    for content in tables:
        if content.rows:
            yield terminal.table(content)
    yield terminal.sentence(plan_tables.summary(plan))
    for path in written:
        yield f"wrote {path}"
