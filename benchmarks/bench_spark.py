"""Headway on Spark against a hand-written PySpark program for the same query, side by side.

The query: a filter, a map, a join of two sources within a second by vehicle and key, a windowed
mean. Both programs read the same Parquet and write Parquet. They take turns, so that noise of the
machine hits both; the ratio of the medians is what counts. The same number of rows is shared by
few and by many vehicles: the cost of a row must not depend on that.

    python benchmarks/bench_spark.py [--rows 10000000] [--rounds 3] [--vehicles 10,200,2000]
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headway.compiler import compile_query
from headway.files import load_query
from headway.model.plan import Plan
from headway.spark.session.spark_session import owned_session, run_conf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY = """
query: bench
sources:
  speed: {schema: {wheel: int, v: double}, lateness: 1 s}
  heat: {schema: {wheel: int, celsius: double}, lateness: 1 s}
operators:
  moving: {filter: v > 1.0, from: speed}
  kmh: {map: {wheel: wheel, v: v * 3.6}, from: moving}
  both:
    join: {s: kmh, h: heat}
    within: 5 ms
    keys: [wheel]
    select: {wheel: s.wheel, v: s.v, celsius: h.celsius}
  mean:
    aggregate: {v: avg(v), celsius: max(celsius), n: count(*)}
    from: both
    by: [wheel]
    window: 10 s
outputs:
  means: {from: mean, deadline: 60 s, criticality: soft}
"""
WHEELS = 4
STEP_US = 10_000
BEGIN_US = 1_767_225_600_000_000


def write_recording(folder: Path, rows: int, vehicles: int) -> None:
    """Two sources with half of the rows each; every vehicle has as many, at 100 tuples a second."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(1)
    each = rows // 2 // vehicles
    for name, column in (("speed", "v"), ("heat", "celsius")):
        time_us = BEGIN_US + STEP_US * np.arange(each, dtype=np.int64)
        wheel = (np.arange(each) % WHEELS).astype(np.int32)
        writer = None
        for vehicle in range(vehicles):
            table = pa.table(
                {
                    "timestamp": pa.array(time_us).cast(pa.timestamp("us", tz="UTC")),
                    "wheel": wheel,
                    column: random.uniform(0, 40, each),
                    "arrived_at": pa.array(time_us + 500).cast(pa.timestamp("us", tz="UTC")),
                    "vehicle": pa.array([f"v{vehicle}"] * each),
                }
            )
            writer = writer or pq.ParquetWriter(folder / f"{name}.parquet", table.schema)
            writer.write_table(table)
        assert writer is not None
        writer.close()


def by_hand(spark: SparkSession, recording: Path, output: Path) -> None:
    """What a Spark programmer would write; time is cut into slices, as one does for such joins."""
    from pyspark.sql import functions as F

    reach = 5_000
    speed = spark.read.parquet(str(recording / "speed.parquet")).where("v > 1.0")
    micros = F.unix_micros("timestamp")
    left = speed.select(
        "vehicle", "wheel", (F.col("v") * 3.6).alias("v"), micros.alias("t"),
        F.expr(f"unix_micros(timestamp) div {reach}").alias("slice"),
    )  # fmt: skip
    near = F.expr(
        f"sequence(unix_micros(timestamp) div {reach} - 1, unix_micros(timestamp) div {reach} + 1)"
    )
    right = spark.read.parquet(str(recording / "heat.parquet")).select(
        "vehicle", "wheel", "celsius", micros.alias("u"), F.explode(near).alias("slice")
    )
    both = left.join(right, ["vehicle", "wheel", "slice"]).where(
        F.abs(F.col("t") - F.col("u")) <= reach
    )
    at = F.timestamp_micros(F.greatest("t", "u"))
    means = both.groupBy("vehicle", "wheel", F.window(at, "10 seconds")).agg(
        F.avg("v").alias("v"), F.max("celsius").alias("celsius"), F.count("*").alias("n")
    )
    means.select("vehicle", F.col("window.end").alias("timestamp"), "wheel", "v", "celsius", "n") \
        .write.parquet(str(output))  # fmt: skip


def by_headway(spark: SparkSession, plan: Plan, recording: Path, output: Path) -> None:
    from headway.spark.batches.batch_run import Batch
    from headway.spark.sources.recorded_files import Inputs
    from headway.spark.storage.locations import Location
    from headway.spark.storage.output_folder import OutputFolder

    with OutputFolder(Location.of(output)) as folder:
        Batch(spark, plan, Inputs(recording), folder).run()


def timed(run: Callable[[], None]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def side_by_side(
    spark: SparkSession, plan: Plan, scratch: Path, rows: int, vehicles: int, rounds: int
) -> tuple[float, float]:
    """Median seconds of Headway and of the program by hand, after a round to warm up."""
    recording = scratch / f"recording{rows}-{vehicles}"
    if not recording.exists():
        write_recording(recording, rows, vehicles)
    ours, hand = [], []
    for number in range(rounds + 1):
        one = scratch / f"out-{vehicles}-{number}"
        hand.append(timed(lambda one=one: by_hand(spark, recording, one / "hand")))  # type: ignore[misc]
        ours.append(timed(lambda one=one: by_headway(spark, plan, recording, one / "ours")))  # type: ignore[misc]
        if number == 0:
            counts = [spark.read.parquet(str(path)).count() for path in
                      (one / "hand", one / "ours" / "means.parquet")]  # fmt: skip
            print(f"  rows out: by hand {counts[0]:,}, Headway {counts[1]:,}", flush=True)
    return statistics.median(ours[1:]), statistics.median(hand[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--vehicles", default="10,200,2000")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as name:
        scratch = Path(name)
        (scratch / "query.yaml").write_text(QUERY)
        plan = compile_query(load_query(scratch / "query.yaml").query)
        with owned_session("local[*]", "bench", run_conf("edf", {})) as spark:
            for vehicles in map(int, options.vehicles.split(",")):
                rows = options.rows
                ours, hand = side_by_side(spark, plan, scratch, rows, vehicles, options.rounds)
                print(
                    f"{rows:,} rows, {vehicles:,} vehicles: Headway {rows / ours:,.0f} rows/s, by "
                    f"hand {rows / hand:,.0f} rows/s: {hand / ours:.2f}x; "
                    f"{ours / rows * 1e6:.2f} us a row",
                    flush=True,
                )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"driver's Python: {peak:.0f} MB at most")


if __name__ == "__main__":
    main()
