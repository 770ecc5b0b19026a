"""A query live on Spark: its groups of outputs, started, watched, restarted and stopped."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from headway.model.plan import Plan
from headway.model.query import Criticality
from headway.model.time import SECOND
from headway.spark.accounting import now
from headway.spark.checkpoints import open_run
from headway.spark.failures import explained, translated
from headway.spark.floor import refuse_below_floor
from headway.spark.gate import GATES, NoGate
from headway.spark.groups import groups_of
from headway.spark.outcome import SparkRun
from headway.spark.pools import shares
from headway.spark.sources.quarantine import FOLDER, Quarantine, notes
from headway.spark.stream_query import GroupQuery
from headway.spark.supervise import may_restart

LOOK_S = 0.1
HOLD = SECOND
"""how long a live vehicle's tuples wait for a source of which nothing comes"""


class StreamRun:
    """``run`` returns when the input has ended (``available_now``), when ``stop`` is called from
    another thread, or on Ctrl-C, with what was done until then."""

    def __init__(
        self,
        spark: SparkSession,
        plan: Plan,
        recording: Path,
        output: Path,
        *,
        checkpoint: Path,
        policy: str = "edf",
        available_now: bool = False,
        files_per_batch: int | None = None,
        late_ok: bool = False,
        on_look: Callable[[], None] = lambda: None,
    ) -> None:
        if not late_ok:
            refuse_below_floor(plan)
        self._spark = spark
        self._on_look = on_look
        self._stopping = False
        hold = None if available_now else HOLD
        run = open_run(plan, checkpoint, output, holds=hold is not None)
        self.resumed = run.resumed
        slots = spark.sparkContext.defaultParallelism
        any_hard = any(o.criticality is Criticality.HARD for o in plan.query.outputs)
        share = shares(slots, any_hard=any_hard, policy=policy)
        self._gate = GATES[policy]()
        self.queries = [
            GroupQuery(
                plan,
                group,
                recording,
                output,
                checkpoint,
                run.began,
                share[group.hard],
                NoGate() if group.hard else self._gate,
                available_now,
                hold,
                files_per_batch,
            )
            for group in groups_of(plan)
        ]
        self._available_now = available_now
        self._clock = time.perf_counter()

    def run(self) -> SparkRun:
        try:
            with translated():
                for query in self.queries:
                    query.start(self._spark)
                self._watch()
        except KeyboardInterrupt:
            self._stopping = True
        finally:
            self._stop_queries()
        if self._available_now and not self._stopping:
            with translated():
                for query in self.queries:
                    query.finish()
        return self.outcome()

    def stop(self) -> None:
        self._stopping = True

    def _watch(self) -> None:
        while not self._stopping:
            self._on_look()
            active = [self._still_runs(query) for query in self.queries]
            if not any(active):
                return
            time.sleep(LOOK_S)

    def _still_runs(self, group: GroupQuery) -> bool:
        query = group.query
        assert query is not None
        if query.isActive:
            return True
        error = query.exception()
        if error is None:
            return False
        if not may_restart(str(error), group.restarts):
            raise explained(error) from error
        group.restarts += 1
        group.start(self._spark)
        return True

    def _stop_queries(self) -> None:
        self._gate.give_up()
        for group in self.queries:
            if group.query is not None and group.query.isActive:
                group.query.stop()

    def outcome(self) -> SparkRun:
        by_name = {
            tally.account.output.name: tally.summary()
            for group in self.queries
            for tally in group.tallies
        }
        order = [output.name for output in self.queries[0].plan.query.outputs]
        told = ("continued from its checkpoint: numbers are of this process",)
        left_out = Quarantine(self.queries[0].output / FOLDER).entries()
        return SparkRun(
            outputs=tuple(by_name[name] for name in order),
            seconds=time.perf_counter() - self._clock,
            batches=sum(group.batches for group in self.queries),
            restarts=sum(group.restarts for group in self.queries),
            notes=(*(told if self.resumed else ()), *notes(left_out)),
        )

    def progress(self) -> str:
        """A line for each group: rows a second, batch time, lag, misses of each output."""
        lines = []
        for group in self.queries:
            last = group.last
            rate = last.get("processedRowsPerSecond") or 0.0
            took = (last.get("durationMs") or {}).get("triggerExecution", 0)
            newest = max((tally.newest for tally in group.tallies), default=0)
            lag = (now() - newest) / 1e6 if newest else 0.0
            missed = ", ".join(
                f"{tally.account.output.name} {tally.misses:,} missed of "
                f"{tally.tuples - tally.replayed:,}"
                for tally in group.tallies
            )
            lines.append(
                f"{group.group.name}: {group.batches:,} batches, {rate:,.0f} rows/s, "
                f"{took} ms a batch, lag {lag:,.1f} s; {missed}"
            )
        return "\n".join(lines)
