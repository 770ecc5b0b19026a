"""A stream on Spark, as those see it who watch: between micro-batches, too."""

from __future__ import annotations

from pathlib import Path

from tests.cli.invoke import EXAMPLES
from tests.waiting import until

import headway as hw
from headway.engine.live_state import LIVE, read_live
from headway.spark.streams.live_stream import LiveStream
from headway.spark.streams.run_metrics import BatchMetrics, OutputMetrics


def metrics(judged: int) -> BatchMetrics:
    one = OutputMetrics(
        output="alarm", hard=True, deadline_ms=5.0, tuples=40, judged=judged, misses=2,
        new_tuples=7, new_misses=1, latency_p50_ms=1.5, latency_p99_ms=2.25, lag_s=0.5,
    )  # fmt: skip
    return BatchMetrics(
        query="hello", part="alarm", batch=3, at=1, outputs=(one,), dropped={"late": 4},
        counts={"vehicles": 2}, spark={},
    )  # fmt: skip


def test_a_stream_is_heard_of_between_its_micro_batches(tmp_path: Path) -> None:
    plan = hw.compile(EXAMPLES / "hello" / "query.yaml", EXAMPLES / "hello" / "vehicle.yaml").plan
    told: list[BatchMetrics] = []
    with LiveStream(plan, tmp_path, [told.append]) as live:
        first = read_live(tmp_path)
        assert [(one.output, one.tuples) for one in first.outputs] == [("alarm", 0)]
        until(lambda: read_live(tmp_path).passed > first.passed)
        live(metrics(judged=40))
        until(lambda: read_live(tmp_path).outputs[0].tuples)
        found = read_live(tmp_path)
    assert (found.engine, found.running) == ("Spark", True)
    (alarm,) = found.outputs
    assert (alarm.tuples, alarm.missed, alarm.latency_99) == (40, 2, 2_250_000)
    assert found.counts == {"late": 4, "vehicles": 2}
    assert [event.what for event in found.events] == ["micro-batch 3: 7 tuples out"]
    assert told == [metrics(judged=40)]
    assert not (tmp_path / LIVE).exists()


def test_a_replay_has_no_latencies(tmp_path: Path) -> None:
    plan = hw.compile(EXAMPLES / "hello" / "query.yaml", EXAMPLES / "hello" / "vehicle.yaml").plan
    live = LiveStream(plan, tmp_path)
    live(metrics(judged=0))
    (alarm,) = live.state().outputs
    assert (alarm.latency_99, alarm.tuples) == (None, 40)
