"""``headway drive``: the collision warning in a simulated world, and who gets home."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType

from headway.cli.drive_results import replay_of_first, summary_of_drives, write_rows
from headway.cli.drive_settings import SHED_FORM, Radio, settings_of
from headway.cli.drive_world import SUMO_GRID, world_of
from headway.cli.exit_codes import ExitCode
from headway.cli.progress import progress
from headway.cli.screen import heading, sentence, show, table, write
from headway.cli.shared_options import ForceOption, JsonOption
from headway.drive.collision_warning import Keep, QueryInVehicle, Setting, load_collision_warning
from headway.drive.trial_results import (
    Measured,
    SettingSummary,
    World,
    processors,
    run_trials,
    summaries,
)
from headway.report import drive_tables
from headway.runtime.run_folder import RunFolder, summary_text

REPLAY = "replay.html"


def drive(
    cars: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="other cars in the grid: more cars, more V2V tuples"),
    ] = None,
    policy: Annotated[
        str,
        typer.Option(metavar="A,B", help="how our car schedules: see `headway policies`"),
    ] = "s-edf,fifo+",
    v2v: Annotated[
        Radio, typer.Option(help="whether our car has a radio; both: it drives with and without")
    ] = Radio.ON,
    shed: Annotated[
        str | None,
        typer.Option(
            metavar="RATE", help=f"V2V tuples/s the load shedder lets in at most: {SHED_FORM}"
        ),
    ] = None,
    shed_keeps: Annotated[
        Keep, typer.Option(help="which tuples it keeps: any (as in the papers), or the nearest")
    ] = Keep.RANDOM,
    trials: Annotated[
        int,
        typer.Option(metavar="N", min=1, max=100_000, help="drives: other phases, noise, losses"),
    ] = 1,
    seed: Annotated[int, typer.Option(min=0, help="of the traffic and of all that is drawn")] = 1,
    sumo: Annotated[
        str | None,
        typer.Option(
            metavar="NET",
            help=f"drive through this SUMO network, or `{SUMO_GRID}` for one of its own",
        ),
    ] = None,
    routes: Annotated[
        Path | None, typer.Option(metavar="FILE", help="with --sumo NET: the route file")
    ] = None,
    duration: Annotated[
        float | None, typer.Option(metavar="S", help="with --sumo: seconds to drive")
    ] = None,
    query: Annotated[
        Path | None,
        typer.Option(metavar="QUERY.yaml", help="instead of examples/collision_warning"),
    ] = None,
    vehicle: Annotated[
        Path | None, typer.Option(metavar="VEHICLE.yaml", help="instead of that example's")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="processes (without: one per processor)")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help=f"write trials, meetings, latency .parquet, {REPLAY}, summary.json"
        ),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="with --out: also keep every drive's recording")
    ] = False,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Drive through a city where six cars would hit ours, and see whether it is warned in time.

    \b
    Examples:
      headway drive                                   one drive under S-EDF and FIFO+
      headway drive --v2v both --trials 20            how much the radio helps
      headway drive --shed s-edf=400,fifo+=20 --out build/drive
      headway drive --cars 300 --policy s-edf --shed 1000

    Our car crosses a Manhattan grid at 60 km/h. Houses hide six cars without a radio on their way
    to the same crossings; other cars see them and report them by V2V. The compiled query of
    examples/collision_warning runs in virtual time in our car's ECUs, once for each policy over
    the same drive. A car that is first detected less than 2.8 s before the impact is a crash.

    Open replay.html (with --out) in a browser: the map, what our car knew, the warnings.

    Exit code: 0 some setting saw every car in time, 1 none did, 2 bad input.
    """
    settings = settings_of(policy, v2v, shed, shed_keeps)
    app = load_collision_warning(query, vehicle)
    world = world_of(cars, seed, sumo, routes, duration)
    if out is None:
        found = _run(app, world, settings, trials, workers, None, shown=not json)
        text = summary_text(summary_of_drives(settings, found, world, trials))
    else:
        with RunFolder(out, force=force) as folder:
            kept = folder.part("recordings") if keep else None
            found = _run(app, world, settings, trials, workers, kept, shown=not json)
            write_rows(folder, found)
            folder.write_text(REPLAY, replay_of_first(app, world, settings))
            text = folder.write_summary(summary_of_drives(settings, found, world, trials))
    results = summaries(settings, found)
    if json:
        write(text)
    else:
        show(_explained(results, app, trials, out))
    if all(one.crashes for one in results):
        raise typer.Exit(int(ExitCode.NOT_PROMISED))


def _run(
    app: QueryInVehicle,
    world: World,
    settings: Sequence[Setting],
    trials: int,
    workers: int | None,
    kept: Path | None,
    *,
    shown: bool,
) -> list[list[Measured]]:
    found = []
    with progress(trials, shown=shown, unit="drives", step=1) as advance:
        for one in run_trials(
            app, world, settings, trials=trials, workers=workers or processors(), keep=kept
        ):
            found.append(one)
            advance()
    return found


def _explained(
    results: Sequence[SettingSummary], app: QueryInVehicle, trials: int, out: Path | None
) -> Iterator[RenderableType]:
    drives = "one drive" if trials == 1 else f"{trials:,} drives"
    yield heading(f"{app.query.name} on {app.vehicle.name}, {drives}")
    yield table(drive_tables.deadlines(results))
    yield table(drive_tables.crashes(results))
    for line in drive_tables.verdict(results):
        yield sentence(line)
    if out is not None:
        yield f"wrote {out}"
