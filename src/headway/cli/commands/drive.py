"""``headway drive``: the collision warning in a simulated world, and who gets home."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from enum import StrEnum
from math import isnan
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pyarrow.parquet as pq
import typer
from rich.console import RenderableType

from headway.cli import terminal
from headway.drive import trial_results
from headway.drive.braking import REACTION, Braking
from headway.drive.collision_warning import KeptTuples, Setting, load_collision_warning
from headway.drive.encounters import STOPPING_TIME
from headway.drive.trial import run_trial
from headway.drive.warned_of import WarnedOf
from headway.drive.warning_results import (
    BrakingSummary,
    WarningSummary,
    braking_summary,
    warning_summary,
)
from headway.engine.run_folder import RunFolder, summary_text, unwritable
from headway.errors import InputError
from headway.report.replay.drive_replay import replay_of
from headway.report.replay.replay_page import replay_page
from headway.report.tables import drive_tables
from headway.world.drive_scenario import Scenario

# ---------------------------------------------------------------- our car: policies, radio, shedder

SHED_FORM = "such as 400, or s-edf=400,fifo+=20"


class Radio(StrEnum):
    """With V2V, without, or each trial once with and once without; or with what the other cars'
    own queries broadcast."""

    ON = "on"
    OFF = "off"
    BOTH = "both"
    CARS = "cars"


def settings_of(
    policy: str,
    radio: Radio,
    shed: str | None,
    keep: KeptTuples,
    warned_of: WarnedOf = WarnedOf.CLOSING,
) -> list[Setting]:
    """One for each policy with V2V, then one for each without; InputError for what is no
    setting."""
    policies = list(dict.fromkeys(name.strip() for name in policy.split(",")))
    rates = shed_rates(shed, policies)
    if shed is not None and radio is Radio.OFF:
        raise InputError(
            "--shed is about V2V tuples, and --v2v is off", want="leave out one of them"
        )
    settings = []
    if radio is not Radio.OFF:
        settings += [
            Setting(policy=name, shed=rates.get(name), keep=keep, warned_of=warned_of)
            for name in policies
        ]
    if radio in (Radio.OFF, Radio.BOTH):
        settings += [
            Setting(policy=name, v2v=False, keep=keep, warned_of=warned_of) for name in policies
        ]
    return settings


def braking_of(brake: bool, reaction: float | None) -> Braking | None:
    """How our car brakes; None where it does not."""
    if not brake:
        if reaction is not None:
            raise InputError("--reaction is for a car that brakes", want="add --brake")
        return None
    return Braking.within() if reaction is None else Braking.within(reaction)


def shed_rates(text: str | None, policies: Sequence[str]) -> dict[str, int]:
    """Tuples per second that each policy's load shedder lets in; what is not named stays as the
    query says."""
    if text is None:
        return {}
    rates: dict[str, int] = {}
    for part in text.split(","):
        name, equals, number = part.strip().rpartition("=")
        if not (number.isascii() and number.isdigit()):
            raise InputError("not a number of tuples/s", got=repr(part), want=SHED_FORM)
        if equals and name not in policies:
            known = ", ".join(policies)
            raise InputError("a limit for a policy that is not run", got=repr(name), want=known)
        for policy in [name] if equals else policies:
            rates[policy] = int(number)
    return rates


# ---------------------------------------------------------------- the world: a grid, or SUMO's

SUMO_GRID = "grid"
SUMO_CARS = 100
SUMO_DURATION = 60.0
"""seconds"""


def world_of(
    cars: int | None, seed: int, sumo: str | None, routes: Path | None, duration: float | None
) -> trial_results.World:
    """InputError for what does not go together."""
    if sumo is None:
        given = {"--routes": routes, "--duration": duration}
        for option, value in given.items():
            if value is not None:
                raise InputError(f"{option} is for SUMO scenarios", want="add --sumo")
        return grid_of(cars, seed)
    from headway.world.sumo import sumo_grid, sumo_traffic

    seconds = SUMO_DURATION if duration is None else duration
    if sumo == SUMO_GRID:
        if routes is not None:
            raise InputError(
                "SUMO's own grid has random trips", want="leave out --routes, or name a net"
            )
        return sumo_grid(cars=cars or SUMO_CARS, duration=seconds, seed=seed)
    if cars is not None:
        raise InputError("the cars are those of the route file", want="leave out --cars")
    if routes is None:
        raise InputError("a SUMO network needs its cars", want="name a route file with --routes")
    return sumo_traffic(Path(sumo), routes, duration=seconds, seed=seed)


def grid_of(cars: int | None, seed: int) -> Scenario:
    """The papers' grid, checked."""
    scenario = replace(Scenario(), seed=seed)
    scenario = scenario if cars is None else replace(scenario, cars=cars)
    scenario.validate()
    return scenario


# ---------------------------------------------------------------- what is written


def write_rows(folder: RunFolder, found: Sequence[Sequence[trial_results.Measured]]) -> None:
    every = [one for trial in found for one in trial]
    parts: dict[str, Sequence[trial_results.MeasuredRow]] = {
        "trials.parquet": [one.trial for one in every],
        "meetings.parquet": [row for one in every for row in one.meetings],
        "latency.parquet": [row for one in every for row in one.latencies],
        "alarms.parquet": [row for one in every for row in one.alarms],
    }
    if stops := [row for one in every for row in one.stops]:
        parts["stops.parquet"] = stops
    for name, rows in parts.items():
        try:
            pq.write_table(trial_results.to_table(rows), folder.part(name))
        except OSError as error:
            raise unwritable(folder.folder / name, error) from None


def replay_of_first(drive: trial_results.Drive) -> str:
    """The first drive again: it is the same to the last bit."""
    recording = trial_results.recorded(drive)
    runs = [run_trial(drive.application, recording, setting) for setting in drive.settings]
    return replay_page(replay_of(drive.application.query.name, runs, drive.braking))


class Summaries(NamedTuple):
    """What is told of all drives; one for each setting."""

    settings: list[trial_results.SettingSummary]
    warnings: list[WarningSummary]
    braking: list[BrakingSummary]
    """none where our car does not brake"""

    @classmethod
    def of(
        cls,
        settings: Sequence[Setting],
        found: Sequence[Sequence[trial_results.Measured]],
        *,
        brakes: bool,
    ) -> Summaries:
        warnings, braking = [], []
        for place, setting in enumerate(settings):
            mine = [trial[place] for trial in found]
            warnings.append(warning_summary(setting, [one.alarms for one in mine]))
            if brakes:
                stops = [row for one in mine for row in one.stops]
                braking.append(braking_summary(setting, stops))
        return cls(trial_results.summaries(settings, found), warnings, braking)

    @property
    def unharmed(self) -> bool:
        """Some setting got past every car."""
        crashes = [one.crashes for one in self.braking or self.settings]
        return not all(crashes)


def summary_of_drives(
    results: Summaries, world: trial_results.World, trials: int
) -> dict[str, Any]:
    told: dict[str, Any] = {"trials": trials, "seed": world.seed}
    for name, rows in results._asdict().items():
        if rows:
            told[name] = [
                {key: _plain(value) for key, value in asdict(one).items()} for one in rows
            ]
    return told


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return None if isnan(value) else round(value, 6)
    return value


# ---------------------------------------------------------------- the command

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
        Radio,
        typer.Option(
            help="whether our car has a radio; both: it drives with and without; cars: every other "
            "car with a radio runs the query itself, and its output1 is what is sent"
        ),
    ] = Radio.ON,
    shed: Annotated[
        str | None,
        typer.Option(
            metavar="RATE", help=f"V2V tuples/s the load shedder lets in at most: {SHED_FORM}"
        ),
    ] = None,
    shed_keeps: Annotated[
        KeptTuples,
        typer.Option(help="which tuples it keeps: any (as in the papers), or the nearest"),
    ] = KeptTuples.RANDOM,
    warn_of: Annotated[
        WarnedOf,
        typer.Option(
            help="cars with a time to collision: all that come nearer, those whose way crosses "
            "ours, or those of them that are there when we are"
        ),
    ] = WarnedOf.CLOSING,
    brake: Annotated[
        bool,
        typer.Option(
            "--brake", help="our car brakes when it is warned, and it is a crash if the cars touch"
        ),
    ] = False,
    reaction: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            min=0,
            help=f"with --brake: seconds before it slows down (without: {REACTION:g}); from 60 "
            f"km/h it stands {STOPPING_TIME} s after the warning",
        ),
    ] = None,
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
            metavar="DIR",
            help=f"write trials, meetings, latency, alarms .parquet, {REPLAY}, summary.json",
        ),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="with --out: also keep every drive's recording")
    ] = False,
    force: terminal.ForceOption = False,
    json: terminal.JsonOption = False,
) -> None:
    """Drive through a city where six cars would hit ours, and see whether it is warned in time.

    \b
    Examples:
      headway drive                                   one drive under S-EDF and FIFO+
      headway drive --v2v both --trials 20            how much the radio helps
      headway drive --shed s-edf=400,fifo+=20 --out build/drive
      headway drive --cars 300 --policy s-edf --shed 1000
      headway drive --v2v cars --warn-of meeting --brake

    Our car crosses a Manhattan grid at 60 km/h. Houses hide six cars without a radio on their way
    to the same crossings; other cars see them and report them by V2V. The compiled query of
    examples/collision_warning runs in virtual time in our car's ECUs, once for each policy over
    the same drive. A car that is first detected less than 2.8 s before the impact is a crash; with
    --brake, one that ours touches.

    Open replay.html (with --out) in a browser: the map, what our car knew, the warnings.

    Exit code: 0 some setting saw every car in time (with --brake: hit none), 1 none did, 2 bad
    input.
    """
    settings = settings_of(policy, v2v, shed, shed_keeps, warn_of)
    first = trial_results.Drive(
        application=load_collision_warning(query, vehicle),
        world=world_of(cars, seed, sumo, routes, duration),
        number=0,
        settings=tuple(settings),
        cars_speak=v2v is Radio.CARS,
        braking=braking_of(brake, reaction),
    )
    if out is None:
        found = _run(first, trials, workers, None, shown=not json)
        results = Summaries.of(settings, found, brakes=brake)
        text = summary_text(summary_of_drives(results, first.world, trials))
    else:
        with RunFolder(out, force=force) as folder:
            kept = folder.part("recordings") if keep else None
            found = _run(first, trials, workers, kept, shown=not json)
            results = Summaries.of(settings, found, brakes=brake)
            write_rows(folder, found)
            folder.write_text(REPLAY, replay_of_first(first))
            text = folder.write_summary(summary_of_drives(results, first.world, trials))
    if json:
        terminal.write(text)
    else:
        terminal.show(_explained(results, first, trials, out))
    if not results.unharmed:
        raise typer.Exit(int(terminal.ExitCode.NOT_PROMISED))


def _run(
    first: trial_results.Drive,
    trials: int,
    workers: int | None,
    kept: Path | None,
    *,
    shown: bool,
) -> list[list[trial_results.Measured]]:
    found = []
    with terminal.progress(trials, shown=shown, unit="drives", step=1) as advance:
        for one in trial_results.run_trials(
            first.application,
            first.world,
            first.settings,
            trials=trials,
            workers=workers or trial_results.processors(),
            keep=kept,
            cars_speak=first.cars_speak,
            braking=first.braking,
        ):
            found.append(one)
            advance()
    return found


def _explained(
    results: Summaries, first: trial_results.Drive, trials: int, out: Path | None
) -> Iterator[RenderableType]:
    app = first.application
    drives = "one drive" if trials == 1 else f"{trials:,} drives"
    yield terminal.heading(f"{app.query.name} on {app.vehicle.name}, {drives}")
    yield terminal.table(drive_tables.deadlines(results.settings))
    yield terminal.table(drive_tables.crashes(results.settings))
    yield terminal.table(drive_tables.warnings(results.warnings))
    if results.braking:
        yield terminal.table(drive_tables.braking(results.braking))
    for line in drive_tables.verdict(results.settings):
        yield terminal.sentence(line)
    for line in drive_tables.braking_verdict(results.braking):
        yield terminal.sentence(line)
    if out is not None:
        yield f"wrote {out}"
