"""``headway schedule``: a task graph on unlike processors and links, by one or more algorithms."""

from __future__ import annotations

import json as json_format
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.terminal import (
    ExitCode,
    sentence,
    show,
    table,
    until,
    working,
    write,
    write_files,
)
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
    shortfall,
    study_plain,
    tables,
)
from headway.schedule.static import (
    ALGORITHMS,
    Algorithm,
    AlphaChoice,
    ExactAlpha,
    FixedAlpha,
    GridAlpha,
    Instance,
    Options,
    graph_of_plan,
    metrics_of,
    schedule_holes,
)
from headway.schedule.static.optimal import Effort, Optimal, OptimalResult
from headway.schedule.static.periodic import (
    ExitAnswer,
    answers_once,
    has_periods,
    schedule_periodic,
)
from headway.schedule.static.portfolio import Best, PortfolioResult
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

SECONDS, SECONDS_FOR_OPTIMAL = 10.0, 60.0
"""how long an algorithm may take where nothing is said"""


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
    ] = Best.name,
    alpha: Annotated[
        str,
        typer.Option(
            metavar="exact|every|grid|NUMBER",
            help="the best over α >= 0, every schedule over it, 0 to 20 by 0.01, or one α",
        ),
    ] = "exact",
    contention: Annotated[
        bool, typer.Option(help="whether a link carries one message at a time")
    ] = True,
    whole_link_times: Annotated[
        bool, typer.Option("--whole-link-times", help="round times on links down to whole units")
    ] = False,
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit",
            "--seconds",
            metavar="S",
            min=0.1,
            max=86400,
            help=f"of each algorithm [default: {SECONDS:g}; 'optimal': {SECONDS_FOR_OPTIMAL:g}]",
        ),
    ] = None,
    arrival_rate: Annotated[
        float,
        typer.Option(metavar="λ", min=1, max=1000, help="what 'hvlb-cc-ic' shows the precision at"),
    ] = 1.5,
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
    names = list(dict.fromkeys(algorithm.split(",")))
    for name in names:
        _check_name(name)
    _alpha(alpha, until(0))
    given = static_input(graph, network)
    options = Options(contention=contention, whole_link_times=whole_link_times)
    outcomes = []
    with given.placed(), working(shown=not json) as tell:
        for name in names:
            tell(name)
            chosen = _algorithm(name, time_limit, tell)
            way = _alpha(alpha, until(time_limit or SECONDS))
            outcomes.append(_outcome(given, chosen, options, way))
    study = ScheduleStudy(
        graph=given.graph,
        network=given.network,
        outcomes=outcomes,
        unit=given.unit,
        unit_name=given.unit_name,
        arrival_rate=Fraction(str(arrival_rate)),
    )
    written = write_files(out, _files(study)) if out is not None else []
    if json:
        write(_json(study))
    else:
        parts = [table(one) for one in tables(study)]
        show([*parts, sentence(_verdict(study)), *(f"wrote {path}" for path in written)])
    if not any(outcome.sound for outcome in outcomes):
        raise typer.Exit(int(ExitCode.NOT_PROMISED))


def _check_name(name: str) -> None:
    if name != Optimal.name and name not in ALGORITHMS:
        known = ", ".join([*ALGORITHMS, Optimal.name])
        raise InputError(f"unknown algorithm {name!r}", want=f"choose from {known}")


def _algorithm(name: str, seconds: float | None, tell: Callable[[str], None]) -> Algorithm:
    """The algorithm of a name, whose time runs from now."""
    if name == Optimal.name:
        return Optimal(Effort(seconds=seconds or SECONDS_FOR_OPTIMAL))
    if name == Best.name:
        return Best(until(seconds or SECONDS), lambda member: tell(f"{name}: {member}"))
    return ALGORITHMS[name]


def _alpha(way: str, going_on: Callable[[], bool]) -> AlphaChoice:
    if way in ("exact", "every"):
        return ExactAlpha(every=way == "every", going_on=going_on)
    if way == "grid":
        return GridAlpha()
    try:
        number = Fraction(way)
    except (ValueError, ZeroDivisionError):
        number = Fraction(-1)
    if number < 0:
        want = "say exact, every, grid, or a number of 0 or more, such as 1.5 or 3/2"
        raise InputError("no choice of α", at="--alpha", got=repr(way), want=want)
    return FixedAlpha(number)


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
    metrics, holes = None, {}
    if result.schedule is not None:
        instance = Instance(graph, given.network, options)
        metrics = metrics_of(instance, result.schedule)
        if algorithm.makes_holes:
            holes = schedule_holes(instance, result.schedule)
    return AlgorithmOutcome(
        result=result,
        metrics=metrics,
        uses_alpha=algorithm.uses_alpha,
        exits=exits,
        optimum=result.optimum if isinstance(result, OptimalResult) else None,
        member=result.member if isinstance(result, PortfolioResult) else "",
        holes=_in_imprecise(holes, graph),
        hyperperiod=hyperperiod,
        repeats=repeats,
    )


def _in_imprecise(holes: Mapping[str, Fraction], graph: TaskGraph) -> Mapping[str, Fraction]:
    """The holes behind imprecise tasks; behind all, if none is marked."""
    wanted = {task.name for task in graph.tasks if task.imprecise}
    return {task: hole for task, hole in holes.items() if task in wanted or not wanted}


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
    return f"{sign(bool(sound))} {words}" + ("" if sound else f", but {shortfall(best)}")
