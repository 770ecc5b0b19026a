"""One streaming query of Spark: which outputs it computes together, from sources to files.

Hard outputs form one group. Soft outputs that share an operator form one, so that what they share
is computed once; those that share nothing are queries of their own, which the gate can put in
order. An operator that hard and soft outputs share is computed in both classes: a soft batch that
is late must not keep a hard one waiting. Within a group, outputs that keep a state, outputs with
functions of the user and outputs of SQL alone are queries of their own: a filter must not wait for
a window.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headway.engine.operators.operator_base import DropKind
from headway.model.graph import graph_of
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.model.query import Criticality, Output
from headway.spark.accounting import now
from headway.spark.batches.batch_sinks import OnRows, Sink
from headway.spark.lowering.regions import ancestors, part_with
from headway.spark.session.job_titles import titled
from headway.spark.session.urgency import POOL, Gates, Share
from headway.spark.side_files import side_name
from headway.spark.sources.checked_files import FOLDER, Quarantine, Rejected
from headway.spark.sources.intake import Intake, Limits, StreamInputs
from headway.spark.spark_results import OutputProgress, SparkOutput, StreamPace
from headway.spark.state.batch_manifest import BatchRecord
from headway.spark.storage.locations import Location
from headway.spark.streams.lower_stream import (
    LoweredKind,
    outputs_by_kind,
    with_heartbeat,
    without_heartbeat,
)
from headway.spark.streams.micro_batches import GroupWork, MicroBatches, StreamBounds
from headway.spark.streams.ways import PLAIN_JOBS, way_of
from headway.spark.tallies import Tally


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
    found = []
    for is_hard, members in ((True, hard), *((False, one) for _, one in together)):
        for kind, names in outputs_by_kind(plan, [output.name for output in members]):
            outputs = tuple(output for output in members if output.name in names)
            beside = "" if kind is LoweredKind.NATIVE else f"-{kind}"
            name = f"hard{beside}" if is_hard else f"soft-{names[0]}"
            found.append(Group(name, is_hard, outputs))
    return found


@dataclass
class GroupQuery:
    """``start`` may be called again after a failure: Spark goes on from the checkpoint. ``listed``
    are the sources and operators whose side outputs are this query's: another computes the same
    operator and would list the same tuples."""

    plan: Plan
    group: Group
    inputs: StreamInputs
    output: Location
    checkpoint: Location
    run: str
    began: int
    share: Share
    gate: Gates
    sink: Sink
    listed: frozenset[str]
    available_now: bool
    bounds: StreamBounds
    limits: Limits
    on_rows: OnRows
    paces: list[StreamPace] = field(init=False)
    earlier: tuple[Plan, ...] = ()
    """plans that the checkpoint was run with before"""
    query: StreamingQuery | None = None
    batches: int = 0
    _work: MicroBatches | None = None
    _intake: Intake | None = None

    def __post_init__(self) -> None:
        part = part_with(self.plan, self.group.names)
        self.work = GroupWork(
            name=self.group.name,
            plan=part,
            began=self.began,
            output=self.output,
            checkpoint=self.checkpoint,
            sides={kind.value: side_name(kind, self.plan) for kind in DropKind},
            listed=self.listed,
            bounds=self.bounds,
            share=self.share,
            earlier=tuple(self._parts_before()),
        )
        self.paces = [StreamPace() for _ in part.query.outputs]
        self._clock = time.monotonic()

    def _parts_before(self) -> Iterator[Plan]:
        """What earlier plans computed in the query of this name."""
        for plan in self.earlier:
            for group in groups_of(plan):
                if group.name == self.group.name:
                    yield part_with(plan, group.names)

    def start(self, spark: SparkSession) -> None:
        session = self.share.session(spark)
        for key, value in PLAIN_JOBS.items():
            session.conf.set(key, value)
        quarantine = Quarantine(self.output / FOLDER, session)
        rejected = Rejected(self.output / side_name(DropKind.REJECTED, self.plan), session)
        way = way_of(session, self.work, self.sink, self.run, self.on_rows)
        batches = MicroBatches(session, self.work, way, (quarantine.files, rejected.files))
        batches.take_up()
        self._work = batches
        with self.share.workers(spark):
            self._intake = self.inputs.intake(
                session,
                self.work.plan.query.sources,
                quarantine,
                rejected,
                replace(
                    self.limits,
                    slots=lambda: self.share.slots(session),
                    spread=not batches.keeps_state,
                ),
            )
        live = self.bounds.hold is not None and batches.keeps_state
        stream = with_heartbeat(self._intake.stream) if live else self._intake.stream
        writer = stream.writeStream.queryName(self.group.name)
        writer = writer.option(
            "checkpointLocation", (self.checkpoint / self.group.name).hadoop_path
        )
        if self.available_now:
            writer = writer.trigger(availableNow=True)
        self.share.enter(spark)
        try:
            self.query = writer.foreachBatch(self._on_batch).start()
        finally:
            spark.sparkContext.setLocalProperty(POOL, None)  # type: ignore[arg-type]

    def stop(self) -> None:
        """Waits until the micro-batch that runs is over."""
        if self._intake is not None:
            self._intake.close()
        if self.query is not None and self.query.isActive:
            self.query.stop()

    def _on_batch(self, batch: DataFrame, number: int) -> None:
        """A soft batch waits at the gate with the deadline of what came now."""
        work, intake = self._work, self._intake
        assert work is not None
        assert intake is not None
        outputs = ", ".join(self.group.names)
        title = f"headway {self.plan.query.name}: batch {number}, output {outputs}"
        with (
            self.gate.passing(now() + self.group.deadline // MICROSECOND),
            titled(work.session, title),
            self.share.workers(work.session),
        ):
            work.run(without_heartbeat(batch), number, intake)
        self.batches += 1
        for pace, tally in zip(self.paces, self.tallies.values(), strict=True):
            pace.note(time.monotonic() - self._clock, tally.tuples)

    def finish(self) -> None:
        """The input has ended: what the state still holds comes out."""
        assert self._work is not None
        outputs = ", ".join(self.group.names)
        title = f"headway {self.plan.query.name}: end of the input, output {outputs}"
        with titled(self._work.session, title):
            self._work.finish()

    # ---------------------------------------------------------------- what was done

    @property
    def record(self) -> BatchRecord | None:
        """The sums of the run so far."""
        return None if self._work is None else self._work.shown

    @property
    def tallies(self) -> dict[str, Tally]:
        """By output."""
        known = {} if self.record is None else self.record.tallies
        return {output.name: known.get(output.name, Tally()) for output in self.group.outputs}

    def summaries(self) -> dict[str, SparkOutput]:
        """By output."""
        accounts = self.work.accounts
        return {name: accounts[name].summary(t.measured()) for name, t in self.tallies.items()}

    def progress(self) -> list[OutputProgress]:
        """Where each output stands."""
        elapsed = time.monotonic() - self._clock
        known = self.query.lastProgress if self.query is not None else None
        last: dict[str, Any] = {} if known is None else dict(known)
        doing = "starting" if self.query is None else str(self.query.status["message"])
        return [
            OutputProgress(
                output=name,
                hard=self.group.hard,
                batches=self.batches,
                rows_per_second=pace.rows_per_second(elapsed),
                batch_ms=(last.get("durationMs") or {}).get("triggerExecution"),
                lag_s=(now() - tally.newest) / 1e6 if tally.newest else None,
                tuples=tally.tuples,
                judged=tally.tuples - tally.replayed,
                misses=tally.misses,
                doing=doing,
            )
            for (name, tally), pace in zip(self.tallies.items(), self.paces, strict=True)
        ]
