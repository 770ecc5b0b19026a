"""How late a live row comes out: Headway against a hand-written Structured Streaming program.

Two queries: a filter and a map; and filter, map, join and windowed mean. Both programs get the
same Parquet files at the same pace, run with the same settings of Spark and write Parquet files.
They take turns, each time in a process of its own. The latency of a row is the time from when it
was sensed (of a window: from its end) until the file it is in was complete.

    python benchmarks/bench_spark_latency.py [--seconds 15] [--rounds 2] [--queries rows,windows]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headway.compiler import compile_query
from headway.files import load_query
from headway.spark.session.spark_session import owned_session, run_conf

SOURCES = """
sources:
  speed: {schema: {wheel: int, v: double}, lateness: 1 s}
  heat: {schema: {wheel: int, celsius: double}, lateness: 1 s}
"""
QUERIES = {
    "rows": """
query: rows
sources:
  speed: {schema: {wheel: int, v: double}, lateness: 1 s}
operators:
  moving: {filter: v > 1.0, from: speed}
  kmh: {map: {wheel: wheel, v: v * 3.6}, from: moving}
outputs:
  out: {from: kmh, deadline: 1 s, criticality: hard}
""",
    "windows": f"""
query: windows
{SOURCES}
operators:
  moving: {{filter: v > 1.0, from: speed}}
  kmh: {{map: {{wheel: wheel, v: v * 3.6}}, from: moving}}
  both:
    join: {{s: kmh, h: heat}}
    within: 5 ms
    keys: [wheel]
    select: {{wheel: s.wheel, v: s.v, celsius: h.celsius}}
  mean:
    aggregate: {{v: avg(v), celsius: max(celsius), n: count(*)}}
    from: both
    by: [wheel]
    window: 1 s
outputs:
  out: {{from: mean, deadline: 10 s, criticality: hard}}
""",
}
COLUMNS = {"speed": "v", "heat": "celsius"}
VEHICLES, WHEELS = 10, 4
EVERY_S = 0.1
WINDOW_US = 1_000_000
WARM_UP_FILES = 20
SLOTS = 2
PATIENCE_S = 120.0
HAND_SCHEMA = "timestamp timestamp, vehicle string, wheel int, {} double"


def write_file(folder: Path, column: str, number: int, now: int) -> None:
    """Every wheel of every vehicle, sensed now; appears whole."""
    size = VEHICLES * WHEELS
    table = pa.table(
        {
            "timestamp": pa.array([now] * size, pa.timestamp("us", tz="UTC")),
            "vehicle": [f"v{place // WHEELS}" for place in range(size)],
            "wheel": pa.array([place % WHEELS for place in range(size)], pa.int32()),
            column: np.linspace(2.0, 40.0, size),
        }
    )
    part = folder / f".{number}.part"
    pq.write_table(table, part)
    part.replace(folder / f"{number:06d}.parquet")


def feed(recording: Path, sources: list[str], over: threading.Event) -> None:
    number, due = 1, time.monotonic()
    while not over.is_set():
        now = time.time_ns() // 1000
        for source in sources:
            write_file(recording / source, COLUMNS[source], number, now)
        number += 1
        due += EVERY_S
        time.sleep(max(0.0, due - time.monotonic()))


@contextmanager
def by_headway(
    spark: Any, query: str, recording: Path, scratch: Path, begin: Callable[[], None]
) -> Iterator[None]:
    from headway.spark.streams.stream_run import StreamRun

    (scratch / "query.yaml").write_text(QUERIES[query])
    plan = compile_query(load_query(scratch / "query.yaml").query)
    stream = StreamRun(spark, plan, recording, scratch / "out", checkpoint=scratch / "checkpoint")
    running = threading.Thread(target=stream.run)
    running.start()
    begin()
    yield
    stream.stop()
    running.join()


def hand_written(spark: Any, query: str, recording: Path) -> Any:
    """What a Spark programmer would write."""
    from pyspark.sql import functions as F

    speed = (
        spark.readStream.schema(HAND_SCHEMA.format("v"))
        .parquet(str(recording / "speed"))
        .where("v > 1.0")
        .select("timestamp", "vehicle", "wheel", (F.col("v") * 3.6).alias("v"))
    )
    if query == "rows":
        return speed
    left = speed.withWatermark("timestamp", "1 second").alias("s")
    heat = spark.readStream.schema(HAND_SCHEMA.format("celsius"))
    right = heat.parquet(str(recording / "heat")).withWatermark("timestamp", "1 second")
    near = "interval 5 milliseconds"
    condition = F.expr(
        "s.vehicle = h.vehicle AND s.wheel = h.wheel AND h.timestamp BETWEEN "
        f"s.timestamp - {near} AND s.timestamp + {near}"
    )
    both = left.join(right.alias("h"), condition).select(
        F.col("s.timestamp").alias("timestamp"), "s.vehicle", "s.wheel", "v", "celsius"
    )
    means = both.groupBy("vehicle", "wheel", F.window("timestamp", "1 second")).agg(
        F.avg("v").alias("v"), F.max("celsius").alias("celsius"), F.count("*").alias("n")
    )
    return means.select(
        "vehicle", "wheel", F.col("window.start").alias("timestamp"), "v", "celsius", "n"
    )


@contextmanager
def by_hand(
    spark: Any, query: str, recording: Path, scratch: Path, begin: Callable[[], None]
) -> Iterator[None]:
    """Through Spark's Parquet sink."""
    writer = hand_written(spark, query, recording).writeStream.format("parquet")
    writer = writer.option("path", str(scratch / "out" / "out.parquet"))
    running = writer.option("checkpointLocation", str(scratch / "checkpoint")).start()
    begin()
    yield
    running.stop()


@contextmanager
def by_hand_in_driver(
    spark: Any, query: str, recording: Path, scratch: Path, begin: Callable[[], None]
) -> Iterator[None]:
    """Without that sink: each micro-batch is collected and written under its number. The quickest
    way there is; no file is checked, no row accounted for."""
    folder = scratch / "out" / "out.parquet"
    folder.mkdir(parents=True)

    def write(batch: Any, number: int) -> None:
        if (table := batch.toArrow()).num_rows:
            part = folder / f".{number}.part"
            pq.write_table(table, part)
            part.replace(folder / f"{number}.parquet")

    writer = hand_written(spark, query, recording).writeStream.foreachBatch(write)
    running = writer.option("checkpointLocation", str(scratch / "checkpoint")).start()
    begin()
    yield
    running.stop()


PROGRAMS = {"Headway": by_headway, "by hand": by_hand, "by hand, in the driver": by_hand_in_driver}


def outputs(scratch: Path) -> list[Path]:
    folder = scratch / "out" / "out.parquet"
    return [path for path in folder.glob("*.parquet") if not path.name.startswith((".", "_"))]


def latencies(query: str, scratch: Path, began: int, ended: int) -> Any:
    """In milliseconds, of the rows that were due in the time of measuring."""
    found = []
    for path in outputs(scratch):
        completed = path.stat().st_mtime_ns // 1000
        due = np.asarray(pq.read_table(path)["timestamp"].cast(pa.int64()))
        if query == "windows":
            due = due // WINDOW_US * WINDOW_US + WINDOW_US
        found.append((completed - due[(due > began) & (due <= ended)]) / 1e3)
    return np.concatenate([*found, np.zeros(0)])


def phase(program: str, query: str, seconds: float, scratch: Path) -> dict[str, float]:
    sources = ["speed"] if query == "rows" else ["speed", "heat"]
    recording = scratch / "recording"
    now = time.time_ns() // 1000
    for source in sources:
        (recording / source).mkdir(parents=True)
        write_file(recording / source, COLUMNS[source], 0, now)
    over = threading.Event()
    feeder = threading.Thread(target=feed, args=(recording, sources, over))
    with owned_session(f"local[{SLOTS}]", "latency", run_conf("edf", {})) as spark:
        with PROGRAMS[program](spark, query, recording, scratch, feeder.start):
            until = time.monotonic() + PATIENCE_S
            while len(outputs(scratch)) < WARM_UP_FILES and time.monotonic() < until:
                time.sleep(0.1)
            began = time.time_ns() // 1000
            time.sleep(seconds)
            ended = time.time_ns() // 1000
            time.sleep(4)  # what was due by then comes out
        over.set()
        feeder.join()
    found = latencies(query, scratch, began, ended)
    return {"p50": float(np.percentile(found, 50)), "p99": float(np.percentile(found, 99)),
            "rows": len(found)}  # fmt: skip


def in_a_process(program: str, query: str, seconds: float) -> dict[str, float]:
    command = [sys.executable, __file__, "--program", program, "--queries", query]
    done = subprocess.run(
        [*command, "--seconds", str(seconds)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--queries", default=",".join(QUERIES))
    parser.add_argument("--program", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.program:
        with tempfile.TemporaryDirectory(prefix="headway-latency-", dir="/dev/shm") as scratch:
            print(json.dumps(phase(options.program, options.queries, options.seconds,
                                   Path(scratch))))  # fmt: skip
        return
    for query in options.queries.split(","):
        found: dict[str, list[dict[str, float]]] = {program: [] for program in PROGRAMS}
        for _ in range(options.rounds):
            for program, results in found.items():
                results.append(in_a_process(program, query, options.seconds))
                one = results[-1]
                print(f"{query:8} {program:22} p50 {one['p50']:7.1f} ms, p99 {one['p99']:7.1f} ms, "
                      f"{one['rows']:,} rows", flush=True)  # fmt: skip
        median = {
            (program, share): statistics.median(one[share] for one in results)
            for program, results in found.items()
            for share in ("p50", "p99")
        }
        for other in list(PROGRAMS)[1:]:
            told = ", ".join(
                f"{share} {median['Headway', share] / median[other, share]:.2f}x"
                for share in ("p50", "p99")
            )
            print(f"{query}: Headway's latency by that of the program {other}: {told}", flush=True)


if __name__ == "__main__":
    main()
