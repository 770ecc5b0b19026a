"""Spark's answers: a plan over a recording in batch, and as a stream cut into pieces."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F
from tests.contract.recordings import Answer, Recording, Side, comparable
from tests.waiting import until

from headway.engine.operators.operator_base import DropKind
from headway.engine.result_tables import SIDE_SCHEMA
from headway.model.graph import graph_of
from headway.model.plan import Plan
from headway.model.query import Source
from headway.model.schema import DataType
from headway.spark.batches.batch_sinks import Sink
from headway.spark.batches.lower_batch import lower_batch
from headway.spark.lowering.frames import ARROW
from headway.spark.lowering.regions import part_with
from headway.spark.session.restarts import Restarts
from headway.spark.sources.intake import StreamedTuples
from headway.spark.storage.locations import Location
from headway.spark.streams.lower_stream import LoweredKind, outputs_by_kind
from headway.spark.streams.micro_batches import GroupWork, MicroBatches, RowWay
from headway.spark.streams.spark_way import SparkWay
from headway.spark.streams.ways import PLAIN_JOBS, DirectWay

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TIME = pa.timestamp("us", tz="UTC")
Ways = Callable[["SparkSession", GroupWork], RowWay]


def direct(session: SparkSession, work: GroupWork) -> RowWay:
    return DirectWay(session, work)


def through_spark(session: SparkSession, work: GroupWork) -> RowWay:
    return SparkWay(session, work, Sink(), "run", lambda name, rows: None)


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
    spark: SparkSession,
    plan: Plan,
    recording: Recording,
    folder: Path,
    cut: random.Random,
    ways: Ways = direct,
) -> Answer:
    return stream_and_side(spark, plan, recording, folder, cut, ways)[0]


def stream_and_side(
    spark: SparkSession,
    plan: Plan,
    recording: Recording,
    folder: Path,
    cut: random.Random,
    ways: Ways = direct,
) -> tuple[Answer, Side]:
    """Each source in up to three files, one of each a micro-batch; then the end. Outputs of a kind
    are one query, all at the same time."""
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
    session = spark.newSession()
    for key, value in PLAIN_JOBS.items():
        session.conf.set(key, value)
    answer: Answer = Counter()
    side: Side = Counter()
    listed: set[str] = set()
    for kind, names in outputs_by_kind(plan, [one.name for one in plan.query.outputs]):
        part = part_with(plan, names)
        mine = set(graph_of(part.query).sources) | set(graph_of(part.query).operators)
        work = GroupWork(
            name=kind,
            plan=part,
            began=0,
            output=Location.of(folder / "output"),
            checkpoint=Location.of(folder / "checkpoint"),
            sides={one.value: f"#{one.value}.parquet" for one in DropKind},
            listed=frozenset(mine - listed),
        )
        listed |= set() if kind is LoweredKind.NATIVE else mine
        found = streamed(session, work, folder, ways)
        answer.update(found[0])
        side.update(found[1])
    return answer, side


def streamed(
    session: SparkSession, work: GroupWork, folder: Path, ways: Ways
) -> tuple[Answer, Side]:
    restarts = Restarts()
    while (failure := _run(session, work, folder, ways)) is not None:
        if not restarts.failed(failure):  # on a busy machine Spark may give up on a worker
            raise AssertionError(failure)
        until(lambda: restarts.is_due)
        restarts.started(0)
    answer: Answer = Counter()
    for name, account in work.accounts.items():
        columns = ["vehicle", *(field.name for field in account.schema.columns)]
        for vehicle, *row in rows_in(folder / "output" / f"{name}.parquet", columns):
            answer[vehicle, name, comparable(row)] += 1
    side: Side = Counter()
    for kind, place in work.sides.items():
        names = ["vehicle", *SIDE_SCHEMA.names]
        for vehicle, *row in rows_in(folder / "output" / place, names, f"{work.name}-*"):
            side[vehicle, kind, *row] += 1
    return answer, side


def _run(session: SparkSession, work: GroupWork, folder: Path, ways: Ways) -> str | None:
    """Until the end of the input; why it failed."""
    batches = MicroBatches(session, work, ways(session, work))
    batches.take_up()
    given = {}
    for source in work.plan.query.sources:
        place = str(folder / source.name)
        reader = session.readStream.schema(session.read.parquet(place).schema)
        given[source.name] = reader.option("maxFilesPerTrigger", 1).parquet(place)
    intake = StreamedTuples(given)

    def take(batch: DataFrame, number: int) -> None:
        batches.run(batch, number, intake)

    running = (
        intake.stream.writeStream.foreachBatch(take)
        .option("checkpointLocation", str(folder / "queries" / work.name))
        .trigger(availableNow=True)
        .start()
    )
    try:
        running.awaitTermination()
    except StreamingQueryException as failure:
        return str(failure)
    batches.finish()
    return None


def rows_in(folder: Path, columns: list[str], pattern: str = "*") -> Iterator[tuple[Any, ...]]:
    """Of the files that can be seen; times are microseconds."""
    for path in sorted(folder.glob(f"{pattern}.parquet")):
        if path.name.startswith("."):
            continue
        whole = pa.parquet.read_table(path).select(columns)
        cells = [
            column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
            for column in whole.columns
        ]
        yield from zip(*(column.to_pylist() for column in cells), strict=True)


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
