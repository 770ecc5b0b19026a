"""``headway simulate``: the nodes of a car on a simulated network, with faults, seed after seed."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from headway.cli.named_plan import runnable_plan
from headway.cli.terminal import (
    ExitCode,
    JsonOption,
    NoPythonOption,
    VehicleOption,
    progress,
    sentence,
    show,
    table,
    write_files,
    write_json,
)
from headway.engine.jobs import Arrival
from headway.engine.nodes.liveness import PeerTiming
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, SECOND, duration_option
from headway.report.plan.plan_tables import BROKEN, KEPT, Table
from headway.report.simulation_page import simulation_html
from headway.simulation.campaign import Campaign, CampaignTotals, SeedResult
from headway.simulation.load_faults import load_faults
from headway.simulation.simulated_car import CarSetting
from headway.sources.recordings import read_recording

SHOWN = 10
"""failures"""


def simulate(
    query: Annotated[
        Path, typer.Argument(metavar="QUERY.yaml|PLAN.json", help="the query, or a compiled plan")
    ],
    input: Annotated[Path, typer.Option(metavar="DIR", help="the recording that nodes replay")],
    faults: Annotated[
        Path, typer.Option(metavar="FAULTS.yaml", help="what may befall the nodes, and how often")
    ],
    vehicle: VehicleOption = None,
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="how many runs")] = 100,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="the first of them")] = 0,
    policy: Annotated[str, typer.Option(help="of every node's scheduler")] = "s-edf",
    only: Annotated[
        str | None, typer.Option(metavar="NAME", help="only this vehicle's tuples of the recording")
    ] = None,
    heartbeat: Annotated[
        str, typer.Option(metavar="TIME", help="time between signs of life, as for a node")
    ] = "50 ms",
    missed: Annotated[int, typer.Option(min=1, help="missed heartbeats until a peer is lost")] = 3,
    give_up: Annotated[
        str, typer.Option(metavar="TIME", help="wait for a lost peer at the end")
    ] = "1 s",
    checkpoint: Annotated[
        str, typer.Option(metavar="TIME", help="time between two checkpoints; 0 s: none is made")
    ] = "1 s",
    most_kept: Annotated[
        int, typer.Option(min=1, help="frames kept for a peer that is away")
    ] = 4096,
    most_waiting: Annotated[
        int | None, typer.Option(min=1, help="jobs that may wait on a node until some are dropped")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="write SEED.html, the timeline of the first failure (or of the first seed), and "
            "SEED.trace.txt, all that happened in it",
        ),
    ] = None,
    no_python: NoPythonOption = False,
    json: JsonOption = False,
) -> None:
    """Run the nodes of a car in a simulated world with faults; check what must hold in each run.

    \b
    Example:
      headway simulate examples/tyre_watch/query.yaml --vehicle examples/tyre_watch/vehicle.yaml \\
        --input examples/tyre_watch/recording --faults examples/tyre_watch/faults.yaml --seeds 20

    The code of the nodes is the real one; clock, network, disk and threads are simulated, in one
    process. One seed decides all that is left open: when connections break, who hears whom, which
    process is killed at which call and when it comes back, whose clock runs fast. No time is spent
    waiting, so thousands of runs take minutes.

    \b
    In each run must hold:
      no tuple twice         outputs hold no tuple more often than an undisturbed run gives it
      none lost in silence   each missing tuple has a reason that a node named, or a node was down
      it ends                no node waits for ever, whatever the others do
      counts add up          reports agree with what was seen on the network and in the files
      promises are kept      outputs on nodes that no fault touched meet their deadlines
      it heals               what no reason covers is, tuple for tuple, as in an undisturbed run

    A seed that fails is named: run it again with --seed S --seeds 1 --out DIR, it does the same,
    byte for byte. docs/simulation.md tells what is simulated and what is not.

    Exit code: 0 all seeds hold, 1 some do not, 2 bad input.
    """
    spec = load_faults(faults)
    plan = runnable_plan(query, vehicle, zero_cost=False, python=not no_python).plan
    timing = PeerTiming(
        heartbeat=duration_option("--heartbeat", heartbeat, 1),
        missed=missed,
        give_up=duration_option("--give-up", give_up, 1),
        linger=max(2 * SECOND, 2 * duration_option("--give-up", give_up, 1)),
    )
    setting = CarSetting(
        plan=plan,
        arrivals=recorded(plan, input, only),
        policy=policy,
        timing=timing,
        most_kept=most_kept,
        checkpoint=duration_option("--checkpoint", checkpoint),
        most_waiting=most_waiting,
    )
    campaign = Campaign(setting, spec)
    totals, failures = CampaignTotals(), list[SeedResult]()
    with progress(seeds, shown=not json, unit="seeds", step=1) as advance:
        for result in campaign.runs(range(seed, seed + seeds)):
            totals.add(result)
            if result.failed and len(failures) < SHOWN:
                failures.append(result)
            advance()
    written = [] if out is None else _write(out, campaign, totals.failed or [seed])
    if json:
        write_json(_data(totals, failures, written))
    else:
        show([*_tables(totals), *map(sentence, _verdict(totals, failures, written))])
    if totals.failed:
        raise typer.Exit(int(ExitCode.NOT_PROMISED))


def recorded(plan: Plan, folder: Path, vehicle: str | None = None) -> tuple[Arrival, ...]:
    """The tuples of the recording, in order of time."""
    return tuple(
        Arrival(arrived_at * MICROSECOND, source, row)
        for arrived_at, source, row, _ in read_recording(folder, plan.query.sources, vehicle)
    )


# ---------------------------------------------------------------- what came of it


def _write(folder: Path, campaign: Campaign, seeds: list[int]) -> list[str]:
    """The first of the seeds again, with all that happened in it."""
    result = campaign.run(seeds[0], keep_trace=True)
    lines = [f"{time} {where} {what.rstrip()}" for time, where, what in result.run.trace]
    name = f"seed-{result.faults.seed}"
    page = simulation_html(campaign.setting.plan, result)
    contents = {f"{name}.html": page, f"{name}.trace.txt": "\n".join(lines) + "\n"}
    return [str(path) for path in write_files(folder, contents)]


def _tables(totals: CampaignTotals) -> list[Any]:
    faults = [
        [kind.replace("_", " "), f"{count:,}"] for kind, count in sorted(totals.struck.items())
    ]
    missing = [[why, f"{count:,}"] for why, count in sorted(totals.missing.items())]
    tables = []
    if faults:
        tables.append(Table(title="Faults", headers=["Fault", "Times"], rows=faults, numeric=(1,)))
    if missing:
        headers = ["Why tuples are missing", "Tuples"]
        tables.append(Table(title="Losses", headers=headers, rows=missing, numeric=(1,)))
    return [table(one) for one in tables]


def _verdict(totals: CampaignTotals, failures: list[SeedResult], written: list[str]) -> list[str]:
    lines = [
        f"{totals.seeds:,} seeds, {totals.simulated / SECOND:,.0f} s simulated, "
        f"{totals.tuples:,} tuples of outputs, {totals.missing.total():,} missing for a reason."
    ]
    lines += [
        f"{BROKEN} seed {result.faults.seed}: {violation}"
        for result in failures
        for violation in result.judgement.violations
    ]
    if not totals.failed:
        lines.append(f"{KEPT} Every property holds under every seed.")
    else:
        first = totals.failed[0]
        lines.append(
            f"{BROKEN} {len(totals.failed):,} seeds fail. The first again, with its timeline: "
            f"--seed {first} --seeds 1 --out DIR"
        )
    return [*lines, *(f"written: {path}" for path in written)]


def _data(totals: CampaignTotals, failures: list[SeedResult], written: list[str]) -> dict[str, Any]:
    return {
        "seeds": totals.seeds,
        "failed": totals.failed,
        "faults": dict(sorted(totals.struck.items())),
        "tuples": totals.tuples,
        "missing": dict(sorted(totals.missing.items())),
        "simulated_ns": totals.simulated,
        "hash": totals.hash,
        "failures": [
            {
                "seed": result.faults.seed,
                "hash": result.run.trace_hash,
                "faults": [str(fault).strip() for fault in result.faults.faults],
                "violations": [asdict(one) for one in result.judgement.violations],
            }
            for result in failures
        ],
        "written": written,
    }
