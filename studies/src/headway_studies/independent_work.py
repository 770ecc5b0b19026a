"""Independent pieces of work as a Spark job: one row in for each, one row out when it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql import SparkSession

from headway.spark.session.spark_failures import translated

MOST_TASKS_PER_SLOT = 200
"""A task costs milliseconds, so many small pieces share one; few long ones get one each."""


def run_pieces(spark: SparkSession, work: Callable[[str], str], pieces: Sequence[str]) -> list[str]:
    """Calls ``work`` for each piece inside tasks; what it returned, in the order of the pieces.

    Tasks start in that order, so the long pieces should come first."""
    if not pieces:
        return []
    tasks = min(len(pieces), spark.sparkContext.defaultParallelism * MOST_TASKS_PER_SLOT)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for piece in batch.column(0).to_pylist():
                yield pa.RecordBatch.from_pydict({"done": [work(piece)]})

    with translated():
        given = spark.createDataFrame(
            spark.sparkContext.parallelize([(piece,) for piece in pieces], tasks), "piece string"
        )
        return [row.done for row in given.mapInArrow(run, "done string").collect()]
