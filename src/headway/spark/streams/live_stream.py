"""A stream on Spark, watched: its numbers as of the last micro-batch, in its output folder.

Only where that folder is local; ``headway watch`` shows it (:mod:`headway.engine.live_state`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from headway.engine.live_state import LiveOutput, LiveState, LiveWriter, RecentEvents
from headway.model.plan import Plan
from headway.model.quantities import MILLISECOND
from headway.model.query import Criticality
from headway.spark.streams.run_metrics import BatchMetrics, OnMetrics, OutputMetrics


class LiveStream(LiveWriter):
    """It is called like any other who wants the metrics, and calls those of ``then``."""

    def __init__(self, plan: Plan, folder: Path, then: Sequence[OnMetrics] = ()) -> None:
        super().__init__(plan, folder)
        self._then = then
        self._began = time.monotonic_ns()
        self._events = RecentEvents()
        self._outputs: dict[str, LiveOutput] = {
            output.name: LiveOutput(
                output=output.name, hard=output.criticality is Criticality.HARD,
                deadline=output.deadline or 0, bound=None, tuples=0, missed=0,
            )
            for output in plan.query.outputs
        }  # fmt: skip
        self._counts: dict[str, int] = {}

    def __call__(self, metrics: BatchMetrics) -> None:
        for one in metrics.outputs:
            self._outputs[one.output] = self._output(one)
        self._counts |= {**metrics.dropped, **metrics.counts}
        new = sum(one.new_tuples for one in metrics.outputs)
        self._events.add(
            self._passed, metrics.part, f"micro-batch {metrics.batch}: {new:,} tuples out"
        )
        for one_more in self._then:
            one_more(metrics)

    def _output(self, found: OutputMetrics) -> LiveOutput:
        before = self._outputs[found.output]
        times = {"latency_median": found.latency_p50_ms, "latency_99": found.latency_p99_ms}
        known = times if found.judged else {}  # a replay has no latencies
        return LiveOutput(
            output=found.output,
            hard=found.hard,
            deadline=before.deadline,
            bound=None,
            tuples=found.tuples,
            missed=found.misses,
            **{name: int(value * MILLISECOND) for name, value in known.items()},
        )

    @property
    def _passed(self) -> int:
        return time.monotonic_ns() - self._began

    def state(self) -> LiveState:
        return LiveState(
            query=self.plan.query.name,
            vehicle="a fleet",
            engine="Spark",
            running=True,
            passed=self._passed,
            outputs=tuple(self._outputs.values()),
            events=self._events.all(),
            counts=dict(self._counts),
        )
