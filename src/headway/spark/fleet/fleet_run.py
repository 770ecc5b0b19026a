"""Fleets: one vehicle engine per vehicle inside Spark tasks, thousands at a time."""

from __future__ import annotations

import time
from dataclasses import replace

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from headway.drive.driven_fleet import DrivenFleet, Vehicles
from headway.engine.result_tables import free_name
from headway.engine.results import COUNTS, OutputSummary
from headway.errors import FileError, Place
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.model.query import Criticality, Output
from headway.model.schema import TIMESTAMP_COLUMN, VEHICLE_COLUMN, DataType, Schema
from headway.spark.accounting import added_names, measured_numbers, measures
from headway.spark.fleet.spoken import heard_on_spark
from headway.spark.fleet.twins import (
    COMPLETED,
    COUNTED,
    KIND,
    MET,
    TRACED,
    Twins,
    fleet_from,
    output_struct,
)
from headway.spark.lowering.engine_region import arrival_order, tagged_sources
from headway.spark.lowering.frames import SPARK, plain_row
from headway.spark.lowering.given_sources import as_source
from headway.spark.session.spark_failures import translated
from headway.spark.sources.checked_files import FOLDER, Quarantine, notes
from headway.spark.sources.recorded_files import read_batch
from headway.spark.spark_results import FleetRun, VehicleOutput
from headway.spark.storage.locations import Location
from headway.spark.storage.output_folder import OutputFolder

TASKS_PER_SLOT = 4
_TRACE = (
    "kind string, start bigint, end bigint, node string, place string, what string, job bigint, "
    "first int, ran int, operators array<string>"
)
_MET = "car bigint, impact double, ttc double, crash boolean"


def run_fleet(
    spark: SparkSession,
    plan: Plan,
    recording: Location,
    folder: OutputFolder,
    *,
    policy: str = "s-edf",
    charged: bool = True,
    vehicles: int | None = None,
    seed: int = 0,
    traced: bool = False,
) -> FleetRun:
    """The recording's own vehicles, or with ``vehicles`` so many that drive variations of them."""
    clock = time.perf_counter()
    quarantine = Quarantine(folder.part(FOLDER), spark, folder.mark)
    twins = Twins.of(plan, policy, charged=charged, traced=traced)
    with translated():
        rows = (
            _recorded(spark, plan, recording, twins, quarantine)
            if vehicles is None
            else _varied(spark, plan, recording, twins, vehicles, seed)
        )
        run = _finish(rows, plan, folder, clock, traced=traced)
    left_out = quarantine.entries()
    if not left_out:
        folder.drop(FOLDER)
    return replace(run, notes=notes(left_out))


def run_driven(
    spark: SparkSession,
    plan: Plan,
    fleet: Vehicles,
    folder: OutputFolder,
    *,
    policy: str = "s-edf",
    charged: bool = True,
    traced: bool = False,
) -> FleetRun:
    """Vehicles that drive through a world of their own, made in the tasks."""
    clock = time.perf_counter()
    twins = Twins.of(plan, policy, charged=charged, traced=traced)
    with translated():
        if isinstance(fleet, DrivenFleet):
            fleet = heard_on_spark(spark, fleet, _tasks(spark))
        rows = _numbered(spark, plan, twins, fleet)
        return _finish(rows, plan, folder, clock, traced=traced, driven=True)


def _finish(
    rows: DataFrame,
    plan: Plan,
    folder: OutputFolder,
    clock: float,
    *,
    traced: bool,
    driven: bool = False,
) -> FleetRun:
    """Runs every vehicle once, writes and counts."""
    kept = rows.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        outputs, worst, counts, count = _write(kept, plan, folder, traced=traced)
        met, crashes = _write_met(kept, plan, folder) if driven else (0, 0)
    finally:
        kept.unpersist()
    return FleetRun(
        vehicles=count,
        outputs=outputs,
        by_vehicle=worst,
        counts=counts,
        seconds=time.perf_counter() - clock,
        met=met,
        crashes=crashes,
    )


def _write_met(rows: DataFrame, plan: Plan, folder: OutputFolder) -> tuple[int, int]:
    """Who was on collision course with which vehicle; how many, and how many crashed."""
    taken = {output.name for output in plan.query.outputs}
    met = rows.where(F.col(KIND) == MET).select(VEHICLE_COLUMN, "`#met`.*")
    _written(met, folder.part(f"{free_name('meetings', taken)}.parquet"))
    total = met.agg(F.count(F.lit(1)), F.count_if("crash")).collect()[0]
    return int(total[0]), int(total[1])


def _recorded(
    spark: SparkSession, plan: Plan, recording: Location, twins: Twins, quarantine: Quarantine
) -> DataFrame:
    read = read_batch(spark, recording, plan.query.sources, quarantine=quarantine)
    given = [(s.schema, as_source(read[s.name], s)) for s in plan.query.sources]
    ordered = (
        tagged_sources(given)
        .repartition(_tasks(spark), VEHICLE_COLUMN)
        .sortWithinPartitions(VEHICLE_COLUMN, *arrival_order(len(given)))
    )
    return ordered.mapInArrow(twins.recorded(), row_schema(plan))


def _varied(
    spark: SparkSession, plan: Plan, recording: Location, twins: Twins, vehicles: int, seed: int
) -> DataFrame:
    fleet = fleet_from(recording.path, plan.query.sources, vehicles, seed)
    if not fleet.recorded:
        raise FileError("there is nothing to run", place=Place(str(recording)))
    return _numbered(spark, plan, twins, fleet)


def _numbered(spark: SparkSession, plan: Plan, twins: Twins, fleet: Vehicles) -> DataFrame:
    tasks = min(fleet.count, _tasks(spark))
    return spark.range(0, fleet.count, 1, tasks).mapInArrow(twins.varied(fleet), row_schema(plan))


def _tasks(spark: SparkSession) -> int:
    return spark.sparkContext.defaultParallelism * TASKS_PER_SLOT


def row_schema(plan: Plan) -> StructType:
    """What the tasks give: see :mod:`headway.spark.fleet.twins`."""
    schemas = dict(plan.schemas)
    rows = [StructField(VEHICLE_COLUMN, StringType()), StructField(KIND, IntegerType())]
    for place, output in enumerate(plan.query.outputs):
        inside = [*plain_row(schemas[output.stream]).fields, StructField(COMPLETED, LongType())]
        rows.append(StructField(output_struct(place), StructType(inside)))
    counts = StructType([StructField(name, LongType()) for name in (*COUNTS, "end")])
    trace = StructType.fromDDL(_TRACE)
    aside = {"#counts": counts, "#trace": trace, "#met": StructType.fromDDL(_MET)}
    return StructType([*rows, *(StructField(name, kind) for name, kind in aside.items())])


def _write(
    rows: DataFrame, plan: Plan, folder: OutputFolder, *, traced: bool
) -> tuple[tuple[OutputSummary, ...], tuple[VehicleOutput, ...], dict[str, int], int]:
    schemas = dict(plan.schemas)
    outputs, worst = [], []
    counted = rows.where(F.col(KIND) == COUNTED).select(VEHICLE_COLUMN, "`#counts`.*")
    vehicles = counted.count()
    taken = {output.name for output in plan.query.outputs}
    for place, output in enumerate(plan.query.outputs):
        data = output_rows(rows, place, output, schemas[output.stream])
        _written(data, folder.part(f"{output.name}.parquet"))
        names = added_names(schemas[output.stream])
        wanted = measures(F.col(names["latency"]), F.col(names["missed"]))
        total = data.agg(*wanted).collect()[0].asDict()
        outputs.append(
            OutputSummary(
                output=output.name,
                deadline=output.deadline or 0,
                hard=output.criticality is Criticality.HARD,
                weight=output.weight,
                **measured_numbers(total),
            )
        )
        worst += [
            VehicleOutput(row[VEHICLE_COLUMN], output.name, **measured_numbers(row.asDict()))
            for row in data.groupBy(VEHICLE_COLUMN).agg(*wanted).collect()
        ]
    _written(counted, folder.part(f"{free_name('vehicles', taken)}.parquet"))
    if traced:
        trace = rows.where(F.col(KIND) == TRACED).select(VEHICLE_COLUMN, "`#trace`.*")
        _written(trace, folder.part(f"{free_name('trace', taken)}.parquet"))
    sums = counted.agg(*(F.sum(name).alias(name) for name in COUNTS)).collect()[0].asDict()
    counts = {name: int(sums[name] or 0) for name in COUNTS}
    return tuple(outputs), tuple(worst), counts, vehicles


def _written(rows: DataFrame, at: Location) -> None:
    rows.write.mode("append").parquet(at.hadoop_path)


def output_rows(rows: DataFrame, place: int, output: Output, schema: Schema) -> DataFrame:
    """Like the vehicle engine's files: the row, deadline, completed, latency (ns), missed."""
    struct, names = output_struct(place), added_names(schema)
    columns: list[Column] = []
    for field in schema.columns:
        value = F.col(f"`{struct}`.`{field.name}`")
        if field.type is DataType.TIMESTAMP:
            value = F.timestamp_micros(value)
        columns.append(value.cast(SPARK[field.type]).alias(field.name))
    completed = F.col(f"`{struct}`.`{COMPLETED}`")
    sensed = F.col(f"`{struct}`.`{TIMESTAMP_COLUMN}`")
    latency = completed - sensed * MICROSECOND
    due = sensed + F.lit((output.deadline or 0) // MICROSECOND)
    return rows.where(F.col(KIND) == place).select(
        VEHICLE_COLUMN,
        *columns,
        F.timestamp_micros(due).alias(names["deadline"]),
        F.timestamp_micros(F.expr(f"-((-`{struct}`.`{COMPLETED}`) div {MICROSECOND})")).alias(
            names["completed"]
        ),
        latency.alias(names["latency"]),
        (latency > F.lit(output.deadline or 0)).alias(names["missed"]),
    )
