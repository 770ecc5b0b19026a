"""``headway run``: a query over a recording or a stream, on Spark or in the vehicle engine."""

from __future__ import annotations

import signal
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType

from headway.cli import terminal
from headway.cli.named_plan import runnable_plan
from headway.cli.run_on_spark import SparkMode, SparkOptions, run_spark
from headway.engine.clock import KeepingUp
from headway.engine.engine import Engine, replay
from headway.engine.live_run import LiveRun
from headway.engine.operator_counts import (
    OperatorCount,
    added_counts,
    dropped_at,
    operator_counts,
    why_silent,
)
from headway.engine.output_sinks import OutputSink, sink_named
from headway.engine.result_tables import RunWriter
from headway.engine.results import Totals, VehicleRun, summary_data
from headway.engine.run_folder import RunFolder
from headway.engine.waiting_room import WhenFull
from headway.engine.wall_engine import WallEngine
from headway.errors import InputError, Problem
from headway.front_door.interruptions import Interruption, caught_once, interruption
from headway.front_door.runnable_plan import RunnablePlan
from headway.front_door.vehicle_options import OptionWords, VehicleOptions
from headway.model.graph import graph_of
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, milliseconds
from headway.model.query import Source
from headway.report.perfetto import PerfettoTrace
from headway.report.tables import run_tables
from headway.sources.recordings import Contents, scan_recording
from headway.spark.session.spark_session import parse_options
from headway.spark.storage.locations import Location

if TYPE_CHECKING:
    from headway.native.native_engine import NativeEngine

Advance = Callable[[], None]

# ---------------------------------------------------------------- the engine and its options


class EngineName(StrEnum):
    SPARK = "spark"
    VEHICLE = "vehicle"
    NATIVE = "native"


class ClockName(StrEnum):
    VIRTUAL = "virtual"
    WALL = "wall"


class Cores(StrEnum):
    GLOBAL = "global"
    PARTITIONED = "partitioned"


ON_THE_COMMAND_LINE = OptionWords(
    speed="--speed",
    wall="--clock wall",
    zero_cost="--zero-cost",
    batching="--batching",
    partitioned="--cores partitioned",
    virtual_again="leave out --clock wall",
    native="--engine native",
    most_waiting="--most-waiting",
    when_full="--when-full",
    cost_seed="--cost-seed",
)


@dataclass(frozen=True, kw_only=True)
class VehicleReplay:
    """A run in the engine of the car: its options, where its outputs go, how it kept up."""

    options: VehicleOptions
    sink: OutputSink
    engines: list[WallEngine] = field(default_factory=list)
    """those made in wall-clock time"""
    caught: list[signal.Signals] = field(default_factory=list)
    """the signal that ended the run"""
    live: list[LiveRun] = field(default_factory=list)
    """who watches it, in wall-clock time"""

    def make(self, prepared: RunnablePlan) -> Engine | WallEngine | NativeEngine:
        """A fresh engine."""
        engine = self.options.engine(prepared)
        if isinstance(engine, WallEngine):
            self.engines.append(engine)
            for live in self.live:
                engine.watch = live
                engine.keeping_up.on_behind = live.behind
            if self.caught:  # it came between two vehicles
                engine.interrupt()
        return engine

    def scan(self, recording: Path, sources: tuple[Source, ...]) -> Contents:
        """What the recording holds; compiled code takes whole files where it can."""
        if self.options.native:
            from headway.native.recorded_tables import all_parquet, scan_tables

            if all_parquet(recording, sources):
                return scan_tables(recording, sources)
        return scan_recording(recording, sources)

    def runs(
        self, prepared: RunnablePlan, recording: Path, contents: Contents, advance: Advance
    ) -> Iterator[VehicleRun]:
        """Of every vehicle, a fresh engine each."""
        plan = prepared.plan
        if self.options.native:
            from headway.native.native_engine import NativeEngine
            from headway.native.recorded_tables import all_parquet, replay_tables

            def make_native() -> NativeEngine:
                engine = self.make(prepared)
                assert isinstance(engine, NativeEngine)
                return engine

            if all_parquet(recording, plan.query.sources):
                return replay_tables(recording, plan.query.sources, contents, make_native)
        return replay(plan, recording, contents, lambda: self.make(prepared), advance)

    @property
    def watches(self) -> list[KeepingUp]:
        return [engine.keeping_up for engine in self.engines]

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """In wall-clock time the first Ctrl-C or SIGTERM is ``caught`` and ends the run, whose
        results are then written. After that signals do what they did before."""
        if self.options.virtual:
            yield
            return

        def take(number: signal.Signals) -> None:
            self.caught.append(number)
            if self.engines:
                self.engines[-1].interrupt()

        with caught_once((signal.SIGINT, signal.SIGTERM), take):
            yield

    @contextmanager
    def watched(self, plan: Plan, folder: Path) -> Iterator[None]:
        """In wall-clock time `headway watch` can be asked how the run stands."""
        if self.options.virtual:
            yield
            return
        with LiveRun(plan, folder) as live:
            self.live.append(live)
            yield

    def data(self, prepared: RunnablePlan) -> dict[str, Any]:
        """For the summary; whether a run in wall-clock time kept up is known after it."""
        options, wall = self.options, not self.options.virtual
        costs = "declared" if prepared.charged else "no"
        data: dict[str, Any] = {
            "engine": (EngineName.NATIVE if options.native else EngineName.VEHICLE).value,
            "policy": options.policy,
            "clock": options.clock,
            "costs": "real" if wall else costs,
            "cores": (Cores.PARTITIONED if options.partitioned else Cores.GLOBAL).value,
            "batching": options.batching,
        }
        if not_covered := options.not_covered(prepared.plan):
            data["not_covered"] = not_covered
        if options.cost_seed is not None:
            data["cost_seed"] = options.cost_seed
        if wall:
            data["speed"] = options.speed or 1.0
            data["when_full"] = options.when_full or WhenFull.SHED.value
            data["late_arrivals"] = sum(watch.late_arrivals for watch in self.watches)
            data["worst_lag_ns"] = max((watch.worst_lag for watch in self.watches), default=0)
        return data

    def complaint(self) -> str:
        """What must be said loudly of a run that could not keep up."""
        late = sum(watch.late_arrivals for watch in self.watches)
        if all(watch.kept_up for watch in self.watches):
            return ""
        worst = max(watch.worst_lag for watch in self.watches)
        return (
            f"the engine could not keep up: {late:,} tuples were taken in late, "
            f"by up to {milliseconds(worst)} ms"
        )


# ---------------------------------------------------------------- options of one engine only

VEHICLE_ONLY = frozenset(
    {
        "clock",
        "zero_cost",
        "cost_seed",
        "cores",
        "batching",
        "speed",
        "most_waiting",
        "when_full",
        "trace",
    }
)
SPARK_ONLY = frozenset(
    {
        "mode",
        "master",
        "conf",
        "checkpoint",
        "available_now",
        "files_per_batch",
        "max_rate",
        "forget",
        "most_held",
        "partitions",
        "late_ok",
        "adopt",
        "upload_gap",
        "metrics",
        "counts",
        "topic",
        "input_option",
        "publish",
        "ui",
    }
)


def refuse_addresses(recording: str, output: str) -> None:
    """InputError for an input that only Spark can read, and an output that only Spark can write."""
    given = {
        "--input": (recording, "the vehicle engine reads recordings"),
        "--output": (output, "the vehicle engine writes local files"),
    }
    for option, (address, what) in given.items():
        if address.startswith("kafka://") or not Location.of(address).is_local:
            want = "name a folder, or choose --engine spark"
            raise InputError(what, at=option, got=address, want=want)


def refuse_strangers(context: typer.Context, names: Collection[str], belongs: str) -> None:
    """InputError for each option that was typed and belongs to the other engine."""
    typed = [name for name in context.params if name in names and _typed(context, name)]
    if typed:
        raise InputError(
            Problem(
                f"--{name.replace('_', '-')} belongs to {belongs}",
                want="leave it out, or choose that engine",
            )
            for name in typed
        )


def _typed(context: typer.Context, name: str) -> bool:
    """By its name: which click this is, typer's or another, depends on the version."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


# ---------------------------------------------------------------- --engine vehicle

PERFETTO = "trace.perfetto.json"


def run_vehicle(
    run: VehicleReplay,
    query: Path,
    vehicle: Path | None,
    recording: Path,
    output: Path,
    *,
    force: bool,
    json: bool,
    python: bool = True,
) -> None:
    """Runs, writes and shows; exit code 1 where a hard output missed a deadline, 130 or 143 where a
    signal ended the run: then what is complete is written."""
    prepared = runnable_plan(query, vehicle, zero_cost=run.options.zero_cost, python=python)
    with prepared.placing():
        run.make(prepared)  # what cannot be opened is found before anything is read
    contents = run.scan(recording, prepared.plan.query.sources)
    totals = Totals()
    counts: list[OperatorCount] = []
    with RunFolder(output, force=force) as folder:
        ended = _run_all(prepared, recording, contents, run, totals, counts, folder, shown=not json)
        data = _summary(prepared, contents, run, totals)
        if not run.options.virtual:
            data["dropped_at"] = dropped_at(counts)
        if ended is not None:
            data["interrupted"] = ended.counts
        text = folder.write_summary(data)
    if prepared.note and run.options.virtual:
        terminal.write_problem(f"note: {prepared.note}")
    if ended is not None:
        terminal.write_problem(f"interrupted: {ended}; the rest is written")
    if complaint := run.complaint():
        terminal.write_problem(f"warning: {complaint}")
    if json:
        terminal.write(text)
    else:
        terminal.show(_explained(prepared, data, totals, counts, output))
    if ended is not None:
        raise typer.Exit(128 + ended.signal)
    if totals.hard_misses or totals.summary.refused:
        raise typer.Exit(int(terminal.ExitCode.NOT_PROMISED))


def _run_all(
    prepared: RunnablePlan,
    recording: Path,
    contents: Contents,
    run: VehicleReplay,
    totals: Totals,
    counts: list[OperatorCount],
    folder: RunFolder,
    *,
    shown: bool,
) -> Interruption | None:
    """Runs every vehicle and writes what it gives; tells of a signal that ended it."""
    plan, traced = prepared.plan, run.options.trace
    writer = RunWriter(folder, plan, named=contents.named, traced=traced, sink=run.sink)
    perfetto = PerfettoTrace(plan, contents.begin * MICROSECOND) if traced else None
    ended: Interruption | None = None
    try:
        with (
            run.interruptible(),
            run.watched(plan, folder.folder),
            terminal.progress(contents.count, shown=shown) as advance,
        ):
            for one in run.runs(prepared, recording, contents, advance):
                totals.add(one)
                counts[:] = added_counts([counts, operator_counts(one.result)])
                writer.add(one)
                if perfetto is not None:
                    perfetto.add(one)
                if run.caught:
                    left = contents.count - totals.summary.arrived
                    ended = interruption(run.caught[0], one.result.lost, left)
                    break
    finally:
        writer.close()
    if perfetto is not None:
        folder.write_text(PERFETTO, perfetto.to_json())
    return ended


def _summary(
    prepared: RunnablePlan,
    contents: Contents,
    run: VehicleReplay,
    totals: Totals,
) -> dict[str, Any]:
    """What summary.json holds. No time of day: the same run gives the same bytes."""
    data: dict[str, Any] = {
        "query": prepared.plan.query.name,
        "vehicle": prepared.plan.vehicle.name,
        **run.data(prepared),
        "tuples": contents.tuples,
        **summary_data(totals.summary),
    }
    if contents.named:
        data["by_vehicle"] = {str(name): summary_data(one) for name, one in totals.by_vehicle}
    return data


def _explained(
    prepared: RunnablePlan,
    data: dict[str, Any],
    totals: Totals,
    counts: list[OperatorCount],
    output: Path,
) -> Iterator[RenderableType]:
    name, on = prepared.plan.query.name, prepared.plan.vehicle.name
    yield terminal.heading(
        f"{name} on {on}, {data['policy']}, {data['clock']} time, {data['costs']} costs"
    )
    summary = totals.summary
    yield terminal.table(run_tables.outputs(summary.outputs))
    yield terminal.table(run_tables.counts(totals.by_vehicle, summary))
    if counts:
        yield terminal.table(run_tables.operators(counts))
    if summary.chains:
        yield terminal.table(run_tables.chains(summary, prepared.plan))
    yield terminal.sentence(run_tables.verdict(summary))
    if "not_covered" in data:
        yield terminal.sentence(data["not_covered"])
    query = prepared.plan.query
    graph, streams = graph_of(query), {one.name: one.stream for one in query.outputs}
    silent = [one.output for one in summary.outputs if not one.tuples] if counts else []
    reasons = {name: why_silent(graph, counts, streams[name]) for name in silent}
    for sentence in run_tables.silent_outputs(summary, reasons):
        yield terminal.sentence(sentence)
    yield f"wrote {output}"


# ---------------------------------------------------------------- the command


def run(
    context: typer.Context,
    query: terminal.QueryArgument,
    input: Annotated[
        str,
        typer.Option(
            metavar="DIR|URI|kafka://HOST:PORT",
            help="the recording: a Parquet, CSV, JSONL or CAN file per source; Spark: also at a "
            "URI that Hadoop knows, or Kafka",
        ),
    ],
    output: terminal.OutputOption,
    engine: Annotated[
        EngineName,
        typer.Option(help="what runs it: Spark, the engine of the car, or that compiled to C++"),
    ] = EngineName.SPARK,
    vehicle: terminal.VehicleOption = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Spark: edf (default) or fifo; vehicle: see `headway policies` (default s-edf)",
        ),
    ] = None,
    force: terminal.ForceOption = False,
    json: terminal.JsonOption = False,
    no_python: terminal.NoPythonOption = False,
    mode: Annotated[
        SparkMode,
        typer.Option(help="Spark: all of a recording at once, or live"),
    ] = SparkMode.BATCH,
    master: terminal.MasterOption = terminal.LOCAL,
    conf: terminal.ConfOption = None,
    topic: Annotated[
        list[str] | None,
        typer.Option(metavar="SOURCE=TOPIC", help="Spark, Kafka: not the topic of its name"),
    ] = None,
    input_option: Annotated[
        list[str] | None,
        typer.Option(metavar="K=V", help="Spark, Kafka: an option of Spark's kafka source"),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(metavar="DIR|URI", help="Spark, stream: where a restart goes on from"),
    ] = None,
    available_now: Annotated[
        bool,
        typer.Option("--available-now", help="Spark, stream: end when all that is there is done"),
    ] = False,
    files_per_batch: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Spark, stream: files of a source in a micro-batch"),
    ] = None,
    max_rate: Annotated[
        float | None,
        typer.Option(metavar="X", help="Spark, stream: tuples a second that are taken in at most"),
    ] = None,
    forget: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Spark, stream: a vehicle of which nothing comes for so long (24h) loses its "
            "state: its windows, joins and tracks begin anew",
        ),
    ] = None,
    most_held: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Spark, stream: tuples of a vehicle that may wait for its other sources; more are "
            "shed and listed",
        ),
    ] = None,
    partitions: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Spark, stream: parts that the vehicles are dealt out to (default: the slots)",
        ),
    ] = None,
    late_ok: Annotated[
        bool,
        typer.Option("--late-ok", help="Spark, stream: deadlines too short for it may pass"),
    ] = False,
    adopt: Annotated[
        bool,
        typer.Option(
            "--adopt", help="Spark, stream: go on from here with a query that has changed"
        ),
    ] = False,
    upload_gap: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Spark, stream: what arrived so long before its vehicle's newest is an upload of "
            "its own, not late",
        ),
    ] = None,
    metrics: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Spark, stream: a line of JSON after each micro-batch"),
    ] = None,
    counts: Annotated[
        bool,
        typer.Option(
            "--counts",
            help="Spark, batch: also count tuples in and out of each operator, which computes "
            "the query once more",
        ),
    ] = False,
    publish: terminal.PublishOption = None,
    ui: terminal.UiOption = False,
    format: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="of the outputs: parquet, csv; Spark: console, or any Spark format; vehicle: "
            "jsonl, or that of an installed package",
        ),
    ] = "parquet",
    option: Annotated[
        list[str] | None, typer.Option(metavar="K=V", help="an option of that format")
    ] = None,
    clock: Annotated[
        ClockName, typer.Option(help="vehicle: virtual is exact and fast; wall is in real time")
    ] = ClockName.VIRTUAL,
    zero_cost: Annotated[
        bool,
        typer.Option("--zero-cost", help="vehicle: operators take no time, as the query means"),
    ] = False,
    cost_seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="vehicle: execution times are drawn between the declared best and worst (default: "
            "always the worst)",
        ),
    ] = None,
    cores: Annotated[
        Cores, typer.Option(help="vehicle: how the cores of a node share its jobs")
    ] = Cores.GLOBAL,
    batching: Annotated[
        bool,
        typer.Option(
            "--batching", help="vehicle: waiting tuples run as one while every promise holds"
        ),
    ] = False,
    speed: Annotated[
        float | None,
        typer.Option(metavar="X", help="vehicle, --clock wall: so many times as fast as recorded"),
    ] = None,
    most_waiting: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="vehicle, --clock wall: jobs that may wait until some are dropped "
            "(default: from rates and deadlines)",
        ),
    ] = None,
    when_full: Annotated[
        WhenFull | None,
        typer.Option(
            help="vehicle, --clock wall: which are dropped then: the least worth (default), the "
            "oldest, or the new one",
        ),
    ] = None,
    trace: Annotated[
        bool, typer.Option("--trace", help=f"vehicle: also write trace.parquet and {PERFETTO}")
    ] = False,
) -> None:
    """Run a query over a recording and say how its outputs stood to their deadlines.

    \b
    Example:
      headway run examples/hello/query.yaml --input examples/hello/recording --output build/hello
      headway run examples/hello/query.yaml --engine vehicle --vehicle examples/hello/vehicle.yaml
          --input examples/hello/recording --output build/hello_in_the_car

    Runs on Spark in this process unless told otherwise: a batch over all vehicles of the
    recording, or with --mode stream live, micro-batch by micro-batch, until Ctrl-C. The vehicle
    engine runs vehicle by vehicle, under a scheduling policy and with costs; --engine native
    compiles the plan to C++ first and takes the same options. All compute the same tuples. Writes
    each output, Parquet for tuples that were late, shed, rejected or failed, and summary.json.

    In wall-clock time Ctrl-C or SIGTERM ends the run: what is complete is written, and what was
    lost is told.

    Exit code: 0 fine, 1 a hard output missed a deadline, 2 bad input, 130 Ctrl-C, 143 SIGTERM.
    """
    if engine is not EngineName.SPARK:
        refuse_strangers(context, SPARK_ONLY, "--engine spark")
        refuse_addresses(input, output)
        options = VehicleOptions(
            policy=policy or "s-edf",
            clock=clock.value,
            partitioned=cores is Cores.PARTITIONED,
            speed=speed,
            most_waiting=most_waiting,
            when_full=None if when_full is None else when_full.value,
            batching=batching,
            cost_seed=cost_seed,
            zero_cost=zero_cost,
            trace=trace,
            native=engine is EngineName.NATIVE,
            words=ON_THE_COMMAND_LINE,
        )
        sink = sink_named(format, parse_options(option or [], "--option"))
        run_vehicle(
            VehicleReplay(options=options, sink=sink),
            query,
            vehicle,
            Location.of(input).path,
            Location.of(output).path,
            force=force,
            json=json,
            python=not no_python,
        )
        return
    refuse_strangers(context, VEHICLE_ONLY, "--engine vehicle")
    on_spark = SparkOptions(
        mode=mode,
        policy=policy or "edf",
        master=master,
        conf=conf or [],
        checkpoint=checkpoint,
        available_now=available_now,
        files_per_batch=files_per_batch,
        max_rate=max_rate,
        forget=forget,
        most_held=most_held,
        partitions=partitions,
        late_ok=late_ok,
        adopt=adopt,
        upload_gap=upload_gap,
        metrics=metrics,
        counts=counts,
        ui=ui,
        format=format,
        options=option or [],
        topics=topic or [],
        input_options=input_option or [],
        publish=publish,
        json=json,
    )
    place = Location.of(output)
    run_spark(on_spark, query, vehicle, input, place, force=force, python=not no_python)
