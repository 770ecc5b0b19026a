"""What a stream tells of itself after each micro-batch."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

from headway.errors import FileError
from headway.model.query import Criticality, Output
from headway.spark.streams.run_metrics import MetricsLines, QueryMetrics
from headway.spark.tallies import Tally

ALARM = Output(name="alarm", stream="fast", deadline=600_000_000, criticality=Criticality.HARD)

RUN = UUID(int=7)


def tally(latencies_ms: list[int], *, began: int = 0) -> Tally:
    found = Tally()
    completed = 10_000_000
    sensed = np.array([completed - 1000 * one for one in latencies_ms], dtype=np.int64)
    found.add(sensed, completed, 600_000, began)
    return found


def test_sums_and_what_is_new() -> None:
    metrics = QueryMetrics("brake", "hard", (ALARM,), hard=True)
    assert metrics.has_news((0, 0))
    first = metrics.told(
        (0, 0), {"alarm": tally([100, 700])}, {("late", "mean"): 3, ("late", "near"): 1}, {}, {}
    )
    (alarm,) = first.outputs
    assert (alarm.tuples, alarm.misses, alarm.new_tuples, alarm.new_misses) == (2, 1, 2, 1)
    assert alarm.deadline_ms == 600.0
    assert alarm.latency_p99_ms == pytest.approx(700, rel=0.02)
    assert first.dropped == {"late": 4, "shed": 0, "failed": 0}
    assert not metrics.has_news((0, 0)), "told already"
    assert metrics.has_news((2, 2))
    second = metrics.told((2, 2), {"alarm": tally([100, 700, 800])}, {}, {"held": 5}, {"id": RUN})
    assert (second.batch, second.outputs[0].new_tuples, second.outputs[0].new_misses) == (2, 1, 1)
    data = second.data()
    assert data["headway.alarm.misses"] == 2
    assert data["headway.held"] == 5
    assert data["headway.late"] == 0
    assert json.loads(json.dumps(data))["spark.id"] == str(RUN), "Spark gives an object"


def test_what_earlier_processes_did_is_not_new() -> None:
    metrics = QueryMetrics("brake", "hard", (ALARM,), hard=True)
    metrics.begin((7, 8), {"alarm": tally([100, 700])})
    assert not metrics.has_news((7, 8))
    assert metrics.has_news((8, 8)), "after the end of the input it went on with more"
    told = metrics.told((8, 8), {"alarm": tally([100, 700, 800])}, {}, {}, {})
    assert (told.outputs[0].tuples, told.outputs[0].new_tuples) == (3, 1)


def test_lines_of_json(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text("{}\n")
    lines = MetricsLines(path)
    metrics = QueryMetrics("brake", "hard", (ALARM,), hard=True)
    for batches in (1, 2):
        lines(metrics.told((batches - 1, batches), {}, {}, {}, {}))
    lines.close()
    _, *told = map(json.loads, path.read_text().splitlines())
    assert [one["headway.batch"] for one in told] == [0, 1]
    assert {one["headway.query"] for one in told} == {"brake"}
    with pytest.raises(FileError, match="cannot write here: Is a directory"):
        MetricsLines(tmp_path)
