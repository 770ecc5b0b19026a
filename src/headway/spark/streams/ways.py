"""The two ways of a group's rows from the tasks to where they belong: tasks write them, or Spark.

Here is the direct one: tasks write what they compute, Parquet files and states on a file system
that all of them see. One job for a step, whatever it gives: every task takes its rows apart,
accounts for them and writes them, and says what it wrote. Spark's own writers
(:mod:`headway.spark.streams.spark_way`) would need a job for each output, and counts a pass of
their own.
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

from headway.spark.batches.batch_sinks import PARQUET_FORMAT, OnRows, Sink
from headway.spark.state.batch_manifest import BatchRecord
from headway.spark.state.task_files import REPORT, TaskFiles, TaskReport, report_from
from headway.spark.storage.file_stores import file_store
from headway.spark.streams.lower_stream import by_vehicle
from headway.spark.streams.micro_batches import GroupWork, RowWay, StreamStep
from headway.spark.streams.publishing import RenamedFiles
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


class DirectWay:
    """Output and checkpoint are local paths, of one machine or shared by all of a cluster."""

    def __init__(self, session: SparkSession, work: GroupWork) -> None:
        self._work = work
        self._output = work.output.path.absolute()
        self.state_folder = str(work.states.path.absolute())
        self._files = RenamedFiles(work.output, file_store(work.output, session))

    def reports(self, step: StreamStep) -> list[TaskReport]:
        work = self._work
        data = step.data if step.partitions is None else by_vehicle(step.data, step.partitions)
        files = TaskFiles(
            output=str(self._output),
            states=str(self.state_folder),
            group=work.name,
            batch=step.name,
            token=step.token,
            accounts=work.accounts,
            sides=work.sides,
        )
        told = data.mapInArrow(files.task(step.computing, tuple(sys.path)), REPORT).collect()
        return [report_from(row["report"]) for row in told]

    def publish(self, record: BatchRecord) -> None:
        self._files.publish(record.files)

    def withdraw(self, record: BatchRecord) -> None:
        self._files.withdraw(record.files)

    def sweep(self) -> None:
        outputs = [f"{name}.parquet" for name in self._work.accounts]
        self._files.sweep(self._work.name, outputs, self._work.sides.values())
