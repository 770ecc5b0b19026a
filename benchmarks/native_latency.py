"""Latencies by the wall clock: native nodes and Python nodes beside each other.

    python benchmarks/native_latency.py                    1,400 tuples/s for 30 s on one node
    python benchmarks/native_latency.py --runs 5           five times
    python benchmarks/native_latency.py --car              the collision warning on three nodes

One node, four sources of 1,400 tuples/s in all, hard deadlines of 2 to 8 ms, three operators each.
Latency is from the sensing time of a tuple, which here is its arrival, to when its output is handed
over; both kinds of nodes write that for every tuple, and the same lines are read here. Run it on an
idle machine: whatever else runs is measured too. ``--realtime N`` gives native nodes the priority
N of SCHED_FIFO, where the user may.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.compiler import compile_query
from headway.engine.nodes.launcher import Launcher
from headway.front_door.compiling import compile
from headway.model.expression import Column, Sql
from headway.model.operators import Filter, Input, Map, Operator
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, SECOND, Cost, Rate
from headway.model.query import Criticality, Output, Query, Source
from headway.model.schema import schema
from headway.model.vehicle import Node, Vehicle
from headway.native.native_build import build_car
from headway.native.toolchain import Target
from headway.sources.parquet_file import StreamWriter

SOURCES = {"gyro": (500, 2), "wheel": (400, 4), "radar": (300, 6), "camera": (200, 8)}
"""tuples in a second, deadline in ms"""
EPOCH = 1_700_000_000_000_000
STUDY = Path(__file__).parents[1] / "examples" / "collision_warning"
PERCENTILES = (0.5, 0.9, 0.99, 0.999, 0.9999)
COST = Cost(20 * MICROSECOND)


def steady_plan() -> Plan:
    columns = schema(value="double", weight="double")
    steps: list[Operator] = []
    for name in SOURCES:
        steps += [
            Filter(
                name=f"{name}_kept", inputs=(Input("input", name),), cost=COST,
                where=Sql("value IS NOT NULL"),
            ),
            Map(
                name=f"{name}_scaled", inputs=(Input("input", f"{name}_kept"),), cost=COST,
                columns=(Column("scaled", Sql("value * weight + 0.5")),), keep=True,
            ),
            Filter(
                name=f"{name}_known", inputs=(Input("input", f"{name}_scaled"),), cost=COST,
                where=Sql("scaled > -1"),
            ),
        ]  # fmt: skip
    query = Query(
        name="steady",
        sources=tuple(
            Source(name=name, schema=columns, rate=Rate(1, SECOND // often))
            for name, (often, _) in SOURCES.items()
        ),
        steps=tuple(steps),
        outputs=tuple(
            Output(
                name=f"{name}_out",
                stream=f"{name}_known",
                deadline=deadline * MILLISECOND,
                criticality=Criticality.HARD,
            )
            for name, (_, deadline) in SOURCES.items()
        ),
    )
    vehicle = Vehicle(
        name="one", nodes=(Node(name="ecu"),), sensors=tuple((name, "ecu") for name in SOURCES)
    )
    return compile_query(query, vehicle)


def write_steady(folder: Path, seconds: float) -> None:
    """Sources that are not in step with each other."""
    for place, (name, (often, _)) in enumerate(SOURCES.items()):
        columns = schema(value="double", weight="double")
        with StreamWriter(folder / f"{name}.parquet", columns) as writer:
            for number in range(int(seconds * often)):
                at = EPOCH + number * 1_000_000 // often + 137 * place
                writer.write((at, math.sin(number), 0.5), arrived_at=at)


# ---------------------------------------------------------------- runs


@dataclass(frozen=True)
class Latencies:
    """Of one output, sorted, in ns."""

    latencies: tuple[int, ...]
    missed: int

    def percentile(self, part: float) -> int:
        return self.latencies[max(0, math.ceil(part * len(self.latencies)) - 1)]


def run(
    build: Path, recording: Path, out: Path, vehicle: str | None, native_options: Sequence[str]
) -> tuple[dict[str, Latencies], dict[str, int]]:
    """Latencies by output, and the exit codes."""
    shutil.rmtree(out, ignore_errors=True)
    with Launcher(
        build=build, outputs=out, inputs=recording, vehicle=vehicle, native_options=native_options
    ) as launcher:
        launcher.start()
        ended = launcher.wait(600)
        outputs = [name for node in launcher.nodes for name in launcher.outputs_of(node)]
    found = {}
    for name in outputs:
        lines = (out / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        told = [json.loads(line) for line in lines]
        latencies = sorted(one["completed"] - one["row"]["timestamp"] * 1000 for one in told)
        found[name] = Latencies(tuple(latencies), sum(one["missed"] for one in told))
    return found, {node: one.code for node, one in ended.items()}


def show(kind: str, found: dict[str, Latencies], codes: dict[str, int]) -> None:
    for name, one in found.items():
        shown = "  ".join(f"{one.percentile(part) / MILLISECOND:8.3f}" for part in PERCENTILES)
        longest = one.latencies[-1] / MILLISECOND
        tuples = len(one.latencies)
        print(f"{kind:7} {name:12} {tuples:7,}  {shown}  {longest:8.3f}  {one.missed:6,}")
    missed = sum(one.missed for one in found.values())
    print(f"{kind:7} missed in all: {missed:,}; exit codes {codes}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--car", action="store_true", help="the collision warning, three nodes")
    parser.add_argument("--realtime", type=int, default=0, help="priority of native nodes")
    parser.add_argument("--only", choices=["native", "python"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        recording, vehicle = folder / "recording", None
        if given.car:
            plan = compile(STUDY / "query.yaml", STUDY / "vehicle_modern.yaml").plan
            recording, vehicle = STUDY / "recording", "A"
        else:
            plan = steady_plan()
            recording.mkdir()
            write_steady(recording, given.seconds)
        nodes = [query.node for query in plan.node_queries if query.sources or query.operators]
        targets: dict[str, Target | None] = {"native": Target.NATIVE, "python": None}
        for kind, target in targets.items():
            if given.only in (None, kind):
                build_car(plan, folder / kind, targets=dict.fromkeys(nodes, target))
        options = ("--realtime", str(given.realtime)) if given.realtime else ()
        heads = "  ".join(f"p{part * 100:<7g}" for part in PERCENTILES)
        print(f"nodes   output        tuples  {heads}  longest   missed   (ms)")
        for _ in range(given.runs):
            for kind in targets:
                if given.only in (None, kind):
                    show(kind, *run(folder / kind, recording, folder / "out", vehicle, options))


if __name__ == "__main__":
    main()
