"""One streaming query of Spark: a group of outputs from their sources to their files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headway.model.plan import Plan
from headway.model.time import MICROSECOND
from headway.spark.accounting import Account, now
from headway.spark.gate import Gates
from headway.spark.groups import Group
from headway.spark.latencies import Tally
from headway.spark.pools import Share
from headway.spark.reading import read_stream
from headway.spark.regions import part_with
from headway.spark.sources.quarantine import FOLDER, Quarantine
from headway.spark.stream_files import remove_end, write_end, write_tagged
from headway.spark.streaming import LoweredStream, finish_stream, lower_stream


@dataclass
class GroupQuery:
    """``start`` may be called again after a failure: Spark goes on from the checkpoint."""

    plan: Plan
    group: Group
    recording: Path
    output: Path
    checkpoint: Path
    began: int
    share: Share
    gate: Gates
    available_now: bool
    hold: int | None
    files_per_batch: int | None
    tallies: list[Tally] = field(init=False)
    query: StreamingQuery | None = None
    batches: int = 0
    rows_in: int = 0
    restarts: int = 0

    def __post_init__(self) -> None:
        schemas = dict(self.plan.schemas)
        self.part = part_with(self.plan, self.group.names)
        self.tallies = [
            Tally(Account(output, schemas[output.stream], self.began))
            for output in self.part.query.outputs
        ]

    def start(self, spark: SparkSession) -> None:
        session = self.share.session(spark)
        for output in self.group.outputs:
            remove_end(self.output, output.name)
        sources = read_stream(
            session,
            self.recording,
            self.part.query.sources,
            files_per_batch=self.files_per_batch,
            quarantine=Quarantine(self.output / FOLDER),
        )
        self.lowered: LoweredStream = lower_stream(
            self.plan, self.share.capped(sources), outputs=self.group.names, hold=self.hold
        )
        self._session = session
        writer = self.lowered.tagged.writeStream.queryName(self.group.name)
        writer = writer.option("checkpointLocation", str(self.checkpoint / self.group.name))
        if self.available_now:
            writer = writer.trigger(availableNow=True)
        self.share.enter(spark)
        try:
            self.query = writer.foreachBatch(self._on_batch).start()
        finally:
            spark.sparkContext.setLocalProperty("spark.scheduler.pool", None)  # type: ignore[arg-type]

    def _on_batch(self, batch: DataFrame, number: int) -> None:
        """A soft batch waits at the gate with the deadline of what came now."""
        with self.gate.passing(now() + self.group.deadline // MICROSECOND):
            write_tagged(batch.toArrow(), self.tallies, self.output, number)
        self.batches += 1

    def finish(self) -> None:
        """The input has ended: what the state still holds comes out."""
        if not self.lowered.stateful:
            return
        path = str(self.checkpoint / self.group.name)
        left = finish_stream(self.plan, self._session, path, outputs=self.group.names)
        for tally in self.tallies:
            name = tally.account.output.name
            if name in left:
                write_end(left[name].toArrow(), tally, self.output)

    @property
    def last(self) -> dict[str, Any]:
        """Spark's own numbers of the last micro-batch."""
        progress = self.query.lastProgress if self.query is not None else None
        return {} if progress is None else dict(progress)
