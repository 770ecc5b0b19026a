"""Spark's answers: a plan over a recording in batch, and as a stream cut into pieces."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F
from tests.contract.recordings import Answer, Recording, Side, comparable

from headway.engine.result_tables import SIDE_SCHEMA
from headway.model.plan import Plan
from headway.model.query import Source
from headway.model.schema import DataType
from headway.spark.batch.lower_batch import lower_batch
from headway.spark.lowering.frames import ARROW
from headway.spark.lowering.side_rows import SIDE_EXIT, unpacked
from headway.spark.session.spark_failures import MOST_RESTARTS, may_restart
from headway.spark.stream.lower_stream import finish_stream, lower_stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TIME = pa.timestamp("us", tz="UTC")


def table(recording: Recording, source: Source) -> Any:
    """A source's file: vehicle, timestamp, arrived_at, position and the fields."""
    tuples = recording.of_source(source.name)
    columns = {
        "vehicle": pa.array([one.vehicle for one in tuples], pa.string()),
        "arrived_at": pa.array([one.arrived_at for one in tuples], TIME),
        "position": pa.array(range(len(tuples)), pa.int64()),
    }
    for place, field in enumerate(source.schema.columns):
        kind = TIME if field.type is DataType.TIMESTAMP else ARROW[field.type]
        columns[field.name] = pa.array([one.row[place] for one in tuples], kind)
    return pa.table(columns)


def spark_batch(
    spark: SparkSession, plan: Plan, recording: Recording, *, look_for_late: bool = True
) -> Answer:
    sources = {s.name: spark.createDataFrame(table(recording, s)) for s in plan.query.sources}
    with lower_batch(plan, sources, look_for_late=look_for_late) as lowered:
        return collected(lowered)


def side_of_batch(spark: SparkSession, plan: Plan, recording: Recording) -> Side:
    sources = {s.name: spark.createDataFrame(table(recording, s)) for s in plan.query.sources}
    with lower_batch(plan, sources) as lowered:
        return side_rows(lowered.side.toArrow())


def side_rows(table: Any) -> Side:
    """Of a table with the columns of the side outputs, their kind and vehicle."""
    names = ["vehicle", "kind", *SIDE_SCHEMA.names]
    columns = [
        column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
        for column in map(table.column, names)
    ]
    return Counter(zip(*(column.to_pylist() for column in columns), strict=True))


def spark_stream(
    spark: SparkSession, plan: Plan, recording: Recording, folder: Path, cut: random.Random
) -> Answer:
    return stream_and_side(spark, plan, recording, folder, cut)[0]


def stream_and_side(
    spark: SparkSession, plan: Plan, recording: Recording, folder: Path, cut: random.Random
) -> tuple[Answer, Side]:
    """Each source in up to three files, one of each a micro-batch; then the end."""
    sources = {}
    for source in plan.query.sources:
        whole = table(recording, source)
        place = folder / source.name
        place.mkdir(parents=True)
        cuts = sorted(cut.randint(0, whole.num_rows) for _ in range(cut.randint(0, 2)))
        for number, (start, end) in enumerate(
            zip([0, *cuts], [*cuts, whole.num_rows], strict=True)
        ):
            path = place / f"{number}.parquet"
            pa.parquet.write_table(whole.slice(start, end - start), path)
            os.utime(path, (1_600_000_000 + number,) * 2)  # Spark reads the oldest file first
        sources[source.name] = (
            spark.readStream.schema(spark.read.parquet(str(place)).schema)
            .option("maxFilesPerTrigger", 1)
            .parquet(str(place))
        )
    lowered = lower_stream(plan, sources)
    batches: dict[int, tuple[Answer, Side]] = {}
    checkpoint = str(folder / "checkpoint")

    def take(batch: DataFrame, number: int) -> None:
        """A batch that is repeated after a restart takes its own place."""
        side = side_rows(unpacked(batch).where("kind IS NOT NULL").toArrow())
        batches[number] = _tagged(batch.toArrow(), list(lowered.schemas)), side

    for restarts in range(MOST_RESTARTS + 1):  # on a busy machine Spark may give up on a worker
        running = (
            lowered.tagged.writeStream.foreachBatch(take)
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        try:
            running.awaitTermination()
            break
        except StreamingQueryException as failure:
            if not may_restart(str(failure), restarts):
                raise
    answer: Answer = Counter()
    side: Side = Counter()
    for tuples, aside in batches.values():
        answer.update(tuples)
        side.update(aside)
    if lowered.stateful:
        with finish_stream(plan, spark, checkpoint) as rest:
            answer.update(collected(rest))
            side.update(side_rows(rest.side.toArrow()))
    return answer, side


def collected(outputs: Mapping[str, DataFrame]) -> Answer:
    """All tuples; outputs of one schema in one job."""
    alike: dict[str, DataFrame] = {}
    for name, data in outputs.items():
        named = data.withColumn("#output", F.lit(name))
        kind = data.schema.simpleString()
        alike[kind] = alike[kind].union(named) if kind in alike else named
    answer: Answer = Counter()
    for data in alike.values():
        columns = [
            column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
            for column in data.toArrow().columns
        ]
        for vehicle, *row, output in zip(*(c.to_pylist() for c in columns), strict=True):
            answer[vehicle, output, comparable(row)] += 1
    return answer


def _tagged(whole: Any, names: list[str]) -> Answer:
    """The tuples of a micro-batch, without a job for each output."""
    answer: Answer = Counter()
    vehicles, places = (whole.column(name).to_pylist() for name in ("vehicle", "#exit"))
    rows = [whole.column(f"#row{place}").to_pylist() for place in range(len(names))]
    for number, (vehicle, place) in enumerate(zip(vehicles, places, strict=True)):
        if place == SIDE_EXIT:
            continue
        answer[vehicle, names[place], comparable(rows[place][number].values())] += 1
    return answer
