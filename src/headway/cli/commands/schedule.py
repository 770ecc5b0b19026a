"""``headway schedule``: a task graph on unlike processors and links, by one or more algorithms."""

from __future__ import annotations

import json as json_format
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.exit_codes import ExitCode
from headway.cli.outputs import write_files
from headway.cli.screen import sentence, show, table, write
from headway.cli.static_inputs import StaticInput, static_input
from headway.errors import InputError, Problem
from headway.report.gantt import gantt_svg, time_text
from headway.report.gantt_page import gantt_html
from headway.report.schedule_json import study_plain
from headway.report.schedule_study import Outcome, Study, remark
from headway.report.schedule_tables import tables
from headway.report.words import sign
from headway.schedule.static import (
    ALGORITHMS,
    Algorithm,
    AlphaChoice,
    ExactAlpha,
    GridAlpha,
    Instance,
    Options,
    metrics_of,
)
from headway.schedule.static.optimal import Effort, Optimal, OptimalResult
from headway.schedule.static.periodic import ExitAnswer, answers_once, schedule_periodic
from headway.schedule.static.periods import has_periods

DEFAULT = "hvlb-cc-c"


class AlphaWay(StrEnum):
    EXACT = "exact"
    GRID = "grid"


def schedule(
    graph: Annotated[
        Path,
        typer.Argument(
            metavar="GRAPH", help="a task graph (YAML, JSON, .tgff, .stg, WfCommons) or a plan.json"
        ),
    ],
    network: Annotated[
        Path | None,
        typer.Option(metavar="NET.yaml", help="the network; a plan has its own"),
    ] = None,
    algorithm: Annotated[
        str, typer.Option(metavar="A,B,C", help=f"any of {', '.join(ALGORITHMS)}, optimal")
    ] = DEFAULT,
    alpha: Annotated[
        AlphaWay, typer.Option(help="every schedule over α >= 0, or 0 to 20 in steps of 0.01")
    ] = AlphaWay.EXACT,
    contention: Annotated[
        bool, typer.Option(help="whether a link carries one message at a time")
    ] = True,
    whole_link_times: Annotated[
        bool, typer.Option("--whole-link-times", help="round times on links down to whole units")
    ] = False,
    seconds: Annotated[
        float, typer.Option(metavar="S", min=0.1, max=86400, help="time limit of 'optimal'")
    ] = 60.0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="write gantt.html, a .svg each, and schedule.json"),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="print the schedules as JSON instead of tables")
    ] = False,
) -> None:
    """Schedule a task graph on a network of unlike processors and links, before anything runs.

    \b
    Example:
      headway schedule examples/static_distribution/graph.yaml \\
        --network examples/static_distribution/network.yaml --algorithm hsv-cc,hvlb-cc-b,optimal

    Exit code: 0 a schedule was found that meets every deadline, 1 by none of the algorithms
    (a queue that cannot be worked off is a failure), 2 bad input.
    """
    chosen = [_algorithm(name, seconds) for name in dict.fromkeys(algorithm.split(","))]
    given = static_input(graph, network)
    options = Options(contention=contention, whole_link_times=whole_link_times)
    way: AlphaChoice = ExactAlpha() if alpha is AlphaWay.EXACT else GridAlpha()
    with given.placed():
        outcomes = [_outcome(given, one, options, way) for one in chosen]
    study = Study(
        graph=given.graph,
        network=given.network,
        outcomes=outcomes,
        unit=given.unit,
        unit_name=given.unit_name,
    )
    written = write_files(out, _files(study)) if out is not None else []
    if json:
        write(_json(study))
    else:
        parts = [table(one) for one in tables(study)]
        show([*parts, sentence(_verdict(study)), *(f"wrote {path}" for path in written)])
    if not any(outcome.sound for outcome in outcomes):
        raise typer.Exit(int(ExitCode.NOT_PROMISED))


def _algorithm(name: str, seconds: float) -> Algorithm:
    if name == Optimal.name:
        return Optimal(Effort(seconds=seconds))
    if name not in ALGORITHMS:
        known = ", ".join([*ALGORITHMS, Optimal.name])
        raise InputError(Problem(f"unknown algorithm {name!r}", want=f"choose from {known}"))
    return ALGORITHMS[name]


def _outcome(
    given: StaticInput, algorithm: Algorithm, options: Options, alpha: AlphaChoice
) -> Outcome:
    """One algorithm's schedule; with several periods that of a hyperperiod."""
    graph, hyperperiod, repeats = given.graph, None, True
    exits: tuple[ExitAnswer, ...] = ()
    if has_periods(graph, given.memories):
        periodic = schedule_periodic(
            graph,
            lambda unrolled: algorithm.run(Instance(unrolled, given.network, options), alpha),
            given.memories,
        )
        graph, hyperperiod = periodic.unrolled.graph, periodic.unrolled.hyperperiod
        result, exits = periodic.result, periodic.exits
        repeats = periodic.repeats or result.schedule is None
    else:
        result = algorithm.run(Instance(graph, given.network, options), alpha)
        exits = answers_once(graph, result.schedule) if result.schedule else ()
    metrics = None
    if result.schedule is not None:
        metrics = metrics_of(Instance(graph, given.network, options), result.schedule)
    return Outcome(
        result=result,
        metrics=metrics,
        uses_alpha=algorithm.uses_alpha,
        exits=exits,
        optimum=result.optimum if isinstance(result, OptimalResult) else None,
        hyperperiod=hyperperiod,
        repeats=repeats,
    )


def _files(study: Study) -> dict[str, str]:
    charts = study.charts()
    heading = f"{study.graph.name} on {study.network.name}"
    return {
        "schedule.json": _json(study),
        "gantt.html": gantt_html(heading, charts, tables(study)),
        **{f"gantt-{chart.title}.svg": gantt_svg(chart) for chart in charts},
    }


def _json(study: Study) -> str:
    return json_format.dumps(study_plain(study), indent=1, ensure_ascii=False) + "\n"


def _verdict(study: Study) -> str:
    """The best schedule in one line."""
    found = [outcome for outcome in study.outcomes if outcome.metrics is not None]
    if not found:
        return f"{sign(False)} no schedule"
    sound = [outcome for outcome in found if outcome.sound]
    best = min(sound or found, key=lambda outcome: outcome.result.makespan or 0)
    length = time_text((best.result.makespan or 0) / study.unit)
    words = f"{best.result.algorithm}: makespan {length} {study.unit_name}".rstrip()
    return f"{sign(bool(sound))} {words}" + ("" if sound else f", but {remark(best)}")
