"""Does the driver of a long stream keep its memory?

The rows of an hour (ten vehicles, ten tuples a second and source) go through a live query with a
filter and a windowed join, cut into micro-batches of two seconds' rows; the hour is replayed as
quickly as Spark can. Every so many micro-batches: resident memory of the driver's Python and of its
Java; of Java's heap what is in use after a full collection, and what it has taken from the system.

    python benchmarks/bench_spark_memory.py [--hours 1] [--batches 1800] [--samples 12]
"""

from __future__ import annotations

import argparse
import gc
import os
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headway.compiler import compile_query
from headway.files import load_query
from headway.spark.session.spark_session import owned_session, run_conf

QUERY = """
query: memory
sources:
  speed: {schema: {v: double}, lateness: 1 s}
  heat: {schema: {celsius: double}, lateness: 1 s}
operators:
  fast: {filter: v > 30.0, from: speed}
  both:
    join: {s: speed, h: heat}
    within: 5 ms
    select: {v: s.v, celsius: h.celsius}
  mean:
    aggregate: {v: avg(v), celsius: max(celsius), n: count(*)}
    from: both
    window: 10 s
outputs:
  warning: {from: fast, deadline: 1 s, criticality: hard}
  means: {from: mean, deadline: 60 s, criticality: hard}
"""
VEHICLES = 10
CYCLE_US = 100_000
BEGIN_US = 1_767_225_600_000_000
COLUMNS = {"speed": "v", "heat": "celsius"}


def write_recording(folder: Path, hours: float, batches: int) -> int:
    """A file of each source for each micro-batch; gives how many rows there are in all."""
    random = np.random.default_rng(1)
    cycles = int(hours * 3_600_000_000 / CYCLE_US) // batches
    vehicles = [f"v{place}" for place in range(VEHICLES)] * cycles
    for source, column in COLUMNS.items():
        (folder / source).mkdir(parents=True)
        for batch in range(batches):
            first = BEGIN_US + batch * cycles * CYCLE_US
            times = np.repeat(first + CYCLE_US * np.arange(cycles), VEHICLES)
            table = pa.table(
                {
                    "timestamp": pa.array(times, pa.timestamp("us", tz="UTC")),
                    "vehicle": vehicles,
                    column: random.uniform(0, 40, len(times)),
                }
            )
            path = folder / source / f"{batch:06d}.parquet"
            pq.write_table(table, path)
            os.utime(path, (1_700_000_000 + batch, 1_700_000_000 + batch))
    return len(COLUMNS) * batches * cycles * VEHICLES


def resident_mb(pid: int | str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise SystemExit(f"no VmRSS for {pid}")


def sample(java: Any, pid: int) -> tuple[float, ...]:
    """Python, Java, heap in use after collection, heap taken; in MB."""
    gc.collect()
    runtime = java.java.lang.Runtime.getRuntime()
    resident, taken = resident_mb(pid), runtime.totalMemory()  # collecting may give some back
    java.java.lang.System.gc()
    used = runtime.totalMemory() - runtime.freeMemory()
    return resident_mb("self"), resident, used / 2**20, taken / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--batches", type=int, default=1800)
    parser.add_argument("--samples", type=int, default=12)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headway-memory-", dir="/dev/shm") as name:
        scratch = Path(name)
        (scratch / "query.yaml").write_text(QUERY)
        plan = compile_query(load_query(scratch / "query.yaml").query)
        rows = write_recording(scratch / "recording", options.hours, options.batches)
        with owned_session("local[2]", "memory", run_conf("edf", {})) as spark:
            from headway.spark.stream.stream_run import StreamRun

            java: Any = spark._jvm
            pid = java.java.lang.ProcessHandle.current().pid()
            stream = StreamRun(
                spark, plan, scratch / "recording", scratch / "out", available_now=True,
                checkpoint=scratch / "checkpoint", files_per_batch=1,
            )  # fmt: skip
            (query,) = stream.queries
            running = threading.Thread(target=stream.run)
            began = time.perf_counter()
            running.start()
            found: list[tuple[float, ...]] = []
            step = options.batches // options.samples
            while running.is_alive():
                if query.batches >= (len(found) + 1) * step:
                    found.append((query.batches, *sample(java, pid)))
                    print("after {:,} micro-batches: Python {:.0f} MB, Java {:.0f} MB, its heap "
                          "{:.0f} of {:.0f} MB".format(*found[-1]), flush=True)  # fmt: skip
                time.sleep(0.1)
            running.join()
            took = time.perf_counter() - began
            tuples = sum(one.tuples for one in stream.outcome().outputs)
    half = np.array(found[len(found) // 2 :])
    slopes = [1000 * np.polyfit(half[:, 0], half[:, place], 1)[0] for place in (1, 2, 3, 4)]
    print(f"{rows:,} rows, {tuples:,} tuples out, {query.batches:,} micro-batches in {took:.0f} s")
    print("in the second half, for each 1,000 micro-batches: Python {:+.1f} MB, Java {:+.1f} MB, "
          "its heap {:+.1f} of {:+.1f} MB".format(*slopes))  # fmt: skip


if __name__ == "__main__":
    main()
