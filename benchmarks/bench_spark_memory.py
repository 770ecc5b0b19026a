"""Does a long stream keep its memory, its state and its files?

The rows of an hour (ten vehicles, ten tuples a second and source) go through a query with a filter
and a windowed join, cut into micro-batches of two seconds' rows; the hour is replayed as quickly as
Spark can. Every so many micro-batches: resident memory of the driver's Python, of its Java and of
its Python workers; of Java's heap what is in use after a full collection; files and bytes of the
state, and of the whole checkpoint (Spark's own list of the files it has read is in it and grows
with them). What grows by less than a tenth from the second quarter of the run to its last is flat.

    python benchmarks/bench_spark_memory.py [--hours 1] [--batches 1800] [--samples 12]
        [--json FILE] [--quick]
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from spark_fleet import BEGIN_US, MOMENT, write_file
from spark_measuring import JavaHeap, folder_size, headway, java_pid, resident_mb, session, tree

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
COLUMNS = {"speed": "v", "heat": "celsius"}
STATE = ("_states", "state")
LOOK_S = 0.1
GROWTH = 1.1


@dataclass(frozen=True)
class Sample:
    """After so many micro-batches; memory in MB."""

    batches: int
    python: float
    java: float
    heap: float
    workers: float
    state_files: int
    state_kb: float
    checkpoint_files: int

    @property
    def line(self) -> str:
        return (
            f"after {self.batches:6,} micro-batches: Python {self.python:.0f} MB, Java "
            f"{self.java:.0f} MB, its heap {self.heap:.0f} MB, workers {self.workers:.0f} MB; "
            f"state {self.state_files} files, {self.state_kb:,.0f} kB; checkpoint "
            f"{self.checkpoint_files:,} files"
        )


def write_recording(folder: Path, hours: float, batches: int) -> int:
    """A file of each source for each micro-batch; gives how many rows there are in all."""
    random = np.random.default_rng(1)
    cycles = int(hours * 3_600_000_000 / CYCLE_US) // batches
    vehicles = [f"v{place}" for place in range(VEHICLES)] * cycles
    for source, column in COLUMNS.items():
        for batch in range(batches):
            first = BEGIN_US + batch * cycles * CYCLE_US
            times = np.repeat(first + CYCLE_US * np.arange(cycles), VEHICLES)
            table = pa.table(
                {
                    "timestamp": pa.array(times, MOMENT),
                    "vehicle": vehicles,
                    column: random.uniform(0, 40, len(times)),
                }
            )
            write_file(table, folder / source, batch)
    return len(COLUMNS) * batches * cycles * VEHICLES


class Sampler(threading.Thread):
    """Looks at the run from beside it; a full collection of Java comes with each sample."""

    def __init__(self, spark: Any, checkpoint: Path, every: int) -> None:
        super().__init__(daemon=True)
        self._heap, self._java = JavaHeap(spark), java_pid(spark)
        self._checkpoint, self._every = checkpoint, every
        self.over = threading.Event()
        self.found: list[Sample] = []

    def run(self) -> None:
        while not self.over.wait(LOOK_S):
            if (done := self._batches()) >= (len(self.found) + 1) * self._every:
                self.found.append(self._sample(done))
                print(self.found[-1].line, file=sys.__stdout__, flush=True)

    def _batches(self) -> int:
        numbers = [
            int(path.name)
            for path in self._checkpoint.glob("*/commits/[0-9]*")
            if path.name.isdecimal()
        ]
        return max(numbers, default=-1) + 1

    def _sample(self, batches: int) -> Sample:
        gc.collect()
        java = resident_mb(self._java)  # collecting may give some back
        kept = self._heap.kept()
        workers = [pid for pid in tree(self._java) if pid != self._java]
        states = [folder_size(path) for name in STATE for path in self._checkpoint.rglob(name)]
        return Sample(
            batches,
            resident_mb(os.getpid()),
            java,
            kept,
            sum(map(resident_mb, workers)),
            sum(files for files, _ in states),
            sum(size for _, size in states) / 1024,
            folder_size(self._checkpoint)[0],
        )


def growth(found: list[Sample]) -> dict[str, float]:
    """Of each series, the mean of the last quarter by that of the second."""
    quarter = max(1, len(found) // 4)
    told = {}
    for field in fields(Sample)[1:]:
        series = [float(getattr(one, field.name)) for one in found]
        early, late = np.mean(series[quarter : 2 * quarter]), np.mean(series[-quarter:])
        told[field.name] = float(late / early) if early else 1.0
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--batches", type=int, default=1800)
    parser.add_argument("--samples", type=int, default=12)
    parser.add_argument("--json", type=Path, help="write all numbers there")
    parser.add_argument("--quick", action="store_true", help="the hour in 300 micro-batches")
    options = parser.parse_args()
    if options.quick:
        options.batches = 300
    with tempfile.TemporaryDirectory(prefix="headway-memory-") as name:
        scratch = Path(name)
        (scratch / "query.yaml").write_text(QUERY)
        rows = write_recording(scratch / "recording", options.hours, options.batches)
        with session("local[2]") as spark:
            checkpoint = Path(f"{scratch / 'out'}-checkpoint")
            sampler = Sampler(spark, checkpoint, max(1, options.batches // options.samples))
            sampler.start()
            began = time.perf_counter()
            headway(scratch / "query.yaml", scratch / "recording", scratch / "out", 1, "local[2]")
            took = time.perf_counter() - began
            sampler.over.set()
            sampler.join()
        outputs = folder_size(scratch / "out")[0]
    told = growth(sampler.found)
    print(f"{rows:,} rows in {options.batches:,} micro-batches in {took:.0f} s, "
          f"{outputs:,} files written")  # fmt: skip
    for series, ratio in told.items():
        verdict = "flat" if ratio < GROWTH else "grows"
        print(f"  {series:17} {ratio:5.2f}x from the second quarter to the last: {verdict}")
    if options.json:
        samples = [asdict(one) for one in sampler.found]
        data = {"rows": rows, "seconds": took, "samples": samples, "growth": told}
        options.json.write_text(json.dumps(data, indent=1))


if __name__ == "__main__":
    main()
