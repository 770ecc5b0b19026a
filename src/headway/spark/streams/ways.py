"""Which way the rows of a group take from the tasks to where they belong."""

from __future__ import annotations

from pyspark.sql import SparkSession

from headway.spark.batches.batch_sinks import PARQUET_FORMAT, OnRows, Sink
from headway.spark.streams.direct_way import DirectWay
from headway.spark.streams.micro_batches import GroupWork, RowWay
from headway.spark.streams.spark_way import SparkWay

PLAIN_JOBS = {
    # A step's tasks are its partitions, also those without a tuple.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(1 << 16),
}
"""settings of a group's own session"""


def way_of(session: SparkSession, work: GroupWork, sink: Sink, run: str, on_rows: OnRows) -> RowWay:
    plain = sink.format == PARQUET_FORMAT and not sink.options
    if plain and work.output.is_local and work.checkpoint.is_local:
        return DirectWay(session, work)
    return SparkWay(session, work, sink, run, on_rows)
