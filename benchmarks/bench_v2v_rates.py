"""The collision warning at 1,000 and 5,000 V2V tuples/s: speed, and memory over a long drive.

    python benchmarks/bench_v2v_rates.py [--minutes M] [--rates 1100,5500] [--shed 400]

The busiest five seconds of a simulated drive are driven again and again, each time later, as one
stream that never ends (a generator; outputs, dropped tuples and trace are not kept). Resident
memory is read after every tenth of the run. One process a rate, so that none sees what another
left behind.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import process_time

import numpy as np
import pyarrow as pa

from headway.drive.collision_warning import load_collision_warning, plan_for
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.model.quantities import MICROSECOND
from headway.world.drive_recording import DriveRecording, record
from headway.world.drive_scenario import Scenario

SEGMENT_S = 5
TENTHS = 10
MOST_CARS = 1_000


def resident_kib() -> int:
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    raise SystemExit("this system does not tell the resident memory in /proc/self/status")


def offered_rate(recording: DriveRecording) -> list[int]:
    """V2V tuples that arrive in each second of the drive (the papers' figure 12)."""
    arrived = recording.streams["v2v"].column("arrived_at").cast(pa.int64()).to_numpy()
    seconds = int(np.ceil(recording.traffic.duration))
    places = np.minimum((arrived - recording.begin) // 1_000_000, seconds - 1)
    counts: list[int] = np.bincount(places, minlength=seconds).tolist()
    return counts


def scenario_for_rate(rate: int) -> Scenario:
    """The papers' scenario with so many cars that the busiest second offers about ``rate`` tuples.

    By bisection; cars come whole and each moves the others' places, so the rate is met within some
    per cent.
    """
    base = Scenario(v2v=True)

    def peak(cars: int) -> int:
        return max(offered_rate(record(replace(base, cars=cars))))

    low = high = len(base.collision_crossings) * (2 if base.witnesses else 1)
    while peak(high) < rate:
        low, high = high, high * 2
        if high > MOST_CARS:
            raise SystemExit(f"{low} cars offer {peak(low)} V2V tuples a second, fewer than {rate}")
    best = high
    while high - low > 1:
        middle = (low + high) // 2
        found = peak(middle)
        if abs(found - rate) < abs(peak(best) - rate):
            best = middle
        low, high = (low, middle) if found >= rate else (middle, high)
    return replace(base, cars=best)


def one_rate(rate: int, minutes: float, shed: int) -> dict[str, object]:
    """Drives at one rate; memory in KiB at each tenth."""
    plan = plan_for(load_collision_warning(), shed)
    recording = record(scenario_for_rate(rate))
    offered = offered_rate(recording)
    sums = [sum(offered[at : at + SEGMENT_S]) for at in range(len(offered) - SEGMENT_S)]
    first = sums.index(max(sums))
    begin = recording.begin + first * 1_000_000
    end = begin + SEGMENT_S * 1_000_000
    segment = [
        (arrived_at, source, row)
        for arrived_at, source, row, _ in recording.arrivals(plan.query.sources)
        if begin <= arrived_at < end
    ]
    rounds = max(TENTHS, round(minutes * 60 / SEGMENT_S))
    memory: list[int] = []
    counts = {"arrived": 0, "v2v": 0, "output1": 0, "output2": 0, "output3": 0, "dropped": 0}

    def drive() -> Iterator[Arrival]:
        for turn in range(rounds):
            later = turn * SEGMENT_S * 1_000_000
            for arrived_at, source, row in segment:
                counts["arrived"] += 1
                counts["v2v"] += source == "v2v"
                yield Arrival(
                    (arrived_at + later) * MICROSECOND, source, (row[0] + later, *row[1:])
                )
            if (turn + 1) * TENTHS // rounds > turn * TENTHS // rounds:
                memory.append(resident_kib())

    def count_output(name: str, row: object, completed: int) -> None:
        counts[name] += 1

    def count_dropped(dropped: object, now: int) -> None:
        counts["dropped"] += 1

    engine = Engine(
        plan=plan,
        policy="s-edf",
        keep_trace=False,
        keep_outputs=False,
        on_output=count_output,
        on_drop=count_dropped,
    )
    clock = process_time()
    engine.run(drive())
    seconds = process_time() - clock
    driven = rounds * SEGMENT_S
    return {
        "asked": rate,
        "v2v_per_s": round(counts["v2v"] / driven),
        "driven_s": driven,
        "cpu_s": round(seconds, 1),
        "times_real_time": round(driven / seconds, 1),
        "tuples_per_cpu_s": round(counts["arrived"] / seconds),
        **counts,
        "memory_kib": memory,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--rates", default="1100,5500")
    parser.add_argument("--shed", type=int, default=400)
    parser.add_argument("--only", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only is not None:
        print(json.dumps(one_rate(options.only, options.minutes, options.shed)))
        return
    print("| asked /s | V2V /s | driven s | times real time | tuples/s of CPU "
          "| MiB after 1/10, 5/10, 10/10 | growth |")  # fmt: skip
    print("|---|---|---|---|---|---|---|")
    for rate in options.rates.split(","):
        arguments = ["--only", rate, "--minutes", str(options.minutes), "--shed", str(options.shed)]
        done = subprocess.run(
            [sys.executable, __file__, *arguments], check=True, capture_output=True, text=True
        )
        one = json.loads(done.stdout)
        memory = [kib / 1024 for kib in one["memory_kib"]]
        print(
            f"| {one['asked']:,} | {one['v2v_per_s']:,} | {one['driven_s']} "
            f"| {one['times_real_time']} | {one['tuples_per_cpu_s']:,} "
            f"| {memory[0]:.1f}, {memory[4]:.1f}, {memory[-1]:.1f} "
            f"| {100 * (memory[-1] / memory[0] - 1):+.1f} % |"
        )


if __name__ == "__main__":
    main()
