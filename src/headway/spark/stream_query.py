"""One streaming query of Spark: a group of outputs from their sources to their files."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headway.model.plan import Plan
from headway.model.time import MICROSECOND
from headway.runtime.operators.base import DropKind
from headway.spark.accounting import Account, now
from headway.spark.gate import Gates
from headway.spark.groups import Group
from headway.spark.inputs import Inputs
from headway.spark.latencies import Tally
from headway.spark.pools import POOL, Share
from headway.spark.regions import part_with
from headway.spark.side_files import StreamSide, side_name
from headway.spark.sources.quarantine import FOLDER, Quarantine
from headway.spark.sources.rejected import Rejected
from headway.spark.stream_files import write_end, write_tagged
from headway.spark.stream_progress import OutputProgress, Pace
from headway.spark.stream_sinks import END, StreamSink, batch_name
from headway.spark.streaming import LoweredStream, finish_stream, lower_stream


@dataclass
class GroupQuery:
    """``start`` may be called again after a failure: Spark goes on from the checkpoint. ``listed``
    are the sources and operators whose side outputs are this query's: another computes the same
    operator and would list the same tuples."""

    plan: Plan
    group: Group
    inputs: Inputs
    output: Path
    checkpoint: Path
    began: int
    share: Share
    gate: Gates
    sink: StreamSink
    listed: frozenset[str]
    available_now: bool
    hold: int | None
    files_per_batch: int | None
    tallies: list[Tally] = field(init=False)
    side: StreamSide = field(init=False)
    paces: list[Pace] = field(init=False)
    query: StreamingQuery | None = None
    batches: int = 0
    restarts: int = 0

    def __post_init__(self) -> None:
        schemas = dict(self.plan.schemas)
        self.part = part_with(self.plan, self.group.names)
        self.side = StreamSide(self.plan, self.output, self.group.name)
        self.tallies = [
            Tally(Account(output, schemas[output.stream], self.began))
            for output in self.part.query.outputs
        ]
        self.paces = [Pace() for _ in self.tallies]
        self._clock = time.monotonic()

    def start(self, spark: SparkSession) -> None:
        session = self.share.session(spark)
        for output in self.group.outputs:
            self.sink.forget_end(output.name)
        self.side.remove(END)
        with self.share.workers(spark):
            sources = self.inputs.read_stream(
                session,
                self.part.query.sources,
                Quarantine(self.output / FOLDER),
                Rejected(self.output / side_name(DropKind.REJECTED, self.plan)),
                self.files_per_batch,
            )
            self.lowered: LoweredStream = lower_stream(
                self.plan,
                self.share.capped(sources),
                outputs=self.group.names,
                hold=self.hold,
                listed=self.listed,
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
            spark.sparkContext.setLocalProperty(POOL, None)  # type: ignore[arg-type]

    def _on_batch(self, batch: DataFrame, number: int) -> None:
        """A soft batch waits at the gate with the deadline of what came now."""
        with self.gate.passing(now() + self.group.deadline // MICROSECOND):
            table, name = batch.toArrow(), batch_name(number)
            write_tagged(table, self.tallies, self.sink, name)
            self.side.write(table, name)
        self.batches += 1
        for pace, tally in zip(self.paces, self.tallies, strict=True):
            pace.note(time.monotonic() - self._clock, tally.tuples)

    def finish(self) -> None:
        """The input has ended: what the state still holds comes out."""
        if not self.lowered.stateful:
            return
        path = str(self.checkpoint / self.group.name)
        with finish_stream(
            self.plan, self._session, path, outputs=self.group.names, listed=self.listed
        ) as left:
            for tally in self.tallies:
                name = tally.account.output.name
                if name in left:
                    write_end(left[name].toArrow(), tally, self.sink)
            self.side.write_end(left.side.toArrow())

    def progress(self) -> list[OutputProgress]:
        """Where each output stands."""
        elapsed = time.monotonic() - self._clock
        known = self.query.lastProgress if self.query is not None else None
        last: dict[str, Any] = {} if known is None else dict(known)
        return [
            OutputProgress(
                output=tally.account.output.name,
                hard=self.group.hard,
                batches=self.batches,
                rows_per_second=pace.rows_per_second(elapsed),
                batch_ms=(last.get("durationMs") or {}).get("triggerExecution"),
                lag_s=(now() - tally.newest) / 1e6 if tally.newest else None,
                tuples=tally.tuples,
                judged=tally.tuples - tally.replayed,
                misses=tally.misses,
            )
            for tally, pace in zip(self.tallies, self.paces, strict=True)
        ]
