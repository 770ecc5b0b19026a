"""The numbers that a live query shows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headway.report.tables.run_tables import spark_progress
from headway.spark.spark_results import OutputProgress, StreamPace


def test_the_pace_is_that_of_the_last_seconds() -> None:
    pace = StreamPace()
    assert pace.rows_per_second(1.0) == 0.0
    pace.note(2.0, 100)
    assert pace.rows_per_second(4.0) == pytest.approx(25.0)
    for second in range(3, 31):
        pace.note(float(second), 100 + 10 * (second - 2))
    assert pace.rows_per_second(30.0) == pytest.approx(10.0, rel=0.11)
    pace.note(60.0, 380)
    assert pace.rows_per_second(60.0) == 0.0, "nothing for long"


def test_a_line_per_output() -> None:
    alarm = OutputProgress(
        output="alarm", hard=True, batches=3, rows_per_second=1234.5, batch_ms=None, lag_s=None,
        tuples=0, judged=0, misses=0, doing="Getting offsets",
    )  # fmt: skip
    mean = OutputProgress(
        output="mean", hard=False, batches=1, rows_per_second=0.0, batch_ms=1480, lag_s=2.34,
        tuples=5_000, judged=40, misses=2, doing="Processing new data",
    )  # fmt: skip
    old = replace(mean, output="old", lag_s=3e7, judged=0, misses=0)
    assert spark_progress([alarm, mean, old], 12.0).rows == [
        ["alarm", "hard", "3", "1,234", "–", "–", "0", "–", "Getting offsets"],
        ["mean", "soft", "1", "0", "1,480 ms", "2.3 s", "5,000", "2 of 40", "Processing new data"],
        ["old", "soft", "1", "0", "1,480 ms", "a replay", "5,000", "–", "Processing new data"],
    ]
