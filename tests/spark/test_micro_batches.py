"""How much a stream takes at a time."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.kill_spark import Case, files, rows
from pyspark.sql import SparkSession
from tests.cli.running import HELLO, headway

from headway.spark.sources import file_intake
from headway.spark.sources.intake import IntakePiece
from headway.spark.state.partition_files import StatesBefore
from headway.spark.streams import micro_batches
from headway.spark.streams.micro_batches import MicroBatches, StreamStep


def test_a_backlog_is_taken_in_pieces_that_the_slots_can_hold(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert spark.sparkContext.master == "local[2]"
    case = Case("hello", tmp_path, pieces=3)
    case.cut()
    sizes = [path.stat().st_size for path in (case.recording / "speed").iterdir()]
    found = {}
    for name, most in (("whole", sum(sizes)), ("pieces", min(sizes) // 2)):
        monkeypatch.setattr(file_intake, "BYTES_PER_SLOT", most)
        done = headway(
            "run", HELLO, "--mode", "stream", "--available-now", "--late-ok",
            "--master", "local[2]", "--input", case.recording,
            "--output", tmp_path / name,
        )  # fmt: skip
        assert done.exit_code == 0, done.output
        found[name] = rows(tmp_path / name)["alarm.parquet"]
    steps = {name: {path.name.split("-")[1] for path in files(tmp_path / name)} for name in found}
    assert (len(steps["whole"]), len(steps["pieces"])) == (1, len(sizes))
    assert found["pieces"] == found["whole"]


def test_who_reads_the_tuples_makes_no_difference(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With few partitions every task reads those of its vehicles, with many Spark deals them
    out."""
    assert spark.sparkContext.master == "local[2]"
    case = Case("tyre_watch", tmp_path, pieces=3)
    case.cut()
    dealt_out: list[int] = []
    by_spark = MicroBatches._by_spark

    def noted(
        self: MicroBatches, piece: IntakePiece, step: int, before: StatesBefore | None
    ) -> StreamStep:
        dealt_out.append(step)
        return by_spark(self, piece, step, before)

    monkeypatch.setattr(MicroBatches, "_by_spark", noted)
    found, counts = {}, {}
    for name, most in (("tasks", 8), ("spark", 1)):
        monkeypatch.setattr(micro_batches, "MOST_READERS", most)
        done = headway(
            "run", case.query, "--mode", "stream", "--available-now", "--late-ok",
            "--master", "local[2]", "--partitions", "2", "--files-per-batch", "1",
            "--input", case.recording, "--output", tmp_path / name,
        )  # fmt: skip
        assert done.exit_code == 0, done.output
        found[name], counts[name] = rows(tmp_path / name), len(dealt_out)
    assert found["tasks"] == found["spark"]
    assert any(found["tasks"].values())
    assert counts["tasks"] == 0 < counts["spark"]
