"""``headway attack``: the search for the run in which a plan's outputs come as late as can be."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from headway.cli import terminal
from headway.cli.named_plan import runnable_plan
from headway.engine.adversary.search import attack as search
from headway.errors import InputError
from headway.report.attack_report import (
    attack_files,
    attack_plain,
    found_table,
    schedule_table,
    verdict_of,
)


def attack(
    query: terminal.QueryArgument,
    vehicle: terminal.VehicleOption = None,
    output: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="search for this one only (may be given again)"),
    ] = None,
    tries: Annotated[int, typer.Option(metavar="N", min=1, help="runs at most")] = 2_000,
    seconds: Annotated[
        float | None,
        typer.Option(metavar="S", min=0.0, help="end after so long; then how far it comes varies"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="of the search")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="write attack.html, a .svg for each output, attack.json"),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="print what was found as JSON instead of tables")
    ] = False,
) -> None:
    """Attack a plan's promises: search for the latest tuple of every output, and show its schedule.

    \b
    Example:
      headway attack examples/hello/query.yaml --vehicle examples/hello/vehicle.yaml --tries 200

    Tries phases, bursts, silences, delays, displaced and dropped tuples and shortened executions,
    all within what the query declares, by hill climbing in virtual time under s-edf. Data does not
    matter: every operator gives as many results as it may. What is found is a run that can happen,
    the bound is what none exceeds; the truth lies between them.

    Exit code: 0 no bound was exceeded, 1 one was (a defect of the compiler), 2 bad input.
    """
    prepared = runnable_plan(query, vehicle, zero_cost=False)
    if prepared.plan.verdict is None:
        raise InputError("a plan without a vehicle promises nothing", want="name one: --vehicle")
    with (
        prepared.placing(),
        terminal.progress(tries, shown=not json, unit="runs", step=5) as advance,
    ):
        result = search(
            prepared.plan,
            tries=tries,
            seed=seed,
            outputs=output or (),
            going_on=terminal.until(seconds),
            advance=advance,
        )
    text = json_format.dumps(attack_plain(result), indent=1, ensure_ascii=False) + "\n"
    written: list[Path] = []
    if out is not None:
        written = terminal.write_files(out, {**attack_files(result), "attack.json": text})
    if json:
        terminal.write(text)
    else:
        nearest = max(result.found, key=lambda name: result.share(name) or 0.0, default=None)
        schedules = [] if nearest is None else [schedule_table(result, nearest)]
        terminal.show(
            [
                terminal.heading(f"{result.plan.query.name} on {result.plan.vehicle.name}"),
                *(terminal.table(one) for one in (found_table(result), *schedules)),
                terminal.sentence(verdict_of(result)),
                *(f"wrote {path}" for path in written),
            ]
        )
    if result.exceeded:
        raise typer.Exit(int(terminal.ExitCode.NOT_PROMISED))
