"""``headway schedule``: a task graph on unlike processors and links, by one or more algorithms."""

from __future__ import annotations

import json as json_format
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.terminal import ExitCode, sentence, show, table, write, write_files
from headway.compiler.read_plan import read_plan
from headway.errors import FileError, GraphError, InputError, Place, Problem
from headway.files.load_graphs import LoadedGraph, LoadedNetwork, load_graph, load_network
from headway.model.plan import Plan
from headway.model.quantities import MILLISECOND
from headway.model.static_network import ProcessorNetwork
from headway.model.taskgraph import Memory, TaskGraph
from headway.report.gantt import gantt_html, gantt_svg, time_text
from headway.report.plan.plan_tables import sign
from headway.report.tables.schedule_tables import (
    AlgorithmOutcome,
    ScheduleStudy,
    remark,
    study_plain,
    tables,
)
from headway.schedule.static import (
    ALGORITHMS,
    Algorithm,
    AlphaChoice,
    ExactAlpha,
    GridAlpha,
    Instance,
    Options,
    graph_of_plan,
    metrics_of,
)
from headway.schedule.static.optimal import Effort, Optimal, OptimalResult
from headway.schedule.static.periodic import (
    ExitAnswer,
    answers_once,
    has_periods,
    schedule_periodic,
)
from headway.yaml_tree import read_text

# ---------------------------------------------------------------- what is given


@dataclass(frozen=True, kw_only=True)
class StaticInput:
    """``unit`` of the graph's time is one ``unit_name``."""

    graph: TaskGraph
    network: ProcessorNetwork
    memories: Mapping[str, Memory] = field(default_factory=dict)
    unit: Fraction = Fraction(1)
    unit_name: str = ""
    loaded_graph: LoadedGraph | None = None
    loaded_network: LoadedNetwork | None = None

    @contextmanager
    def placed(self) -> Iterator[None]:
        """Problems of graph and network raised inside point at their files."""
        try:
            yield
        except GraphError as error:
            raise type(error)(self._place(problem) for problem in error.problems) from None

    def _place(self, problem: Problem) -> Problem:
        of_graph = problem.at.partition(".")[0] in ("tasks", "edges", "period")
        loaded = self.loaded_graph if of_graph else self.loaded_network
        return loaded.attach([problem])[0] if loaded is not None else problem


def static_input(path: Path, network: Path | None) -> StaticInput:
    """Reads the files that are named on the command line."""
    plan = _plan_in(path)
    if plan is not None:
        if network is not None:
            raise _wrong(path, "a plan has its vehicle's network", "leave out --network")
        graph, vehicle_network = graph_of_plan(plan)
        return StaticInput(
            graph=_with_deadlines(graph, plan),
            network=vehicle_network,
            unit=Fraction(MILLISECOND),
            unit_name="ms",
        )
    loaded = load_graph(path)
    if network is None:
        raise InputError(
            "a task graph needs a network", want="name its file with --network NET.yaml"
        )
    loaded_network = load_network(network)
    return StaticInput(
        graph=loaded.graph,
        network=loaded_network.network,
        memories=loaded.memories,
        loaded_graph=loaded,
        loaded_network=loaded_network,
    )


def _plan_in(path: Path) -> Plan | None:
    """The plan, if the file holds one: JSON with a query and a vehicle."""
    if path.suffix.lower() != ".json":
        return None
    text = read_text(path)
    try:
        content = json_format.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or not {"query", "vehicle"} <= content.keys():
        return None
    return read_plan(text, str(path))


def _with_deadlines(graph: TaskGraph, plan: Plan) -> TaskGraph:
    """Each operator with the shortest deadline of the outputs it feeds directly."""
    deadlines: dict[str, int] = {}
    for output in plan.query.outputs:
        if output.deadline is not None:
            least = min(output.deadline, deadlines.get(output.stream, output.deadline))
            deadlines[output.stream] = least
    tasks = tuple(replace(task, deadline=deadlines.get(task.name)) for task in graph.tasks)
    return replace(graph, tasks=tasks)


def _wrong(path: Path, what: str, want: str) -> FileError:
    return FileError(what, place=Place(str(path), 1, 1), want=want)


# ---------------------------------------------------------------- the command

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
    study = ScheduleStudy(
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
        raise InputError(f"unknown algorithm {name!r}", want=f"choose from {known}")
    return ALGORITHMS[name]


def _outcome(
    given: StaticInput, algorithm: Algorithm, options: Options, alpha: AlphaChoice
) -> AlgorithmOutcome:
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
    return AlgorithmOutcome(
        result=result,
        metrics=metrics,
        uses_alpha=algorithm.uses_alpha,
        exits=exits,
        optimum=result.optimum if isinstance(result, OptimalResult) else None,
        hyperperiod=hyperperiod,
        repeats=repeats,
    )


def _files(study: ScheduleStudy) -> dict[str, str]:
    charts = study.charts()
    heading = f"{study.graph.name} on {study.network.name}"
    return {
        "schedule.json": _json(study),
        "gantt.html": gantt_html(heading, charts, tables(study)),
        **{f"gantt-{chart.title}.svg": gantt_svg(chart) for chart in charts},
    }


def _json(study: ScheduleStudy) -> str:
    return json_format.dumps(study_plain(study), indent=1, ensure_ascii=False) + "\n"


def _verdict(study: ScheduleStudy) -> str:
    """The best schedule in one line."""
    found = [outcome for outcome in study.outcomes if outcome.metrics is not None]
    if not found:
        return f"{sign(False)} no schedule"
    sound = [outcome for outcome in found if outcome.sound]
    best = min(sound or found, key=lambda outcome: outcome.result.makespan or 0)
    length = time_text((best.result.makespan or 0) / study.unit)
    words = f"{best.result.algorithm}: makespan {length} {study.unit_name}".rstrip()
    return f"{sign(bool(sound))} {words}" + ("" if sound else f", but {remark(best)}")
