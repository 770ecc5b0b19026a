"""One streaming query of Spark: which outputs it computes together, from sources to files.

Hard outputs form one group. Soft outputs that share an operator form one, so that what they share
is computed once; those that share nothing are queries of their own, which the gate can put in
order. An operator that hard and soft outputs share is computed in both classes: a soft batch that
is late must not keep a hard one waiting.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headway.engine.operators.operator_base import DropKind
from headway.model.graph import graph_of
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.model.query import Criticality, Output
from headway.spark.accounting import Account, Tally, now
from headway.spark.lowering.regions import ancestors, part_with
from headway.spark.session.urgency import POOL, Gates, Share
from headway.spark.side_files import END, StreamSide, side_name
from headway.spark.sources.checked_files import FOLDER, Quarantine, Rejected
from headway.spark.sources.recorded_files import Inputs
from headway.spark.spark_results import OutputProgress, StreamPace
from headway.spark.stream.lower_stream import LoweredStream, finish_stream, lower_stream
from headway.spark.stream.stream_sinks import StreamSink, batch_name, write_end, write_tagged


@dataclass(frozen=True)
class Group:
    """``name`` is the name of its checkpoint."""

    name: str
    hard: bool
    outputs: tuple[Output, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(output.name for output in self.outputs)

    @property
    def deadline(self) -> int:
        """The shortest, relative, in nanoseconds."""
        return min(output.deadline or 0 for output in self.outputs)


def groups_of(plan: Plan) -> list[Group]:
    graph = graph_of(plan.query)
    hard = [o for o in plan.query.outputs if o.criticality is Criticality.HARD]
    soft = [o for o in plan.query.outputs if o.criticality is not Criticality.HARD]
    together: list[tuple[set[str], list[Output]]] = []
    for output in soft:
        needed = ancestors(graph, [output.stream]) - graph.sources.keys()
        mine = (needed, [output])
        apart = []
        for other in together:
            if other[0] & mine[0]:
                mine = (other[0] | mine[0], [*other[1], *mine[1]])
            else:
                apart.append(other)
        together = [*apart, mine]
    found = [Group("hard", True, tuple(hard))] if hard else []
    found += [Group(f"soft-{members[0].name}", False, tuple(members)) for _, members in together]
    return found


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
    paces: list[StreamPace] = field(init=False)
    query: StreamingQuery | None = None
    batches: int = 0

    def __post_init__(self) -> None:
        schemas = dict(self.plan.schemas)
        self.part = part_with(self.plan, self.group.names)
        self.side = StreamSide(self.plan, self.output, self.group.name)
        self.tallies = [
            Tally(Account(output, schemas[output.stream], self.began))
            for output in self.part.query.outputs
        ]
        self.paces = [StreamPace() for _ in self.tallies]
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
