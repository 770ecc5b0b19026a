"""What a fleet of 10,000 vehicles at 100 Hz would need, from costs that were measured.

Takes the numbers that ``bench_spark_stream.py --json`` and ``bench_spark_growth.py --json`` wrote.
Of each query: processor time of a row (of all processes together, so it includes what Spark, Python
and the driver do for it) times the rows of a second, by how busy a core should be. Of the driver: a
micro-batch costs it something, each partition of it something, and each row what the growth with
rows out says, as if every row came out; so how many rows a second it can keep up with. Of
the network: the bytes of a row as they were read and written.

    python benchmarks/spark_projection.py STREAM.json GROWTH.json
        [--vehicles 10000] [--hz 100] [--every 5] [--busy 0.7] [--network 1250]
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class DriverCost:
    """Processor time of the driver for one micro-batch, in ms: ``fixed``, for each ``partition``,
    and for each ``million`` rows out."""

    fixed: float
    partition: float
    million: float

    @classmethod
    def of(cls, growth: list[dict[str, Any]]) -> DriverCost:
        """Two straight lines: over partitions at one number of rows, over rows at one of
        partitions."""
        tasks = [one for one in growth if one["kind"] == "tasks"]
        rows = [one for one in growth if one["kind"] == "rows"]
        if len(tasks) < 2 or len(rows) < 2:
            raise SystemExit("the second file needs at least two runs each of `rows` and `tasks`")
        slope, begin = _line(tasks, "partitions")
        by_row, _ = _line(rows, "rows_out")
        return cls(max(0.0, begin), max(0.0, slope), max(0.0, 1e6 * by_row))

    def ms(self, partitions: int, rows: float) -> float:
        return self.fixed + self.partition * partitions + self.million * rows / 1e6

    def most_rows_s(self, wanted: Wanted, per_core: float) -> float:
        """With a partition for each core, as many as the rows need."""
        room = 1e3 * wanted.every * wanted.busy - self.fixed
        cost = self.partition / per_core + self.million * wanted.every / 1e6
        return max(0.0, room / cost) if cost else float("inf")


def _line(runs: list[dict[str, Any]], over: str) -> tuple[float, float]:
    slope, begin = np.polyfit([one[over] for one in runs], [one["cpu_ms"] for one in runs], 1)
    return float(slope), float(begin)


@dataclass(frozen=True)
class Wanted:
    """``every``: seconds between micro-batches; ``network``: MB/s that a machine can take."""

    vehicles: int
    hz: float
    every: float
    busy: float
    network: float

    @property
    def rate(self) -> float:
        """rows a second"""
        return self.vehicles * self.hz


def project(one: dict[str, Any], driver: DriverCost, wanted: Wanted) -> dict[str, Any]:
    """Of one case of the stream's benchmark; ``limits`` are rows a second, the first to be reached
    first."""
    cost = one["programs"]["Headway"]["cpu_us"]
    cores = ceil(wanted.rate * cost / 1e6 / wanted.busy)
    per_core = 1e6 / cost * wanted.busy
    rows = wanted.rate * wanted.every
    driver_ms = driver.ms(cores, rows)
    bytes_row = max(1e-9, one["bytes_in"] + one["bytes_out"])
    limits = {
        f"{cores} cores": cores * per_core,
        "the driver": driver.most_rows_s(wanted, per_core),
        "the network of one machine": wanted.network * 1e6 / bytes_row,
    }
    return {
        "case": one["case"],
        "vehicles_measured": one["vehicles"],
        "cpu_us": cost,
        "cores": cores,
        "driver_ms": driver_ms,
        "driver_share": driver_ms / 1e3 / wanted.every,
        "driver_rows_ms": driver.million * rows / 1e6,
        "megabytes_s": wanted.rate * bytes_row / 1e6,
        "limits": dict(sorted(limits.items(), key=lambda limit: limit[1])),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stream", type=Path)
    parser.add_argument("growth", type=Path)
    parser.add_argument("--vehicles", type=int, default=10_000)
    parser.add_argument("--hz", type=float, default=100)
    parser.add_argument("--every", type=float, default=5.0, help="seconds of a micro-batch")
    parser.add_argument("--busy", type=float, default=0.7, help="of a core, at most")
    parser.add_argument("--network", type=float, default=1250, help="MB/s (10 Gbit/s)")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    wanted = Wanted(options.vehicles, options.hz, options.every, options.busy, options.network)
    driver = DriverCost.of(json.loads(options.growth.read_text()))
    print(f"{wanted.vehicles:,} vehicles x {wanted.hz:g} Hz = {wanted.rate:,.0f} rows/s, a "
          f"micro-batch every {wanted.every:g} s, cores {wanted.busy:.0%} busy")  # fmt: skip
    print(f"driver, processor time of a micro-batch: {driver.fixed:,.0f} ms, "
          f"{driver.partition:.2f} ms more a partition, {driver.million:.2f} ms more a million "
          "rows out")  # fmt: skip
    found = []
    for one in json.loads(options.stream.read_text()):
        if one["case"] == "small":
            continue
        found.append(project(one, driver, wanted))
        told = found[-1]
        first, second = list(told["limits"].items())[:2]
        print(
            f"{told['case']} (measured with {told['vehicles_measured']:,} vehicles): "
            f"{told['cpu_us']:.2f} us a row: {told['cores']} cores; driver "
            f"{told['driver_ms']:,.0f} ms a micro-batch, "
            f"{told['driver_share']:.1%} of its core, {told['driver_rows_ms']:,.0f} ms of it "
            f"for rows; {told['megabytes_s']:,.0f} MB/s in and out; first to saturate: {first[0]}, "
            f"then {second[0]} at {second[1]:,.0f} rows/s"
        )
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
