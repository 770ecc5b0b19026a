"""What a micro-batch stands for: pieces of tuples, by source."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headway.spark.sources.intake import Intake, Piece, StreamedTuples

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def drained(intake: Intake, checkpoint: Path, mark: int = 0) -> list[tuple[int, Piece, dict]]:
    """All batches of what is there now: batch, piece, rows by source."""
    found: list[tuple[int, Piece, dict]] = []

    def on_batch(batch: DataFrame, number: int) -> None:
        for piece in intake.pieces(batch, number, mark):
            rows = {name: data.collect() for name, data in piece.sources.items()}
            found.append((number, piece, rows))

    writer = intake.stream.writeStream.option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).foreachBatch(on_batch).start().awaitTermination()
    return found


def streamed(spark: SparkSession, folder: Path, text: str) -> DataFrame:
    folder.mkdir()
    (folder / "a.csv").write_text(text)
    return spark.readStream.schema("timestamp timestamp, v double").csv(str(folder))


def test_a_stream_of_tuples_is_one_piece(spark: SparkSession, tmp_path: Path) -> None:
    speed = streamed(spark, tmp_path / "speed", "2026-01-01T00:00:00Z,1.5\n")
    radar = streamed(spark, tmp_path / "radar", "2026-01-01T00:00:00Z,2.5\n" * 2)
    alone = drained(StreamedTuples({"speed": speed}), tmp_path / "alone")
    assert [(number, piece.mark, piece.last) for number, piece, _ in alone] == [(0, 1, True)]
    both = StreamedTuples({"speed": speed, "radar": radar})
    ((_, piece, rows),) = drained(both, tmp_path / "both")
    assert {name: [row.v for row in found] for name, found in rows.items()} == {
        "speed": [1.5],
        "radar": [2.5, 2.5],
    }
    assert piece.sources["speed"].columns == ["timestamp", "v"]
    assert drained(both, tmp_path / "again", mark=1) == [], "it was committed"
