"""Does a hard output keep its latency when soft ones ask for three times what the machine can do?

One query, live: a hard output (a filter) fed ten times a second, and a soft one whose every row
costs 1 ms of Python. Three runs, each in a process of its own: without the soft load, with it under
``edf`` (reserved slots, pools, gate), with it under ``fifo`` (Spark's own order).

    python benchmarks/bench_spark_urgency.py [--seconds 25] [--slots 2]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

QUERY = """
query: urgency
sources:
  brakes: {schema: {v: double}}
  film: {schema: {v: double}}
operators:
  strong: {filter: v >= 0, from: brakes}
  slow:
    map: {v: {python: "bench_spark_urgency:spin", arguments: [v], returns: double}}
    from: film
outputs:
  warning: {from: strong, deadline: 1 s, criticality: hard}
  archive: {from: slow, deadline: 60 s, criticality: soft}
"""
SPIN_S = 0.001
HARD_EVERY_S, HARD_ROWS = 0.1, 20
SOFT_EVERY_S = 0.25
LOAD = 3.0
WARM_UP_BATCHES = 20
SETTLE_S = 3.0
PATIENCE_S = 180.0


def spin(value: float) -> float:
    """A millisecond of work."""
    until = time.perf_counter() + SPIN_S
    while time.perf_counter() < until:
        pass
    return value


def write_file(folder: Path, number: int, rows: int) -> None:
    """Sensed now; appears whole."""
    now = time.time_ns() // 1000
    table = pa.table(
        {
            "timestamp": pa.array([now] * rows, pa.timestamp("us", tz="UTC")),
            "v": pa.array(np.arange(rows, dtype=float)),
        }
    )
    part = folder / f".{number}.part"
    pq.write_table(table, part)
    part.replace(folder / f"{number:06d}.parquet")


def feed(folder: Path, every: float, rows: int, over: threading.Event) -> None:
    number, due = 1, time.monotonic()
    while not over.is_set():
        write_file(folder, number, rows)
        number += 1
        due += every
        time.sleep(max(0.0, due - time.monotonic()))


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not condition() and time.monotonic() < until:
        time.sleep(0.1)


def fed_after(folder: Path, began: float, ended: float) -> set[float]:
    """When the rows of the window were sensed, in seconds."""
    moments = {
        pq.read_table(path)["timestamp"][0].cast(pa.int64()).as_py() / 1e6
        for path in folder.glob("*.parquet")
    }
    return {moment for moment in moments if began < moment < ended}


def phase(policy: str, load: float, seconds: float, slots: int, scratch: Path) -> dict[str, float]:
    from headway.compiler import compile_query
    from headway.files import load_query
    from headway.spark.session.spark_session import owned_session, run_conf

    sys.path.insert(0, str(Path(__file__).parent))
    (scratch / "query.yaml").write_text(QUERY)
    plan = compile_query(load_query(scratch / "query.yaml").query)
    recording = scratch / "recording"
    for name in ("brakes", "film"):
        (recording / name).mkdir(parents=True)
        write_file(recording / name, 0, 1)
    soft_rows = int(load * slots * SOFT_EVERY_S / SPIN_S)
    over = threading.Event()
    brakes = (recording / "brakes", HARD_EVERY_S, HARD_ROWS, over)
    film = (recording / "film", SOFT_EVERY_S, soft_rows, over)
    with owned_session(f"local[{slots}]", "urgency", run_conf(policy, {})) as spark:
        from headway.spark.streams.stream_run import StreamRun

        stream = StreamRun(
            spark, plan, recording, scratch / "out", checkpoint=scratch / "checkpoint",
            policy=policy,
        )  # fmt: skip
        hard, soft_query = stream.queries
        running = threading.Thread(target=stream.run)
        running.start()
        threading.Thread(target=feed, args=brakes, daemon=True).start()
        wait_for(lambda: hard.batches > WARM_UP_BATCHES and soft_query.batches > 0)
        if soft_rows:
            threading.Thread(target=feed, args=film, daemon=True).start()
        time.sleep(SETTLE_S)
        began = time.time()
        time.sleep(seconds)
        ended = time.time()
        stream.stop()
        over.set()
        running.join()
        outcome = stream.outcome()
    table = pq.read_table(scratch / "out" / "warning.parquet")
    sensed = np.asarray(table["timestamp"].cast(pa.int64())) / 1e6
    latency = np.asarray(table["latency"])[sensed > began] / 1e6
    waiting = fed_after(recording / "brakes", began, ended) - set(sensed.tolist())
    # What has not come out by the end counts with the time it has waited so far: at least that.
    late = [(ended - moment) * 1e3 for moment in waiting for _ in range(HARD_ROWS)]
    latency = np.concatenate([latency, late])
    soft = next(one for one in outcome.outputs if one.output == "archive")
    return {
        "p50": float(np.percentile(latency, 50)) if len(latency) else float("inf"),
        "p99": float(np.percentile(latency, 99)) if len(latency) else float("inf"),
        "rows": len(latency),
        "waiting": len(late),
        "soft_rows": soft.tuples,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=25)
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--phase", help=argparse.SUPPRESS)
    parser.add_argument("--load", type=float, default=LOAD)
    options = parser.parse_args()
    if options.phase:
        with tempfile.TemporaryDirectory(prefix="headway-urgency-", dir="/dev/shm") as scratch:
            given = (options.phase, options.load, options.seconds, options.slots)
            found = phase(*given, Path(scratch))
        print(json.dumps(found))
        return
    results = {}
    for name, policy, load in (
        ("unloaded", "edf", 0.0), ("edf", "edf", options.load), ("fifo", "fifo", options.load)
    ):  # fmt: skip
        command = [sys.executable, __file__, "--phase", policy, "--load", str(load)]
        command += ["--seconds", str(options.seconds), "--slots", str(options.slots)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr)
        results[name] = json.loads(done.stdout.splitlines()[-1])
        one = results[name]
        hard = f"hard p50 {one['p50']:8.1f} ms, p99 {one['p99']:8.1f} ms, {one['rows']:,} rows"
        hard += f" ({one['waiting']:,} still waiting)"
        print(f"{name:9} {hard}; soft {one['soft_rows']:,} rows", flush=True)
    base = results["unloaded"]["p99"]
    edf, fifo = results["edf"]["p99"] / base, results["fifo"]["p99"] / base
    print(f"hard p99 with {options.load:g}x soft load: {edf:.2f}x unloaded, {fifo:.2f}x with fifo")


if __name__ == "__main__":
    main()
