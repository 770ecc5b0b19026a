"""``headway run``: a query over a recording or a stream, on Spark or in the vehicle engine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headway.cli.run_engine import Clock, Cores, EngineName, EngineOptions
from headway.cli.run_options import (
    SPARK_ONLY,
    VEHICLE_ONLY,
    refuse_addresses,
    refuse_strangers,
)
from headway.cli.run_spark import SparkMode, SparkOptions, run_spark
from headway.cli.run_vehicle import PERFETTO, run_vehicle
from headway.cli.shared_options import (
    LOCAL,
    ConfOption,
    ForceOption,
    JsonOption,
    MasterOption,
    OutputOption,
    QueryArgument,
    VehicleOption,
)


def run(
    context: typer.Context,
    query: QueryArgument,
    input: Annotated[
        str,
        typer.Option(
            metavar="DIR|kafka://HOST:PORT",
            help="the recording: a Parquet, CSV, JSONL or CAN file per source; Spark: or Kafka",
        ),
    ],
    output: OutputOption,
    engine: Annotated[
        EngineName, typer.Option(help="what runs it: Spark, or the engine of the car")
    ] = EngineName.SPARK,
    vehicle: VehicleOption = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Spark: edf (default) or fifo; vehicle: see `headway policies` (default s-edf)",
        ),
    ] = None,
    force: ForceOption = False,
    json: JsonOption = False,
    mode: Annotated[
        SparkMode,
        typer.Option(help="Spark: all of a recording at once, or live"),
    ] = SparkMode.BATCH,
    master: MasterOption = LOCAL,
    conf: ConfOption = None,
    topic: Annotated[
        list[str] | None,
        typer.Option(metavar="SOURCE=TOPIC", help="Spark, Kafka: not the topic of its name"),
    ] = None,
    input_option: Annotated[
        list[str] | None,
        typer.Option(metavar="K=V", help="Spark, Kafka: an option of Spark's kafka source"),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Spark, stream: where a restart goes on from"),
    ] = None,
    available_now: Annotated[
        bool,
        typer.Option("--available-now", help="Spark, stream: end when all that is there is done"),
    ] = False,
    files_per_batch: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Spark, stream: files of a source in a micro-batch"),
    ] = None,
    late_ok: Annotated[
        bool,
        typer.Option("--late-ok", help="Spark, stream: deadlines too short for it may pass"),
    ] = False,
    format: Annotated[
        str, typer.Option(metavar="NAME", help="Spark: parquet, console, or any Spark format")
    ] = "parquet",
    option: Annotated[
        list[str] | None, typer.Option(metavar="K=V", help="Spark: an option of that format")
    ] = None,
    clock: Annotated[
        Clock, typer.Option(help="vehicle: virtual is exact and fast; wall is in real time")
    ] = Clock.VIRTUAL,
    zero_cost: Annotated[
        bool,
        typer.Option("--zero-cost", help="vehicle: operators take no time, as the query means"),
    ] = False,
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
    engine runs vehicle by vehicle, under a scheduling policy and with costs. Both compute the same
    tuples. Writes Parquet for each output, for tuples that were late, shed, rejected or failed, and
    summary.json.

    Exit code: 0 fine, 1 a hard output missed a deadline, 2 bad input.
    """
    if engine is EngineName.VEHICLE:
        refuse_strangers(context, SPARK_ONLY, "--engine spark")
        refuse_addresses(input)
        options = EngineOptions(
            engine=engine,
            policy=policy or "s-edf",
            clock=clock,
            cores=cores,
            speed=speed,
            batching=batching,
            zero_cost=zero_cost,
            trace=trace,
        )
        run_vehicle(options, query, vehicle, Path(input), output, force=force, json=json)
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
        late_ok=late_ok,
        format=format,
        options=option or [],
        topics=topic or [],
        input_options=input_option or [],
        json=json,
    )
    run_spark(on_spark, query, vehicle, input, output, force=force)
