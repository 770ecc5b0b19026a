"""A map, windows and a join over Parquet: Headway's batch against programs by hand, side by side.

The peers are what a Spark programmer would write for the same answer: nothing is counted, marked
or checked that was not asked for. Both read the same files and write Parquet, in one session, in
turns, so that noise of the machine hits both; the answers are compared, and the ratio of the
medians is what counts (above 1: Headway is quicker).

    python benchmarks/bench_spark_batch.py [--rows 10000000] [--rounds 3] [--vehicles 200]
                                           [--cases map,window,join] [--conf KEY=VALUE ...]
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headway.compiler import compile_query
from headway.files import load_query
from headway.model.plan import Plan
from headway.spark.session.spark_session import owned_session, parse_options, run_conf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SPEED = "speed: {schema: {wheel: int, v: double}, lateness: 1 s}"
_HEAT = "heat: {schema: {wheel: int, celsius: double}, lateness: 1 s}"
WHEELS = 4
STEP_US = 10_000
BEGIN_US = 1_767_225_600_000_000
SLICE_US = 40_000
WITHIN_US = 5_000


# ---------------------------------------------------------------- by hand


def map_by_hand(speed: DataFrame, heat: DataFrame) -> DataFrame:
    return speed.where("v > 1.0").selectExpr(
        "vehicle", "timestamp", "wheel", "v * 3.6 AS kmh", "sqrt(v) + wheel AS score"
    )


def window_by_hand(speed: DataFrame, heat: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    grouped = speed.groupBy("vehicle", F.window("timestamp", "1 second"), "wheel").agg(
        F.min("timestamp").alias("timestamp"),
        F.avg("v").alias("v"),
        F.max("v").alias("high"),
        F.count("*").alias("n"),
    )
    return grouped.select("vehicle", "timestamp", "wheel", "v", "high", "n")


def join_by_hand(speed: DataFrame, heat: DataFrame) -> DataFrame:
    """Slices of time as keys, as one does for such joins; a tuple near an edge is in both."""
    from pyspark.sql import functions as F

    micros = "unix_micros(timestamp)"
    left = speed.selectExpr(
        "vehicle", "wheel", "v", f"{micros} AS t", f"{micros} div {SLICE_US} AS slice"
    )
    near = f"sequence(({micros} - {WITHIN_US}) div {SLICE_US}, ({micros} + {WITHIN_US}) div {SLICE_US})"  # noqa: E501
    right = heat.selectExpr(
        "vehicle", "wheel", "celsius", f"{micros} AS u", f"explode({near}) AS slice"
    )
    both = left.join(right, ["vehicle", "wheel", "slice"])
    return both.where(F.abs(F.col("t") - F.col("u")) <= WITHIN_US).selectExpr(
        "vehicle", "timestamp_micros(least(t, u)) AS timestamp", "wheel", "v", "celsius"
    )


@dataclass(frozen=True)
class Case:
    """A query and its peer; ``output`` is the one they both give."""

    query: str
    by_hand: Callable[[DataFrame, DataFrame], DataFrame]


CASES = {
    "map": Case(
        f"""
query: bench
sources:
  {_SPEED}
operators:
  moving: {{filter: v > 1.0, from: speed}}
  out: {{map: {{wheel: wheel, kmh: v * 3.6, score: sqrt(v) + wheel}}, from: moving}}
outputs:
  out: {{from: out, deadline: 60 s, criticality: soft}}
""",
        map_by_hand,
    ),
    "window": Case(
        f"""
query: bench
sources:
  {_SPEED}
operators:
  out:
    aggregate: {{v: avg(v), high: max(v), n: count(*)}}
    from: speed
    by: [wheel]
    window: 1 s
outputs:
  out: {{from: out, deadline: 60 s, criticality: soft}}
""",
        window_by_hand,
    ),
    "join": Case(
        f"""
query: bench
sources:
  {_SPEED}
  {_HEAT}
operators:
  out:
    join: {{s: speed, h: heat}}
    within: {WITHIN_US // 1000} ms
    keys: [wheel]
    select: {{wheel: s.wheel, v: s.v, celsius: h.celsius}}
outputs:
  out: {{from: out, deadline: 60 s, criticality: soft}}
""",
        join_by_hand,
    ),
}


# ---------------------------------------------------------------- side by side


def write_recording(folder: Path, rows: int, vehicles: int) -> None:
    """Two sources of ``rows`` in all, a hundred tuples of a vehicle a second, in four files each;
    the other source's tuples are some milliseconds off, of which a part is near enough."""
    random = np.random.default_rng(1)
    files = 4
    for name, column in (("speed", "v"), ("heat", "celsius")):
        (folder / name).mkdir(parents=True)
        each = rows // 2 // vehicles
        for file in range(files):
            mine = np.arange(each * file // files, each * (file + 1) // files, dtype=np.int64)
            at = np.repeat(BEGIN_US + STEP_US * mine, vehicles)
            if name == "heat":
                at = at + random.integers(0, STEP_US, len(at))
            wheel = np.repeat((mine % WHEELS).astype(np.int32), vehicles)
            names = pa.array([f"v{number}" for number in range(vehicles)])
            codes = np.tile(np.arange(vehicles, dtype=np.int32), len(mine))
            pq.write_table(
                pa.table(
                    {
                        "timestamp": pa.array(at).cast(pa.timestamp("us", tz="UTC")),
                        "wheel": wheel,
                        column: random.uniform(0, 40, len(at)),
                        "arrived_at": pa.array(at + 500).cast(pa.timestamp("us", tz="UTC")),
                        "vehicle": pa.DictionaryArray.from_arrays(codes, names).cast(pa.string()),
                    }
                ),
                folder / name / f"{file}.parquet",
            )


def by_hand(spark: SparkSession, case: Case, recording: Path, output: Path) -> None:
    sources = [spark.read.parquet(str(recording / name)) for name in ("speed", "heat")]
    case.by_hand(*sources).write.parquet(str(output))


def by_headway(spark: SparkSession, plan: Plan, recording: Path, output: Path) -> None:
    from headway.spark.batches.batch_run import Batch
    from headway.spark.sources.recorded_files import Inputs
    from headway.spark.storage.locations import Location
    from headway.spark.storage.output_folder import OutputFolder

    with OutputFolder(Location.of(output)) as folder:
        Batch(spark, plan, Inputs(recording), folder).run()


def fingerprint(data: DataFrame, columns: list[str]) -> tuple[int, int]:
    """How many rows, and a sum of hashes; sums of doubles depend on the order in their last
    places."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import DoubleType

    kinds = {field.name: field.dataType for field in data.schema.fields}
    exact = [
        F.round(name, 9) if isinstance(kinds[name], DoubleType) else F.col(name) for name in columns
    ]
    hashed = F.xxhash64(*exact).cast("decimal(38,0)")
    (row,) = data.agg(F.count("*"), F.sum(hashed)).collect()
    return row[0], int(row[1] or 0)


@dataclass
class Times:
    """Of one program, round by round: seconds, and seconds of Java's processors, which tell more
    where others use the machine too."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def take(self, spark: SparkSession, run: Callable[[], None]) -> None:
        began, used = time.perf_counter(), cpu_seconds(spark)
        run()
        self.wall.append(time.perf_counter() - began)
        self.cpu.append(cpu_seconds(spark) - used)

    @property
    def medians(self) -> tuple[float, float]:
        """Without the first round, which warms up."""
        return statistics.median(self.wall[1:]), statistics.median(self.cpu[1:])


def cpu_seconds(spark: SparkSession) -> float:
    java: Any = spark._jvm
    used = java.java.lang.ProcessHandle.current().info().totalCpuDuration()
    return float(used.get().toMillis()) / 1000


def side_by_side(
    spark: SparkSession, name: str, scratch: Path, recording: Path, rounds: int
) -> tuple[Times, Times, int]:
    """Headway, by hand, and the rows they gave; who begins changes from round to round."""
    case = CASES[name]
    (scratch / "query.yaml").write_text(case.query)
    plan = compile_query(load_query(scratch / "query.yaml").query)
    ours, hand, count = Times(), Times(), 0
    for number in range(rounds + 1):
        one = scratch / f"{name}-{number}"
        runs: list[tuple[Times, Callable[[], None]]] = [
            (hand, lambda one=one: by_hand(spark, case, recording, one / "hand")),  # type: ignore[misc]
            (ours, lambda one=one: by_headway(spark, plan, recording, one / "ours")),  # type: ignore[misc]
        ]
        for times, run in runs if number % 2 else reversed(runs):
            times.take(spark, run)
        if number == 0:
            theirs = spark.read.parquet(str(one / "hand"))
            mine = spark.read.parquet(str(one / "ours" / "out.parquet"))
            found = fingerprint(mine, theirs.columns), fingerprint(theirs, theirs.columns)
            assert found[0] == found[1], f"{name}: Headway {found[0]}, by hand {found[1]}"
            count = found[0][0]
        shutil.rmtree(one)
    return ours, hand, count


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--vehicles", type=int, default=200)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--master", default="local[*]")
    parser.add_argument("--conf", action="append", default=[])
    options = parser.parse_args(arguments)
    conf = run_conf("edf", parse_options(options.conf, "--conf"))
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as name:
        scratch = Path(name)
        # A map and windows read one source, so each has as many rows as are asked for.
        write_recording(scratch / "one", 2 * options.rows, options.vehicles)
        write_recording(scratch / "two", options.rows, options.vehicles)
        with owned_session(options.master, "bench", conf) as spark:
            for case in options.cases.split(","):
                recording = scratch / ("two" if case == "join" else "one")
                ours, hand, count = side_by_side(spark, case, scratch, recording, options.rounds)
                (wall, cpu), (hand_wall, hand_cpu) = ours.medians, hand.medians
                print(
                    f"{case}: {options.rows:,} rows in, {count:,} out: Headway {wall:.2f} s, by "
                    f"hand {hand_wall:.2f} s: {hand_wall / wall:.2f}x (processor time {cpu:.2f} s "
                    f"and {hand_cpu:.2f} s: {hand_cpu / cpu:.2f}x)",
                    flush=True,
                )


if __name__ == "__main__":
    main()
