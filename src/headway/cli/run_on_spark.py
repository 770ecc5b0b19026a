"""``headway run --engine spark``: what the options make of Spark, and what is shown."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from headway.cli.named_plan import runnable_plan
from headway.cli.terminal import (
    ExitCode,
    heading,
    sentence,
    show,
    table,
    write,
    write_problem,
)
from headway.engine.run_folder import SUMMARY
from headway.errors import InputError
from headway.front_door.runnable_plan import RunnablePlan
from headway.model.plan import Plan
from headway.model.quantities import duration_option
from headway.report.plan.plan_tables import NONE, Table
from headway.report.tables import run_tables
from headway.spark.session import spark_session
from headway.spark.session.spark_submit import ship
from headway.spark.spark_results import SparkRun
from headway.spark.storage.file_stores import PUBLISH, Publishing, file_store, remove_parts
from headway.spark.storage.locations import Location
from headway.spark.storage.output_folder import OutputFolder, write_summary

if TYPE_CHECKING:
    from headway.spark.batches.batch_sinks import OnRows, Sink
    from headway.spark.sources.recorded_files import Inputs
    from headway.spark.streams.stream_run import StreamRun


# ---------------------------------------------------------------- progress, live on standard error

EVERY_S = 0.5
OnOutput = Callable[[str], None]


def say_starting(*, shown: bool) -> None:
    """Spark takes seconds to start; what comes next on the terminal wipes this out."""
    if shown and sys.stderr.isatty():
        sys.stderr.write("starting Spark …\r")
        sys.stderr.flush()


@contextmanager
def batch_progress(spark: Any, *, shown: bool) -> Iterator[tuple[OnOutput, OnRows]]:
    """Gives what a batch calls before each output, and with rows for the terminal."""
    current = ""

    def on_output(name: str) -> None:
        nonlocal current
        current = name

    def line() -> Text:
        tracker = spark.sparkContext.statusTracker()
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        done = sum(stage.numCompletedTasks for stage in stages if stage)
        total = sum(stage.numTasks for stage in stages if stage)
        return Text(f"{current or 'reading'}: {done} of {total} tasks")

    with _live(line, shown=shown):
        yield on_output, show_rows


def show_rows(name: str, rows: list[dict[str, object]]) -> None:
    headers = list(rows[0]) if rows else ["no rows"]
    cells = [[NONE if value is None else str(value) for value in row.values()] for row in rows]
    show([table(Table(title=name, headers=headers, rows=cells, numeric=()))])


@contextmanager
def stream_progress(stream: StreamRun, *, shown: bool) -> Iterator[None]:
    """Rows a second, batch time, lag, and misses of each output."""
    began = time.monotonic()

    def line() -> Any:
        elapsed = time.monotonic() - began
        return table(run_tables.spark_progress(stream.progress(), elapsed))

    with _live(line, shown=shown):
        yield


@contextmanager
def _live(line: Callable[[], Any], *, shown: bool) -> Iterator[None]:
    if not shown or not sys.stderr.isatty():
        yield
        return
    over = threading.Event()
    with Live(Text(""), console=Console(stderr=True), transient=True, auto_refresh=False) as live:

        def follow() -> None:
            while not over.wait(EVERY_S):
                with suppress(Exception):  # Spark may be going just now; the run says why
                    live.update(line(), refresh=True)

        watcher = threading.Thread(target=follow, name="progress", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()


# ---------------------------------------------------------------- options, and what is shown

POLICIES = ("edf", "fifo")
CONSOLE = "console"


class SparkMode(StrEnum):
    BATCH = "batch"
    STREAM = "stream"


@dataclass(frozen=True, kw_only=True)
class SparkOptions:
    """Checked when made: InputError for what does not go together."""

    mode: SparkMode
    policy: str
    master: str
    conf: list[str]
    checkpoint: str | None
    available_now: bool
    files_per_batch: int | None
    max_rate: float | None
    forget: str | None
    most_held: int | None
    partitions: int | None
    late_ok: bool
    adopt: bool
    upload_gap: str | None
    metrics: Path | None
    counts: bool
    ui: bool
    format: str
    options: list[str]
    topics: list[str]
    input_options: list[str]
    publish: Publishing | None
    json: bool

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            got, known = self.policy, " and ".join(POLICIES)
            raise InputError(f"there is no policy {got!r} on Spark", want=f"there are {known}")
        of_stream = {
            "--checkpoint": self.checkpoint is not None,
            "--available-now": self.available_now,
            "--files-per-batch": self.files_per_batch is not None,
            "--max-rate": self.max_rate is not None,
            "--forget": self.forget is not None,
            "--most-held": self.most_held is not None,
            "--partitions": self.partitions is not None,
            "--late-ok": self.late_ok,
            "--adopt": self.adopt,
            "--upload-gap": self.upload_gap is not None,
            "--metrics": self.metrics is not None,
        }
        for name, used in of_stream.items():
            if used and self.mode is SparkMode.BATCH:
                raise InputError(f"{name} is for --mode stream; a batch replays all there is")
        if self.counts and self.mode is SparkMode.STREAM:
            raise InputError("--counts is for a batch; a stream has --metrics")
        if self.max_rate is not None and not self.max_rate > 0:
            raise InputError("--max-rate is more than 0 tuples a second", got=f"{self.max_rate:g}")
        _ = self.forget_ns, self.upload_gap_ns  # InputError if they are no durations
        if self.json and self.format == CONSOLE:
            raise InputError("--json and --format console both want standard output: choose one")

    @property
    def forget_ns(self) -> int | None:
        return None if self.forget is None else duration_option("--forget", self.forget)

    @property
    def upload_gap_ns(self) -> int | None:
        gap = self.upload_gap
        return None if gap is None else duration_option("--upload-gap", gap)

    def sink(self) -> Sink:
        from headway.spark.batches.batch_sinks import Sink

        return Sink(self.format, spark_session.parse_options(self.options, "--option"))

    @property
    def data(self) -> dict[str, Any]:
        return {"engine": "spark", "mode": self.mode.value, "master": self.master,
                "policy": self.policy}  # fmt: skip


def run_spark(
    options: SparkOptions,
    query: Path,
    vehicle: Path | None,
    recording: str,
    output: Location,
    *,
    force: bool,
    python: bool = True,
) -> None:
    """Runs, writes and shows; exit code 1 where a hard output missed a deadline it could keep."""
    spark_session.check_packages(", or run in the engine of the car: --engine vehicle")
    from headway.spark.sources.recorded_files import Inputs

    prepared = runnable_plan(query, vehicle, zero_cost=True, python=python)
    inputs = Inputs.of(
        recording,
        spark_session.parse_options(options.topics, "--topic"),
        spark_session.parse_options(options.input_options, "--input-option"),
    )
    spark_session.check_master(options.master)
    inputs.check(prepared.plan.query, streaming=options.mode is SparkMode.STREAM)
    with prepared.placing():
        check_plan(prepared.plan, options)
    run_mode = _batch if options.mode is SparkMode.BATCH else _stream
    run, text = run_mode(options, prepared, inputs, output, force=force)
    if options.json:
        write(text)
    else:
        show(_explained(prepared.plan, options, run, output))
    if run.hard_misses:
        raise typer.Exit(int(ExitCode.NOT_PROMISED))


def check_plan(plan: Plan, options: SparkOptions) -> None:
    """What can be refused is refused before Spark starts, which takes seconds."""
    from headway.spark.capabilities import Mode, refuse_unsupported

    refuse_unsupported(plan, Mode(options.mode.value))
    if options.mode is SparkMode.STREAM and not options.late_ok:
        from headway.spark.session.urgency import refuse_below_floor

        refuse_below_floor(plan)


@contextmanager
def _session(options: SparkOptions, plan: Plan, output: Location) -> Iterator[Any]:
    """A cluster's Pythons get Headway and the user's modules with it."""
    conf = spark_session.run_conf(
        options.policy, spark_session.parse_options(options.conf, "--conf")
    )
    if options.ui:
        conf["spark.ui.enabled"] = "true"
    if options.publish is not None:
        conf[f"{PUBLISH}{output.scheme}"] = options.publish.value
    say_starting(shown=not options.json)
    with spark_session.owned_session(options.master, f"headway {plan.query.name}", conf) as spark:
        if spark.sparkContext.uiWebUrl:
            write_problem(f"Spark's UI: {spark.sparkContext.uiWebUrl}")
        if spark_session.is_local(options.master):
            yield spark
            return
        if spark_session.PARTITIONS not in conf:
            # Spark's 200 would each be a small state to open and close in every micro-batch.
            spark.conf.set(spark_session.PARTITIONS, str(2 * spark.sparkContext.defaultParallelism))
        with TemporaryDirectory(prefix="headway-") as scratch:
            ship(spark, plan, Path(scratch))
            yield spark


@contextmanager
def opened_folder(
    output: Location,
    publish: Publishing | None,
    session: Callable[[], AbstractContextManager[Any]],
    *,
    force: bool,
) -> Iterator[tuple[OutputFolder, Any]]:
    """The folder of the results, which is this run's alone, and a session. A local folder that is
    refused is refused before Spark starts; others are reached through Spark."""
    from headway.spark.streams.run_lock import claimed

    with ExitStack() as kept:
        folder = None
        if output.is_local:
            kept.enter_context(claimed([output]))
            folder = kept.enter_context(
                OutputFolder(output, file_store(output, None, publish), force=force)
            )
        spark = kept.enter_context(session())
        if folder is None:
            kept.enter_context(claimed([output], spark))
            folder = kept.enter_context(
                OutputFolder(output, file_store(output, spark, publish), force=force)
            )
        yield folder, spark


def _batch(
    options: SparkOptions, prepared: RunnablePlan, inputs: Inputs, output: Location, *, force: bool
) -> tuple[SparkRun, str]:
    plan = prepared.plan
    with opened_folder(
        output, options.publish, lambda: _session(options, plan, output), force=force
    ) as (folder, spark):  # fmt: skip
        from headway.spark.batches.batch_run import Batch

        with batch_progress(spark, shown=not options.json) as (on_output, on_rows):
            sink = options.sink()
            batch = Batch(spark, plan, inputs, folder, sink, on_output, on_rows, options.counts)
            with prepared.placing():
                run = batch.run()
        text = folder.write_summary({"query": plan.query.name, **options.data, **run.data()})
    return run, text


def _stream(
    options: SparkOptions, prepared: RunnablePlan, inputs: Inputs, output: Location, *, force: bool
) -> tuple[SparkRun, str]:
    """The summary is there from the beginning, and new every few seconds. What can be refused of
    local folders is refused before Spark starts."""
    from headway.spark.streams.checkpoints import Checkpoint, refuse_run
    from headway.spark.streams.live_stream import LiveStream
    from headway.spark.streams.run_lock import Lock, claimed
    from headway.spark.streams.run_metrics import MetricsLines
    from headway.spark.streams.stream_run import StreamRun, run_about

    plan = prepared.plan
    place = Checkpoint(Location.of(options.checkpoint or output / "_checkpoint"), output)

    def write_outcome(run: SparkRun) -> str:
        data = {"query": plan.query.name, **options.data, **run.data(), "files": stream.files}
        return write_summary(output, results, data)

    locks: list[Lock] | None = None
    with ExitStack() as held:
        if place.both_local:
            locks = held.enter_context(claimed([place.folder, place.output]))
            about = run_about(
                inputs,
                options.sink(),
                available_now=options.available_now,
                upload_gap=options.upload_gap_ns,
            )
            with prepared.placing():
                refuse_run(plan, place, about, afresh=force, adopt=options.adopt)
        metrics = None if options.metrics is None else MetricsLines(options.metrics)
        if metrics is not None:
            held.callback(metrics.close)
        spark = held.enter_context(_session(options, plan, output))
        results = file_store(output, spark)
        then = () if metrics is None else (metrics,)
        live = LiveStream(plan, output.path, then) if output.is_local else None
        stream = StreamRun(
            spark,
            plan,
            inputs,
            output,
            checkpoint=place.folder,
            sink=options.sink(),
            policy=options.policy,
            available_now=options.available_now,
            files_per_batch=options.files_per_batch,
            max_rate=options.max_rate,
            forget=options.forget_ns,
            most_held=options.most_held,
            partitions=options.partitions,
            late_ok=options.late_ok,
            afresh=force,
            adopt=options.adopt,
            locks=locks,
            upload_gap=options.upload_gap_ns,
            on_rows=show_rows,
            on_outcome=write_outcome,
            on_metrics=metrics if live is None else live,
        )
        shown = not options.json and options.format != CONSOLE
        remove_parts(output, results, SUMMARY)
        if live is not None:
            held.enter_context(live)
        with stream_progress(stream, shown=shown), prepared.placing():
            run = stream.run()
        text = write_outcome(run)
    return run, text


def _explained(
    plan: Plan, options: SparkOptions, run: SparkRun, output: Location
) -> Iterator[RenderableType]:
    yield heading(f"{plan.query.name} on Spark, {options.master}, {options.mode.value}")
    yield table(run_tables.spark_outputs(run.outputs))
    if run.side:
        yield table(run_tables.spark_side(run))
    if run.operators:
        yield table(run_tables.spark_operators(run))
    yield sentence(run_tables.spark_verdict(run))
    yield run_tables.spark_speed(run)
    yield from run.notes
    yield f"wrote {output}"
