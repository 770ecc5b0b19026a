"""A query live on Spark: its groups of outputs, started, watched, restarted and stopped.

Output and checkpoint are this run's alone: it holds their locks until it ends.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from pyspark.sql import SparkSession

from headway.engine.operators.operator_base import DropKind
from headway.engine.run_folder import SUMMARY
from headway.errors import FileError
from headway.model.graph import graph_of
from headway.model.plan import Plan
from headway.model.quantities import SECOND, format_duration
from headway.model.query import Criticality
from headway.spark.batches.batch_sinks import FILES, OnRows, Sink
from headway.spark.capabilities import Mode, refuse_unsupported
from headway.spark.lowering.regions import ancestors
from headway.spark.session.restarts import Restarts
from headway.spark.session.spark_failures import explained, translated
from headway.spark.session.urgency import GATES, NoGate, refuse_below_floor, shares
from headway.spark.side_files import in_order, side_name, write_empty_side
from headway.spark.sources.checked_files import FOLDER, Quarantine, Rejected, notes
from headway.spark.sources.intake import Limits, StreamInputs
from headway.spark.sources.recorded_files import Inputs
from headway.spark.spark_results import OutputProgress, SideCount, SparkRun
from headway.spark.storage.locations import Location
from headway.spark.streams.checkpoints import MARK, Checkpoint, open_run
from headway.spark.streams.micro_batches import StreamBounds
from headway.spark.streams.run_lock import Lock, claimed
from headway.spark.streams.run_metrics import OnMetrics, QueryMetrics
from headway.spark.streams.stream_query import GroupQuery, groups_of

LOOK_S = 0.1
SUMMARY_S = 5.0
HOLD = SECOND
"""how long a live vehicle's tuples wait for a source of which nothing comes"""


class StreamRun:
    """``run`` returns when the input has ended (``available_now``), when ``stop`` is called from
    another thread, or on Ctrl-C, with what was done until then. ``on_outcome`` gets it too, and
    every few seconds what was done so far.

    ``max_rate``: tuples a second that are taken in, of all sources together; ``forget``: vehicles
    of which nothing comes for so long (ns) lose their state; ``most_held``: tuples of a vehicle
    that wait for other sources; ``partitions``: how many the vehicles are dealt out to, otherwise
    as many as there are slots. ``adopt`` goes on with a query that has changed
    since the checkpoint, ``afresh`` throws its results away. ``locks`` are those of output and
    checkpoint where the caller holds them, as one does who looks before Spark starts.
    ``upload_gap``: what arrived so long (ns) before the newest of its vehicle is a delayed upload
    of its own. ``on_metrics`` is called after each micro-batch."""

    def __init__(
        self,
        spark: SparkSession,
        plan: Plan,
        inputs: StreamInputs | Path,
        output: Path | Location,
        *,
        checkpoint: Path | Location,
        sink: Sink | None = None,
        policy: str = "edf",
        available_now: bool = False,
        files_per_batch: int | None = None,
        max_rate: float | None = None,
        forget: int | None = None,
        most_held: int | None = None,
        partitions: int | None = None,
        upload_gap: int | None = None,
        late_ok: bool = False,
        afresh: bool = False,
        adopt: bool = False,
        locks: list[Lock] | None = None,
        on_look: Callable[[], None] = lambda: None,
        on_rows: OnRows = lambda name, rows: None,
        on_outcome: Callable[[SparkRun], object] = lambda run: None,
        on_metrics: OnMetrics | None = None,
    ) -> None:
        refuse_unsupported(plan, Mode.STREAM)
        if not late_ok:
            refuse_below_floor(plan)
        self._inputs: StreamInputs = Inputs(inputs) if isinstance(inputs, Path) else inputs
        self._sink = sink or Sink()
        self._inputs.check(plan.query, streaming=True, spark=spark)
        self._sink.check(spark)
        self._spark, self._plan, self._output = spark, plan, Location.of(output)
        self._on_look, self._on_outcome = on_look, on_outcome
        self._stopping = False
        hold = None if available_now else HOLD
        place = Checkpoint(Location.of(checkpoint), self._output, spark)
        self._held = ExitStack()
        if locks is None:
            locks = self._held.enter_context(claimed([place.folder, place.output], spark))
        self._locks = locks
        try:
            about = run_about(
                self._inputs, self._sink, available_now=available_now, upload_gap=upload_gap
            )
            run = open_run(plan, place, about, afresh=afresh, adopt=adopt)
        except BaseException:
            self._held.close()
            raise
        self._adopted = run.notes
        self.resumed = run.resumed
        any_hard = any(o.criticality is Criticality.HARD for o in plan.query.outputs)
        share = shares(any_hard=any_hard, policy=policy)
        self._gate = GATES[policy]()
        self._rejected = Rejected(self._output / side_name(DropKind.REJECTED, plan), spark)
        if not run.resumed:
            write_empty_side(plan, self._output, place.results)
        bounds = StreamBounds(hold, forget, most_held, partitions, upload_gap)
        self.queries: list[GroupQuery] = []
        listed: set[str] = set()
        for group in groups_of(plan):
            streams = [one.stream for one in group.outputs]
            computed = ancestors(graph_of(plan.query), streams)
            self.queries.append(
                GroupQuery(
                    plan=plan,
                    group=group,
                    inputs=self._inputs,
                    output=self._output,
                    checkpoint=Location.of(checkpoint),
                    run=run.id,
                    began=run.began,
                    share=share[group.hard],
                    gate=NoGate() if group.hard else self._gate,
                    sink=self._sink,
                    listed=frozenset(computed - listed),
                    available_now=available_now,
                    bounds=bounds,
                    limits=Limits(files_per_batch, max_rate),
                    on_rows=on_rows,
                    earlier=run.earlier,
                )
            )
            listed |= computed
        self._restarts = [Restarts() for _ in self.queries]
        self._on_metrics = on_metrics
        self._metrics = [
            QueryMetrics(plan.query.name, one.group.name, one.group.outputs, one.group.hard)
            for one in self.queries
        ]
        self._available_now = available_now
        self._clock = time.perf_counter()
        self._told = self._clock - SUMMARY_S

    def run(self) -> SparkRun:
        with self._held:
            return self._run()

    def _run(self) -> SparkRun:
        try:
            with translated():
                for query, metrics in zip(self.queries, self._metrics, strict=True):
                    query.start(self._spark)
                    if query.record is not None:
                        done = (query.record.batch, query.record.step)
                        metrics.begin(done, query.tallies)
                self._watch()
        except KeyboardInterrupt:
            self._stopping = True
        finally:
            self._stop_queries()
        self._tell()
        if self._available_now and not self._stopping:
            with translated():
                for query in self.queries:
                    query.finish()
            self._tell()
        outcome = self.outcome()
        self._on_outcome(outcome)
        return outcome

    def stop(self) -> None:
        self._stopping = True

    def _watch(self) -> None:
        while not self._stopping:
            self._on_look()
            for lock in self._locks:
                lock.check()
            pairs = zip(self.queries, self._restarts, strict=True)
            active = [self._still_runs(query, restarts) for query, restarts in pairs]
            if not any(active):
                return
            self._tell()
            if time.perf_counter() - self._told > SUMMARY_S:
                with suppress(FileError):  # the disk may have room again at the end
                    self._on_outcome(self.outcome())
                self._told = time.perf_counter()
            time.sleep(LOOK_S)

    def _tell(self) -> None:
        """What micro-batches since the last time gave, to who wants to know."""
        if self._on_metrics is None:
            return
        for group, metrics in zip(self.queries, self._metrics, strict=True):
            record = group.record
            if record is None or group.query is None:
                continue
            done = (record.batch, record.step)
            if not metrics.has_news(done):
                continue
            found = metrics.told(
                done,
                group.tallies,
                record.side,
                {**record.counts, **record.loaded},
                dict(group.query.lastProgress or {}),
            )
            self._on_metrics(found)

    def _still_runs(self, group: GroupQuery, restarts: Restarts) -> bool:
        query = group.query
        assert query is not None
        if query.isActive:
            restarts.note(group.batches)
            return True
        error = query.exception()
        if error is None:
            return False
        if not restarts.failed(str(error)):
            raise explained(error) from error
        if restarts.is_due:
            restarts.started(group.batches)
            group.start(self._spark)
        return True

    def _stop_queries(self) -> None:
        self._gate.give_up()
        for group in self.queries:
            group.stop()

    # ---------------------------------------------------------------- what was done

    @property
    def files(self) -> list[str]:
        """What the output folder holds of this run."""
        kind = self._sink.format
        outputs = [f"{one.name}.{kind}" for one in self._plan.query.outputs if kind in FILES]
        sides = [side_name(kind, self._plan) for kind in DropKind]
        return [*outputs, *sides, FOLDER, SUMMARY, MARK]

    def outcome(self) -> SparkRun:
        by_name = {
            name: summary for group in self.queries for name, summary in group.summaries().items()
        }
        told = ("continued from its checkpoint: tuples are counted since the run began",)
        left_out = Quarantine(self._output / FOLDER, self._spark).entries()
        return SparkRun(
            outputs=tuple(by_name[output.name] for output in self._plan.query.outputs),
            seconds=time.perf_counter() - self._clock,
            batches=sum(group.batches for group in self.queries),
            restarts=sum(one.total for one in self._restarts),
            side=self._side(),
            notes=(*(told if self.resumed else ()), *self._adopted, *notes(left_out)),
        )

    def _side(self) -> tuple[SideCount, ...]:
        counts: Counter[tuple[str, str]] = Counter()
        for group in self.queries:
            counts.update({} if group.record is None else group.record.side)
        for source, count in self._rejected.counts().items():
            counts["rejected", source] += count
        found = [SideCount(kind, where, n) for (kind, where), n in counts.items() if n]
        return in_order(found, self._plan)

    def progress(self) -> list[OutputProgress]:
        """Where each output stands now."""
        return [one for group in self.queries for one in group.progress()]


def run_about(
    inputs: StreamInputs, sink: Sink, *, available_now: bool, upload_gap: int | None = None
) -> dict[str, str]:
    """What must stay besides the query when a stream goes on."""
    options = (f"{key}={value}" for key, value in sorted(sink.options.items()))
    return {
        "input": inputs.identity,
        "format": " ".join([sink.format, *options]),
        "kind of run": "--available-now" if available_now else "live",
        "upload gap": "none" if upload_gap is None else format_duration(upload_gap),
    }
