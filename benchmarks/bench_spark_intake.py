"""What reading costs a stream: Headway's intake against a hand-written ``readStream.parquet``.

Both hand every micro-batch to Spark's ``noop`` writer, so that nothing but the way to the tuples is
measured: a backlog in few large pieces, and single small files, one after the other::

    python -m benchmarks.bench_spark_intake [--rows 3000000] [--rounds 3] [--master local[2]]

Rounds alternate; ratios are of medians in the same run.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.spark_measuring import session
from pyspark.sql import DataFrame, SparkSession

from headway.model.quantities import MILLISECOND, Rate
from headway.model.query import Source
from headway.model.schema import schema
from headway.spark.sources.checked_files import Quarantine, Rejected
from headway.spark.sources.intake import IntakePiece, Limits, each_piece
from headway.spark.sources.recorded_files import Inputs

SPEED = Source(name="speed", schema=schema(v="double"), rate=Rate(1, MILLISECOND), delay=0)
FILES, SMALL_FILES, SMALL_ROWS = 10, 20, 2_000
Way = Callable[[SparkSession, Path, Path, int | None], None]


def write(folder: Path, files: int, rows: int) -> None:
    place = folder / "speed"
    place.mkdir(parents=True)
    random = np.random.default_rng(1)
    for number in range(files):
        times = (np.arange(rows) + number * rows) * 1000
        vehicles = pa.array([f"car{one}" for one in range(200)]).take(np.arange(rows) % 200)
        table = {"timestamp": pa.array(times, pa.timestamp("us", tz="UTC")),
                 "v": random.random(rows) * 60, "vehicle": vehicles}  # fmt: skip
        pq.write_table(pa.table(table), place / f"{number:04}.parquet")


def consumed(data: DataFrame) -> None:
    data.where("v > 30").selectExpr("vehicle", "timestamp", "v * 3.6 AS v").write.format(
        "noop"
    ).mode("append").save()


def headway(spark: SparkSession, folder: Path, scratch: Path, files: int | None) -> None:
    intake = Inputs(folder).intake(
        spark, [SPEED], Quarantine(scratch / "q"), Rejected(scratch / "r"), Limits(files)
    )

    def compute(piece: IntakePiece) -> None:
        consumed(piece.sources["speed"])

    def on_batch(batch: DataFrame, number: int) -> None:
        each_piece(intake, batch, number, 0, compute)

    _run(intake.stream, on_batch, scratch)


def by_hand(spark: SparkSession, folder: Path, scratch: Path, files: int | None) -> None:
    reader = spark.readStream.schema("timestamp timestamp, v double, vehicle string")
    if files is not None:
        reader = reader.option("maxFilesPerTrigger", files)
    _run(reader.parquet(str(folder / "speed")), lambda batch, _: consumed(batch), scratch)


def _run(stream: DataFrame, on_batch: Callable[[DataFrame, int], None], scratch: Path) -> None:
    writer = stream.writeStream.option("checkpointLocation", str(scratch / "c"))
    writer.trigger(availableNow=True).foreachBatch(on_batch).start().awaitTermination()


WAYS: dict[str, Way] = {"by hand": by_hand, "headway": headway}


def compare(spark: SparkSession, folder: Path, rounds: int, files: int | None) -> dict[str, float]:
    """Median seconds, by way; the first round warms up."""
    took: dict[str, list[float]] = {name: [] for name in WAYS}
    for _ in range(rounds + 1):
        for name, way in WAYS.items():
            with tempfile.TemporaryDirectory() as scratch:
                own = spark.newSession()
                clock = time.perf_counter()
                way(own, folder, Path(scratch), files)
                took[name].append(time.perf_counter() - clock)
    return {name: statistics.median(seconds[1:]) for name, seconds in took.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--master", default="local[2]")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, session(options.master) as spark:
        large, small = Path(scratch) / "large", Path(scratch) / "small"
        write(large, FILES, options.rows // FILES)
        write(small, SMALL_FILES, SMALL_ROWS)
        found = compare(spark, large, options.rounds, None)
        for name, seconds in found.items():
            print(f"{options.rows:,} rows, {name}: {options.rows / seconds:,.0f} rows/s")
        print(f"headway / by hand: {found['by hand'] / found['headway']:.2f} x")
        found = compare(spark, small, options.rounds, 1)
        for name, seconds in found.items():
            print(f"{SMALL_ROWS:,} rows a batch, {name}: {1000 * seconds / SMALL_FILES:.0f} ms")
        print(f"headway / by hand: {found['by hand'] / found['headway']:.2f} x")


if __name__ == "__main__":
    main()
