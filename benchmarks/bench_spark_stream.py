"""Streams on Spark: Headway against programs by hand, in one run, on one fleet, same answers.

Headway and the programs of ``spark_peers.py`` take turns over the same files, as many a
micro-batch, in the same Spark; a round to warm up does not count. Every answer is compared: maps,
windows and joins with NumPy's, bit for bit; fusion with the vehicle engine's, row for row, for
some of the vehicles. Medians over the rounds, and their ratios; above 1 Headway is quicker.
``steady`` is the rate from the end of the first micro-batch to the end of the last, without the
start of a query; ``whole`` is all of it. The peers with ``transformWithState`` get two
micro-batches, once.

    python benchmarks/bench_spark_stream.py [map window join fusion collision small]
        [--rows 1500000] [--vehicles 200,2000,10000] [--rounds 3] [--master 'local[2]']
        [--json FILE] [--quick]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from spark_fleet import Fleet, difference
from spark_measuring import Run, Stopwatch, folder_size, headway, session, written
from spark_peers import PEERS, Given, Peer
from typer.testing import CliRunner

from headway.cli import app

CASES = ("map", "window", "join", "fusion", "collision", "small")
FILES_PER_BATCH = 4
BATCH_ROWS = 150_000
SMALL_ROWS = 2_000
SLOW_BATCHES = 2
TODAYS_FUSION = 21_700
"""rows a second of the fusion when its state was in ``transformWithState``"""
GOALS = {"window": 1.2, "join": 1.0, "small": 1.0}
CHECKED_VEHICLES = 3
EXAMPLE_ROWS = 1026
"""of a vehicle of the collision warning's recording"""
OUTPUTS = {"fusion": ("out",), "collision": ("output1", "output2", "output3")}
LONGEST_S = 3600
ADDED = ("deadline", "completed", "latency", "missed", "replayed")


@dataclass(frozen=True)
class Setting:
    """One comparison: a fleet, how many of its files a micro-batch takes, where it runs."""

    case: str
    fleet: Fleet
    files_per_batch: int
    master: str

    @property
    def batches(self) -> int:
        return -(-self.fleet.files // self.files_per_batch)

    @property
    def peers(self) -> list[Peer]:
        """Of small batches, those that were made for them."""
        if self.case != "small":
            return PEERS[self.case]
        return [peer for peer in PEERS["window"] if not peer.slow]

    def beginning(self, batches: int) -> Setting:
        per_batch = self.fleet.per_file * len(self.fleet.sources) * self.files_per_batch
        return replace(
            self, fleet=replace(self.fleet, rows=min(self.fleet.rows, batches * per_batch))
        )


def setting(case: str, rows: int, vehicles: int, master: str) -> Setting:
    """``small``: one small file a micro-batch, at most 25 of them."""
    if case == "small":
        rows = min(rows, 25 * SMALL_ROWS)
        return Setting(case, Fleet("window", rows, vehicles, SMALL_ROWS), 1, master)
    of_one = Fleet(case, rows, vehicles, 1)
    if case == "collision":  # each vehicle has the rows of one of the example's
        vehicles = max(CHECKED_VEHICLES, min(vehicles, rows // EXAMPLE_ROWS))
        rows = vehicles * EXAMPLE_ROWS
    per_file = min(BATCH_ROWS, rows // 2) // len(of_one.sources) // FILES_PER_BATCH
    return Setting(case, Fleet(case, rows, vehicles, max(1, per_file)), FILES_PER_BATCH, master)


# ---------------------------------------------------------------- answers


def vehicle_engine(query: Path, recording: Path, scratch: Path, output: str) -> pa.Table:
    """What the vehicle engine gives for the first vehicles of a recording."""
    folder = scratch / "few"
    if not folder.exists():
        folder.mkdir()
        for source in recording.iterdir():
            table = pa.concat_tables(pq.ParquetFile(p).read() for p in sorted(source.iterdir()))
            few = pc.less(table["vehicle"], f"v{CHECKED_VEHICLES:05d}")
            pq.write_table(table.filter(few), folder / f"{source.name}.parquet")
        given = ["run", str(query), "--engine", "vehicle", "--zero-cost", "--input", str(folder)]
        done = CliRunner().invoke(app, [*given, "--output", str(scratch / "meant")])
        if done.exit_code not in (0, 1):
            raise SystemExit(done.output)
    return pq.read_table(scratch / "meant" / f"{output}.parquet")


def check_fused(query: Path, folder: Path, scratch: Path, case: str) -> str:
    """Row for row, without when it was computed."""
    for output in OUTPUTS[case]:
        meant = vehicle_engine(query, folder / "recording", folder, output)
        got = written(scratch, output)
        got = got.filter(pc.less(got["vehicle"], f"v{CHECKED_VEHICLES:05d}"))
        names = [name for name in meant.column_names if name not in ADDED]
        sides = [sorted(map(repr, table.select(names).to_pylist())) for table in (got, meant)]
        if sides[0] != sides[1]:
            return f"{output}: {len(sides[0]):,} rows, not the vehicle engine's {len(sides[1]):,}"
    return ""


# ---------------------------------------------------------------- rounds


def compare(
    spark: Any, given: Setting, rounds: int, scratch: Path, *, slow: bool = True
) -> dict[str, list[Run]]:
    """The runs of each program, by name; stops at a wrong answer."""
    slots = spark.sparkContext.defaultParallelism
    quick = {peer.name: _by_hand(spark, peer, slots) for peer in given.peers if not peer.slow}
    runs = _rounds(given, {"Headway": _ours, **quick}, rounds, scratch / "all", warm=True)
    rest = {peer.name: _by_hand(spark, peer, slots) for peer in given.peers if peer.slow}
    if slow and rest:
        first = given.beginning(SLOW_BATCHES)
        runs |= _rounds(first, rest, 1, scratch / "first", warm=False)
    return runs


_Run = Callable[[Setting, Path, Path], None]


def _ours(given: Setting, folder: Path, out: Path) -> None:
    headway(folder / "query.yaml", folder / "recording", out, given.files_per_batch, given.master)


def _by_hand(spark: Any, peer: Peer, slots: int) -> _Run:
    def run(given: Setting, folder: Path, out: Path) -> None:
        out.mkdir()
        peer.run(Given(spark, folder / "recording", out, given.files_per_batch, slots))

    return run


def _rounds(
    given: Setting, programs: dict[str, _Run], rounds: int, folder: Path, *, warm: bool
) -> dict[str, list[Run]]:
    query = given.fleet.write(folder)
    answer = given.fleet.answer() if given.fleet.case not in OUTPUTS else None
    found: dict[str, list[Run]] = {name: [] for name in programs}
    for number in range(rounds + warm):
        for place, (name, program) in enumerate(programs.items()):
            out = folder / f"out-{number}-{place}"
            with Stopwatch() as watch:
                program(given, folder, out)
            checkpoint = Path(f"{out}-checkpoint") if name == "Headway" else out / "checkpoint"
            run = watch.run(given.fleet.rows, checkpoint, given.batches)
            if number == 0:
                _check(given, name, answer, query, folder, out)
            if number or not warm:
                found[name].append(run)
    return found


def _check(
    given: Setting, name: str, answer: pa.Table | None, query: Path, folder: Path, out: Path
) -> None:
    if answer is not None:
        wrong = difference(given.fleet, written(out), answer)
    elif name == "Headway":
        wrong = check_fused(query, folder, out, given.fleet.case)
    else:  # another filter: as many estimates
        rows, wanted = written(out).num_rows, given.fleet.per_source
        wrong = "" if rows == wanted else f"{rows:,} estimates instead of {wanted:,}"
    if wrong:
        raise SystemExit(f"{given.case}, {given.fleet.vehicles:,} vehicles: {name}: {wrong}")


# ---------------------------------------------------------------- what is shown


def median(runs: list[Run], name: str) -> float:
    return statistics.median(getattr(run, name) for run in runs)


def summary(given: Setting, runs: dict[str, list[Run]]) -> dict[str, Any]:
    """``ratios`` by the quickest peer; of small batches the times of one."""
    shown = {
        name: {key: median(found, key) for key in ("rate", "steady", "batch_ms", "cpu_us")}
        | {"runs": [run.data() for run in found]}
        for name, found in runs.items()
    }
    ours = shown["Headway"]
    others = {name: one for name, one in shown.items() if name != "Headway"}
    data: dict[str, Any] = {
        "case": given.case, "rows": given.fleet.rows, "vehicles": given.fleet.vehicles,
        "batches": given.batches, "master": given.master, "programs": shown,
    }  # fmt: skip
    if given.case == "fusion":
        data["by_todays_fusion"] = ours["steady"] / TODAYS_FUSION
    if others:
        native = [one for name, one in others.items() if not name.startswith("transformWith")]
        rivals = native or list(others.values())
        data["ratio_steady"] = _ratio(ours["steady"], max(one["steady"] for one in rivals))
        data["ratio_whole"] = _ratio(ours["rate"], max(one["rate"] for one in rivals))
        data["ratio_batch"] = _ratio(min(one["batch_ms"] for one in rivals), ours["batch_ms"])
        data["ratio_cpu"] = _ratio(min(one["cpu_us"] for one in rivals), ours["cpu_us"])
    return data


def bytes_of_a_row(given: Setting, folder: Path) -> dict[str, float]:
    """As they were read, and as Headway wrote them."""
    return {
        f"bytes_{name}": folder_size(folder / where)[1] / given.fleet.rows
        for name, where in (("in", "recording"), ("out", "out-0-0"))
    }


def _ratio(above: float, below: float) -> float:
    return above / below if below else 0.0


def show(data: dict[str, Any]) -> None:
    print(f"{data['case']}: {data['rows']:,} rows, {data['vehicles']:,} vehicles, "
          f"{data['batches']} micro-batches, {data['master']}")  # fmt: skip
    for name, one in data["programs"].items():
        rates = f"steady {one['steady']:9,.0f} rows/s, whole {one['rate']:9,.0f} rows/s"
        times = f"{one['batch_ms']:7,.0f} ms a micro-batch, {one['cpu_us']:6.2f} us of cpu a row"
        print(f"  {name:28} {rates}, {times}")
    if "ratio_steady" in data:
        name = "ratio_batch" if data["case"] == "small" else "ratio_steady"
        goal = f" (goal {GOALS[data['case']]:g}x)" if data["case"] in GOALS else ""
        print(f"  Headway by the quickest of the others: {data[name]:.2f}x{goal}; whole "
              f"{data['ratio_whole']:.2f}x, processor time {data['ratio_cpu']:.2f}x")  # fmt: skip
    if "by_todays_fusion" in data:
        print(f"  by {TODAYS_FUSION:,} rows/s of transformWithState: "
              f"{data['by_todays_fusion']:.1f}x (goal 15x)")  # fmt: skip
    sys.stdout.flush()


def in_a_process(case: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """A Spark of its own for each case: what one leaves behind is not in another's way."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [sys.executable, __file__, case, "--inside", "--json", file.name]
        for name in ("rows", "vehicles", "rounds", "master"):
            command += [f"--{name}", str(getattr(options, name))]
        done = subprocess.run(command, timeout=LONGEST_S, check=False)
        if done.returncode:
            raise SystemExit(f"{case}: exit {done.returncode}")
        found: list[dict[str, Any]] = json.loads(Path(file.name).read_text())
    return found


def run_case(case: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    listed = [int(number) for number in options.vehicles.split(",")]
    if case != "window":
        listed = [listed[len(listed) // 2]]
    found = []
    with session(options.master) as spark:
        for vehicles in listed:
            with tempfile.TemporaryDirectory(prefix="headway-stream-") as scratch:
                given = setting(case, options.rows, vehicles, options.master)
                runs = compare(spark, given, options.rounds, Path(scratch))
                data = summary(given, runs)
                data |= bytes_of_a_row(given, Path(scratch) / "all")
            found.append(data)
            show(data)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--rows", type=int, default=1_500_000)
    parser.add_argument("--vehicles", default="200,2000,10000")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--json", type=Path, help="write all numbers there")
    parser.add_argument("--quick", action="store_true", help="600,000 rows, two rounds")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := set(options.cases) - set(CASES):
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    if options.quick:
        options.rows, options.rounds = 600_000, 2
    found: list[dict[str, Any]] = []
    for case in options.cases or CASES:
        found += (run_case if options.inside else in_a_process)(case, options)
        if options.json:
            options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
