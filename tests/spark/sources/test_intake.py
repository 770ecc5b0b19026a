"""What a micro-batch stands for: pieces of tuples, by source."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.spark.sources.intakes import drained

from headway.spark.sources.intake import StreamedTuples

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def streamed(spark: SparkSession, folder: Path, text: str) -> DataFrame:
    folder.mkdir()
    (folder / "a.csv").write_text(text)
    return spark.readStream.schema("timestamp timestamp, v double").csv(str(folder))


def test_a_stream_of_tuples_is_one_piece(spark: SparkSession, tmp_path: Path) -> None:
    speed = streamed(spark, tmp_path / "speed", "2026-01-01T00:00:00Z,1.5\n")
    radar = streamed(spark, tmp_path / "radar", "2026-01-01T00:00:00Z,2.5\n" * 2)
    (alone,) = drained(StreamedTuples({"speed": speed}), tmp_path / "alone")
    assert (alone.batch, alone.mark, alone.last) == (0, 1, True)
    both = StreamedTuples({"speed": speed, "radar": radar})
    (taken,) = drained(both, tmp_path / "both")
    assert taken.values("speed") == [1.5]
    assert taken.values("radar") == [2.5, 2.5]
    assert taken.rows["speed"][0].asDict().keys() == {"timestamp", "v"}
    assert drained(both, tmp_path / "again", mark=1) == [], "it was committed"
