"""``headway fleet``: one vehicle engine per vehicle, on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from headway.cli import terminal
from headway.cli.charts_written import charts_or_note
from headway.cli.commands.drive import grid_of
from headway.cli.named_plan import runnable_plan
from headway.cli.run_on_spark import opened_folder
from headway.drive.collision_warning import check_streams
from headway.drive.driven_fleet import DrivenFleet, driven_fleet
from headway.errors import FileError, InputError, Place
from headway.model.plan import Plan
from headway.report.run_charts import fleet_charts
from headway.report.tables import run_tables
from headway.schedule.online import policy_named
from headway.spark.session.spark_session import check_master, owned_session, parse_options
from headway.spark.spark_results import FleetRun
from headway.spark.storage.locations import Location

# ---------------------------------------------------------------- --scenario: a simulated city


class FleetScenario(StrEnum):
    """Where a fleet may drive."""

    GRID = "grid"


class FleetRadio(StrEnum):
    """What a vehicle of a scenario hears."""

    ON = "on"
    """what a model of the other cars says"""
    OFF = "off"
    CARS = "cars"
    """what the other cars' own queries say"""


def scenario_fleet(
    scenario: FleetScenario | None,
    plan: Plan,
    cars: int | None,
    vehicles: int | None,
    seed: int,
    recording: str | None,
    radio: FleetRadio | None = None,
    policy: str = "s-edf",
    *,
    charged: bool = True,
) -> DrivenFleet | None:
    """None where no scenario is asked for; InputError for what does not go together."""
    if scenario is None:
        for option, given in (("--cars", cars), ("--v2v", radio)):
            if given is not None:
                raise InputError(f"{option} is for scenarios", want="add --scenario grid")
        return None
    if recording is not None:
        raise InputError("a fleet drives a scenario or a recording", want="leave out one of them")
    check_streams(plan.query)
    return driven_fleet(
        plan,
        grid_of(cars, seed),
        vehicles,
        v2v=radio is not FleetRadio.OFF,
        cars_speak=radio is FleetRadio.CARS,
        policy=policy,
        charged=charged,
    )


# ---------------------------------------------------------------- the command

CHART = "fleet"


def fleet(
    query: terminal.QueryArgument,
    output: terminal.OutputOption,
    vehicle: terminal.VehicleOption = None,
    input: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|URI", help="the recording (without: `recording` beside the query)"
        ),
    ] = None,
    vehicles: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="so many, driving variations of the recorded ones (or of our car in a scenario)",
        ),
    ] = None,
    scenario: Annotated[
        FleetScenario | None,
        typer.Option(
            help="drive through a simulated city, not a recording: --vehicles variations of the "
            "collision-warning drive, without it every car of the grid that has a radio"
        ),
    ] = None,
    cars: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="with --scenario: cars in the grid")
    ] = None,
    v2v: Annotated[
        FleetRadio | None,
        typer.Option(
            help="with --scenario: whether vehicles have a radio (without: on); cars: what they "
            "hear is the output1 of the others' own queries"
        ),
    ] = None,
    policy: Annotated[
        str, typer.Option(metavar="NAME", help="how jobs are scheduled: see `headway policies`")
    ] = "s-edf",
    seed: Annotated[int, typer.Option(help="of the variations")] = 0,
    zero_cost: Annotated[
        bool, typer.Option("--zero-cost", help="operators take no time: the meaning of the query")
    ] = False,
    trace: Annotated[
        bool, typer.Option("--trace", help="also write every vehicle's trace to trace.parquet")
    ] = False,
    master: terminal.MasterOption = terminal.LOCAL,
    conf: terminal.ConfOption = None,
    publish: terminal.PublishOption = None,
    force: terminal.ForceOption = False,
    json: terminal.JsonOption = False,
) -> None:
    """Run a whole fleet: each vehicle has its own engine in virtual time, with costs and policy.

    \b
    Example:
      headway fleet examples/hello/query.yaml --vehicle examples/hello/vehicle.yaml --vehicles 200
          --output build/fleet
      headway fleet examples/collision_warning/query.yaml --scenario grid --vehicles 200
          --vehicle examples/collision_warning/vehicle.yaml --output build/drives
      headway fleet examples/collision_warning/query.yaml --scenario grid --v2v cars
          --vehicle examples/collision_warning/vehicle.yaml --output build/talk

    Writes each output of all vehicles as Parquet, the counts of each vehicle (vehicles.parquet), a
    chart (fleet.html and fleet.svg) and summary.json; of a scenario also who was on collision
    course with whom (meetings.parquet).

    Exit code: 0 fine, 1 a hard output missed a deadline, 2 bad input.
    """
    policy_named(policy)
    check_master(master)
    prepared = runnable_plan(query, vehicle, zero_cost=zero_cost)
    settings = parse_options(conf or [], "--conf")
    driven = scenario_fleet(
        scenario, prepared.plan, cars, vehicles, seed, input, v2v, policy,
        charged=prepared.charged,
    )  # fmt: skip
    recording = Location.of(input or (_beside(query) if driven is None else query.parent))
    place = Location.of(output)

    def session() -> AbstractContextManager[Any]:
        return owned_session(master, "headway fleet", settings)

    with opened_folder(place, publish, session, force=force) as (folder, spark):
        from headway.spark.fleet.fleet_run import run_driven, run_fleet

        with prepared.placing():
            if driven is not None:
                run = run_driven(
                    spark, prepared.plan, driven, folder, policy=policy,
                    charged=prepared.charged, traced=trace,
                )  # fmt: skip
            else:
                run = run_fleet(
                    spark, prepared.plan, recording, folder, policy=policy,
                    charged=prepared.charged, vehicles=vehicles, seed=seed, traced=trace,
                )  # fmt: skip
        title = f"{prepared.plan.query.name}: {run.vehicles:,} vehicles, {policy}"
        for name, text in charts_or_note(CHART, fleet_charts(run), title).items():
            folder.write_text(name, text)
        named: dict[str, Any] = {
            "query": prepared.plan.query.name,
            "vehicle": prepared.plan.vehicle.name,
            "policy": policy,
            "costs": "declared" if prepared.charged else "no",
        }
        text = folder.write_summary({**named, **run.data()})
    if prepared.note:
        terminal.write_problem(f"note: {prepared.note}")
    if json:
        terminal.write(text)
    else:
        terminal.show(_explained(title, run, place))
    if run.hard_misses:
        raise typer.Exit(int(terminal.ExitCode.NOT_PROMISED))


def _beside(query: Path) -> Path:
    recording = query.parent / "recording"
    if not recording.is_dir():
        raise FileError(
            "there is no recording beside the query",
            place=Place(str(recording)),
            want="name one with --input",
        )
    return recording


def _explained(title: str, run: FleetRun, output: Location) -> Iterator[RenderableType]:
    yield terminal.heading(title)
    yield terminal.table(run_tables.fleet_outputs(run))
    yield terminal.table(run_tables.fleet_worst(run))
    yield terminal.sentence(run_tables.fleet_verdict(run))
    if run.met:
        yield terminal.sentence(run_tables.fleet_met(run))
    rate = run.vehicles / run.seconds if run.seconds else 0
    yield f"{run.vehicles:,} vehicles in {run.seconds:.1f} s: {rate:,.1f} a second"
    yield from run.notes
    yield f"wrote {output}"
