"""What grows with what in a stream on Spark: with rows out, with state, with slots, with tasks.

- ``rows``: micro-batches that give 10 thousand to 3 million rows, on a local cluster whose
  executors are processes of their own. Of the driver (its Python and its Java): processor time of a
  micro-batch, most resident memory of Python, Java's heap at its peak and after a collection;
- ``tasks``: the same for a growing number of partitions: the driver's share of a task;
- ``state``: the state of 1,000 to 100,000 vehicles is kept while micro-batches of 2,000 rows touch
  200 of them: time of a micro-batch and bytes of the checkpoint, beside Spark's own windows;
- ``slots``: the windowed aggregate on ``local[1]``, ``local[2]`` and a cluster of two workers.

    python benchmarks/bench_spark_growth.py [rows tasks state slots] [--json FILE] [--quick]
        [--most-rows 3000000] [--most-vehicles 100000] [--rows 600000] [--rounds 1]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from bench_spark_stream import compare, setting, show, summary
from spark_fleet import BEGIN_US, MOMENT, QUERIES, TICK_US, Fleet, write_file
from spark_measuring import (
    JavaHeap,
    ProcessWatch,
    commits,
    count_written,
    folder_size,
    headway,
    java_pid,
    session,
)
from spark_peers import ROCKSDB, Given, window_native

CLUSTER = "local-cluster[2,1,1024]"
KINDS = ("rows", "tasks", "state", "slots")
MASTERS = ("local[1]", "local[2]", CLUSTER)
OUT_ROWS = (10_000, 100_000, 1_000_000, 3_000_000)
STATES = (1_000, 10_000, 100_000)
PARTITIONS = (2, 8, 32)
BATCHES = 4
TOUCHED, SMALL_ROWS, SMALL_BATCHES = 200, 2_000, 20


@dataclass(frozen=True)
class Driver:
    """What the driver did for one micro-batch; memory in MB."""

    rows_out: int
    batch_ms: float
    cpu_ms: float
    python_mb: float
    heap_peak_mb: float
    heap_kept_mb: float


class DriverMeter:
    """The driver's processes; executors, which its Java started, do not count."""

    def __init__(self, spark: Any) -> None:
        self._pids = (os.getpid(), java_pid(spark))
        self._heap = JavaHeap(spark)

    def run(self, rows_out: int, scratch: Path, *more: str) -> Driver:
        """A stream of ``BATCHES`` equal micro-batches; the first, in which the query starts, is
        not in the times."""
        fleet = _pairs(rows_out)
        folder = scratch / f"fleet{fleet.rows}"
        if not folder.exists():  # by another process: what writing takes is not the driver's
            writer = get_context("spawn").Process(target=fleet.write, args=(folder,))
            writer.start()
            writer.join()
        query = folder / "query.yaml"
        out = scratch / f"out{fleet.rows}-{time.monotonic_ns()}"
        self._heap.kept()
        self._heap.reset()
        with ProcessWatch(*self._pids) as watch:
            headway(query, folder / "recording", out, fleet.files // BATCHES, CLUSTER, *more)
        peak, kept = self._heap.peak(), self._heap.kept()
        if (got := count_written(out)) != rows_out * BATCHES:
            raise SystemExit(f"{got:,} rows out instead of {rows_out * BATCHES:,}")
        ends = commits(Path(f"{out}-checkpoint"))[:BATCHES]
        return Driver(
            rows_out,
            1e3 * (ends[-1] - ends[0]) / (BATCHES - 1),
            1e3 * watch.processor_s(ends[0], ends[-1]) / (BATCHES - 1),
            watch.most_mb,
            peak,
            kept,
        )


def _pairs(rows_out: int) -> Fleet:
    """A join: each micro-batch gives so many rows from twice as many, in four files a source."""
    vehicles = min(2_000, rows_out // 10)
    return Fleet("join", 2 * rows_out * BATCHES, vehicles, max(1, rows_out // 4))


def rows_out(options: argparse.Namespace) -> list[dict[str, Any]]:
    found = []
    with session(CLUSTER) as spark, tempfile.TemporaryDirectory(prefix="headway-rows-") as scratch:
        meter = DriverMeter(spark)
        sizes = [size for size in OUT_ROWS if size <= options.most_rows]
        meter.run(sizes[0], Path(scratch))  # to warm up
        for size in sizes:
            one = meter.run(size, Path(scratch))
            found.append({"kind": "rows", **vars(one)})
            print(
                f"{size:9,} rows out a micro-batch: {one.batch_ms:8,.0f} ms; driver "
                f"{one.cpu_ms:6,.0f} ms of processor, Python {one.python_mb:5,.0f} MB, Java's heap "
                f"{one.heap_peak_mb:5,.0f} MB at most, {one.heap_kept_mb:4,.0f} MB kept",
                flush=True,
            )
    slope = np.polyfit([one["rows_out"] for one in found], [one["cpu_ms"] for one in found], 1)[0]
    print(f"the driver's processor time grows by {1e6 * slope:.2f} ms for a million rows out")
    return found


def tasks(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The same rows in more partitions."""
    size = min(100_000, options.most_rows)
    found = []
    with session(CLUSTER) as spark, tempfile.TemporaryDirectory(prefix="headway-tasks-") as scratch:
        meter = DriverMeter(spark)
        meter.run(size, Path(scratch))  # to warm up
        for partitions in PARTITIONS:
            one = meter.run(size, Path(scratch), "--partitions", str(partitions))
            found.append({"kind": "tasks", **vars(one), "partitions": partitions})
            print(f"{partitions:3} partitions: {one.batch_ms:8,.0f} ms a micro-batch, driver "
                  f"{one.cpu_ms:6,.0f} ms of processor", flush=True)  # fmt: skip
    slope = np.polyfit([one["partitions"] for one in found], [one["cpu_ms"] for one in found], 1)[0]
    print(f"the driver's processor time grows by {slope:.2f} ms for a partition")
    return found


# ---------------------------------------------------------------- state


def write_states(folder: Path, vehicles: int) -> Path:
    """A row of every vehicle, then small files of a few: the windows of all stay open."""
    query, touched = folder / "query.yaml", min(TOUCHED, vehicles)
    names = pa.array([f"v{number:06d}" for number in range(vehicles)])
    first = np.full(vehicles, BEGIN_US)
    _write_speed(folder, 0, names, first)
    for number in range(1, SMALL_BATCHES + 1):
        row = np.arange(SMALL_ROWS)
        tick = number * SMALL_ROWS // touched + row // touched
        _write_speed(folder, number, names.take(pa.array(row % touched)), BEGIN_US + tick * TICK_US)
    query.write_text(QUERIES["window"].replace("window: 5 s", "window: 1 h"))
    return query


def _write_speed(folder: Path, number: int, vehicle: pa.Array, times: np.ndarray) -> None:
    count = len(times)
    table = pa.table(
        {
            "timestamp": pa.array(times, MOMENT),
            "vehicle": vehicle,
            "wheel": pa.array(np.zeros(count, np.int32)),
            "v": np.full(count, 2.5),
        }
    )
    write_file(table, folder / "recording" / "speed", number)


def states(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Each program once: 20 micro-batches are rounds enough."""
    found = []
    with session("local[2]") as spark:
        for vehicles in [size for size in STATES if size <= options.most_vehicles]:
            with tempfile.TemporaryDirectory(prefix="headway-state-") as name:
                folder = Path(name)
                query = write_states(folder, vehicles)
                told = {}
                for program in ("Headway", "Spark's own", "Spark's own, RocksDB"):
                    out = folder / f"out{len(told)}"
                    checkpoint = Path(f"{out}-checkpoint")
                    if program == "Headway":
                        headway(query, folder / "recording", out, 1, "local[2]")
                    else:
                        out.mkdir()
                        checkpoint = out / "checkpoint"
                        conf = ROCKSDB if "RocksDB" in program else {}
                        given = Given(spark, folder / "recording", out, 1, 2)
                        window_native(conf, "1 hour")(given)
                    ends = commits(checkpoint)[2 : SMALL_BATCHES + 1]
                    between = [b - a for a, b in pairwise(ends)]
                    files, size = folder_size(checkpoint)
                    told[program] = {
                        "batch_ms": 1e3 * statistics.median(between), "files": files, "bytes": size,
                    }  # fmt: skip
            found.append({"kind": "state", "vehicles": vehicles, "programs": told})
            print(f"state of {vehicles:,} vehicles, {TOUCHED} touched:", flush=True)
            for program, one in told.items():
                print(f"  {program:22} {one['batch_ms']:7,.0f} ms a micro-batch; checkpoint "
                      f"{one['files']:,} files, {one['bytes'] / 2**20:,.1f} MB")  # fmt: skip
    return found


# ---------------------------------------------------------------- slots


def slots(options: argparse.Namespace) -> list[dict[str, Any]]:
    """A process for each: a process has one Spark."""
    found: list[dict[str, Any]] = []
    for master in MASTERS:
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            command = [sys.executable, __file__, "slots", "--master", master, "--json", file.name]
            command += ["--rows", str(options.rows), "--rounds", str(options.rounds)]
            subprocess.run(command, check=True)
            found += json.loads(Path(file.name).read_text())
    return found


def one_master(options: argparse.Namespace) -> list[dict[str, Any]]:
    given = setting("window", options.rows, min(2_000, options.rows // 100), options.master)
    with (
        session(options.master) as spark,
        tempfile.TemporaryDirectory(prefix="headway-slots-") as scratch,
    ):
        runs = compare(spark, given, options.rounds, Path(scratch), slow=False)
    data = summary(given, runs)
    show(data)
    return [{"kind": "slots", **data}]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--most-rows", type=int, default=OUT_ROWS[-1])
    parser.add_argument("--most-vehicles", type=int, default=STATES[-1])
    parser.add_argument("--rows", type=int, default=600_000, help="of the runs of `slots`")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write all numbers there")
    parser.add_argument("--quick", action="store_true", help="to 1,000,000 rows out")
    parser.add_argument("--master", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := set(options.kinds) - set(KINDS):
        parser.error(f"no such kind: {', '.join(sorted(unknown))}")
    if options.quick:
        options.most_rows = min(options.most_rows, 1_000_000)
    kinds = {"rows": rows_out, "tasks": tasks, "state": states, "slots": slots}
    if options.master:
        kinds["slots"] = one_master
    found: list[dict[str, Any]] = []
    for kind in options.kinds or KINDS:
        found += kinds[kind](options)
        if options.json:
            options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
