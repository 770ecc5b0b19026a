"""Memory by the wall clock at 200 % load: twice as many tuples come as there is time for.

    python benchmarks/wall_memory.py [--seconds 600] [--samples 20] [--form engine|node]

``engine``: one process whose outputs a subscriber takes; ``node``: a built node with a recording,
which makes checkpoints. Prints, as JSON, the resident memory (KiB) at equal distances of time, the
tuples that came, went out and were dropped, by operator, and by how much the second half of the
series is above the first (the medians).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from headway.compiler import compile_query
from headway.engine.jobs import Arrival
from headway.engine.nodes.executables import build_executables, write_build
from headway.engine.nodes.launcher import Launcher
from headway.engine.operator_counts import operator_counts
from headway.engine.wall_engine import WallEngine
from headway.files import load_query, load_vehicle
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, SECOND
from headway.model.user_operator import find_modules_beside
from headway.sources.parquet_file import StreamWriter

EVERY_US = 2_000
TAKES_S = 0.004
HOUR = 3600 * SECOND
BEGIN_US = 1_700_000_000_000_000
QUERY = """query: flooded
schemas:
  A: {v: double}
sources:
  a: {schema: A, rate: 1 per 2 ms, lateness: 10 ms}
operators:
  slow:
    udo: "takes_its_time:Slow"
    inputs: {input: a}
    schema: A
    most_outputs: 1
    cost: 100 us
  counted: {aggregate: {n: count(*)}, from: slow, window: 1 s, cost: 10 us}
outputs:
  passed: {from: slow, deadline: 1 h, criticality: soft}
  counts: {from: counted, deadline: 1 h, criticality: soft}
"""
VEHICLE = "vehicle: one\nnodes:\n  ecu: {}\nsensors: {a: ecu}\n"
OPERATOR = f'''
import time
from headway.model.user_operator import UserOperator


class Slow(UserOperator):
    """Passes a tuple on after {TAKES_S} s, in which the processor is free for others."""

    def process(self, inputs, now):
        time.sleep({TAKES_S})
        return [row for rows in inputs.values() for row in rows]
'''


def plan_in(folder: Path) -> Plan:
    (folder / "query.yaml").write_text(QUERY)
    (folder / "vehicle.yaml").write_text(VEHICLE)
    (folder / "takes_its_time.py").write_text(OPERATOR)
    find_modules_beside(folder / "query.yaml")
    query = load_query(folder / "query.yaml").query
    return compile_query(query, load_vehicle(folder / "vehicle.yaml").vehicle)


def rows(seconds: int) -> Iterator[tuple[int, float]]:
    for n in range(seconds * 1_000_000 // EVERY_US):
        yield BEGIN_US + n * EVERY_US, float(n % 100)


def resident(pid: int) -> int:
    """KiB; 0 for a process that is no more."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    found = [line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")]
    return int(found[0]) if found else 0


def watch(pid: int, seconds: int, samples: int) -> list[int]:
    series = []
    for _ in range(samples):
        time.sleep(seconds / samples)
        series.append(resident(pid))
    return [one for one in series if one]


def told(series: list[int], **more: Any) -> dict[str, Any]:
    half = len(series) // 2
    first, second = median(series[:half]), median(series[half:])
    return {"rss_kib": series, "second_half_above_first": round(second / first - 1, 4), **more}


def in_an_engine(seconds: int) -> None:
    """The process that is watched."""
    with tempfile.TemporaryDirectory() as scratch:
        plan = plan_in(Path(scratch))
        engine = WallEngine(
            plan=plan,
            keep_trace=False,
            keep_outputs=False,
            most_waiting=1000,
            tolerance=HOUR,  # that it cannot keep up is known
            backlog=1000,
        )
        seen = [0]

        def count(_: object) -> None:
            seen[0] += 1

        engine.applications.subscribe("passed", count)
        result = engine.run(Arrival(at * MICROSECOND, "a", (at, v)) for at, v in rows(seconds))
        gone = {one.operator: one.gone for one in operator_counts(result) if one.gone}
        told_of = {"arrived": result.kernel.arrived, "given": seen[0], "dropped": gone}
        print(json.dumps(told_of), flush=True)


def engine_form(seconds: int, samples: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--seconds", str(seconds), "--form", "inside"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        series = watch(process.pid, seconds, samples)
        text, _ = process.communicate()
    return told(series, **json.loads(text))


def node_form(seconds: int, samples: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        plan = plan_in(folder)
        write_build(plan, build_executables(plan), folder / "build")
        (source,) = plan.query.sources
        (folder / "recording").mkdir()
        with StreamWriter(folder / "recording" / "a.parquet", source.schema) as writer:
            for row in rows(seconds):
                writer.write(row, arrived_at=row[0])
        with Launcher(
            build=folder / "build",
            outputs=folder / "out",
            inputs=folder / "recording",
            options=("--most-waiting", "1000"),
        ) as launcher:
            launcher.start()
            series = watch(launcher.pid("ecu"), seconds, samples)
            report = launcher.wait(600)["ecu"].report
        assert report is not None
        return told(
            series,
            arrived=report["arrived"],
            given=report["outputs"]["passed"]["tuples"],
            dropped=report["dropped_at"],
            checkpoints=report["checkpoints"],
            longest_checkpoint_ns=report["longest_checkpoint_ns"],
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--form", choices=["engine", "node", "inside"], default="engine")
    given = parser.parse_args()
    if given.form == "inside":
        in_an_engine(given.seconds)
        return
    form = engine_form if given.form == "engine" else node_form
    print(json.dumps({"form": given.form, **form(given.seconds, given.samples)}))


if __name__ == "__main__":
    main()
