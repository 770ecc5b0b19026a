"""Kills streams on Spark, and compares what they give in the end with what they should.

Each case streams a recording, cut into many small files, one file of each source a micro-batch. The
whole process group gets SIGKILL at one of four kinds of moment, in turn: after a random time; when
something is being written that is not published yet; right after an output file has appeared,
before Spark has committed the batch; while the run is starting and takes up what the last one left.
Then the same command runs again. At the end every output must equal, row for row, that of an
undisturbed run and that of the vehicle engine. On a local cluster of two workers an executor is
killed instead, and the run must go on by itself.

    python benchmarks/kill_spark.py [--kills 30] [--executors 2] [--pieces 24] [--seed 0]
        [--cases hello,…]
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pyspark

from headway.files import load_query
from headway.sources.parquet_file import StreamWriter
from headway.sources.recordings import find_file, read_file

EXAMPLES = Path(__file__).parents[1] / "examples"
CASES = {
    "hello": "stateless",
    "window": "windows",
    "join": "a join",
    "tyre_watch": "windows and a join",
    "collision_warning": "fusion, shedder, several outputs",
}
QUERIES = {
    "window": """
query: killed_window
sources:
  speed: {schema: {wheel: int, v: double}, lateness: 500 ms}
operators:
  means:
    aggregate: {v: avg(v), top: max(v), n: count(*)}
    from: speed
    by: [wheel]
    window: 2 s
    every: 1 s
outputs:
  out: {from: means, deadline: 60 s, criticality: soft}
""",
    "join": """
query: killed_join
sources:
  speed: {schema: {wheel: int, v: double}, lateness: 500 ms}
  heat: {schema: {wheel: int, v: double}, lateness: 500 ms}
operators:
  both:
    join: {s: speed, h: heat}
    within: 150 ms
    keys: [wheel]
    select: {wheel: s.wheel, v: s.v, heat: h.v}
outputs:
  out: {from: both, deadline: 60 s, criticality: soft}
""",
}
"""over a recording that is drawn"""
VEHICLES, SECONDS = 5, 20
BEGIN_US = 1_767_225_600_000_000
ADDED = ("deadline", "completed", "latency", "missed", "replayed")
LOCAL, CLUSTER = "local[2]", "local-cluster[2,1,1024]"
EXECUTOR = b"CoarseGrainedExecutorBackend"
PATIENCE_S = 600
GONE_S = 2.5
"""Python workers outlive their Java for a moment."""
MOMENTS = ("at random", "while writing", "after an output", "while starting")
AFTER_S = {MOMENTS[0]: 1.5, MOMENTS[3]: 0.3}
"""how long at most the kill waits when its moment has come"""


@dataclass
class Case:
    """An example or one of ``QUERIES``; ``recording`` is its recording in pieces."""

    example: str
    folder: Path
    pieces: int
    master: str = LOCAL

    @property
    def recording(self) -> Path:
        return self.folder / "recording"

    @property
    def origin(self) -> Path:
        """Where the query is, and the recording in one piece."""
        return self.folder / "origin" if self.example in QUERIES else EXAMPLES / self.example

    @property
    def query(self) -> Path:
        return self.origin / "query.yaml"

    def draw(self) -> None:
        """Vehicles sense ten times a second, some tuples late and some too late."""
        random = Random(1)
        (self.origin / "recording").mkdir(parents=True)
        self.query.write_text(QUERIES[self.example])
        for source in load_query(self.query).query.sources:
            moments = []
            for tick in range(SECONDS * 10):
                for vehicle in range(VEHICLES):
                    sensed = BEGIN_US + tick * 100_000 + random.randrange(50_000)
                    delay = random.choice([1_000] * 18 + [400_000, 1_500_000])
                    row = (sensed, random.randrange(4), random.randrange(160) / 4)
                    moments.append((sensed + delay, row, f"v{vehicle}"))
            path = self.origin / "recording" / f"{source.name}.parquet"
            with StreamWriter(path, source.schema, vehicle=True) as writer:
                for arrived, row, name in sorted(moments):
                    writer.write(row, arrived, name)

    def cut(self) -> None:
        """All sources are cut at the same times of arrival."""
        if self.example in QUERIES:
            self.draw()
        query = load_query(self.query).query
        records = {}
        for source in query.sources:
            path = find_file(self.origin / "recording", source.name)
            records[source.name] = list(read_file(path, source.schema))
        times = [one.arrived_at for rows in records.values() for one in rows]
        begin, step = min(times), (max(times) - min(times)) // self.pieces + 1
        for source in query.sources:
            for piece in range(self.pieces):
                low, high = begin + piece * step, begin + (piece + 1) * step
                mine = [one for one in records[source.name] if low <= one.arrived_at < high]
                path = self.recording / source.name / f"{piece:04d}.parquet"
                with StreamWriter(path, source.schema, vehicle=True) as writer:
                    for one in mine:
                        writer.write(one.row, one.arrived_at, one.vehicle or "only")
                os.utime(path, (1_700_000_000 + piece, 1_700_000_000 + piece))

    def arguments(self, output: Path) -> list[str]:
        """Of the command ``headway``."""
        given = ["run", str(self.query), "--mode", "stream"]
        given += ["--input", str(self.recording), "--output", str(output)]
        given += ["--checkpoint", f"{output}-checkpoint", "--available-now", "--late-ok"]
        return [*given, "--files-per-batch", "1", "--master", self.master]

    def start(self, output: Path) -> subprocess.Popen[bytes]:
        """The command, as the leader of a process group of its own."""
        return self._headway(self.arguments(output))

    def _headway(self, arguments: list[str]) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "headway.cli", *arguments]
        home = {
            "SPARK_HOME": str(Path(pyspark.__file__).parent),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        environment = {**os.environ, **(home if self.master == CLUSTER else {})}
        with (self.folder / "log.txt").open("ab") as log:
            return subprocess.Popen(
                command, stdout=log, stderr=log, env=environment, start_new_session=True
            )

    def finish(self, output: Path) -> None:
        self._await(self.start(output))

    def in_the_vehicle(self, output: Path) -> None:
        """The vehicle engine without costs, over the same recording in one piece."""
        whole = self.folder / "whole"
        whole.mkdir()
        for source in self.recording.iterdir():
            pq.write_table(pq.read_table(source), whole / f"{source.name}.parquet")
        given = ["run", str(self.query), "--engine", "vehicle", "--zero-cost"]
        self._await(self._headway([*given, "--input", str(whole), "--output", str(output)]))

    def _await(self, process: subprocess.Popen[bytes]) -> None:
        try:
            code = process.wait(PATIENCE_S)
        finally:
            if process.poll() is None:
                kill(process)
        if code:
            log = (self.folder / "log.txt").read_text()
            raise SystemExit(f"{self.example}: exit {code}: {log}")


# ---------------------------------------------------------------- what is there


def files(output: Path) -> set[Path]:
    return set(output.glob("*.parquet/batch-*.parquet"))


def unpublished(output: Path) -> set[Path]:
    """What a micro-batch writes before it counts: hidden outputs, states."""
    found = {path for path in output.glob("*.parquet/.*") if not path.name.endswith(".crc")}
    return found | set(Path(f"{output}-checkpoint").glob("_states/*/*"))


def kill(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    time.sleep(GONE_S)


def _of_spark(output: Path, kind: str) -> set[Path]:
    """``offsets`` or ``commits``: what a group has planned or done."""
    return set(Path(f"{output}-checkpoint").glob(f"*/{kind}/[0-9]*"))


def _open(output: Path, number: int) -> bool:
    """Whether a group has the batch in its plans and not among its commits."""
    planned, done = (
        {path.parents[1].name for path in _of_spark(output, kind) if path.name == str(number)}
        for kind in ("offsets", "commits")
    )
    return bool(planned - done)


# ---------------------------------------------------------------- one kill


def killed(
    case: Case, output: Path, random: Random, *, at_window: bool = True, moment: str = ""
) -> str | None:
    """Starts the stream and kills it; what was hit, or None if it was over before. ``at_window``:
    right after an output file has appeared, else at random; ``moment`` names it."""
    moment = moment or (MOMENTS[2] if at_window else MOMENTS[0])
    before, hidden, planned = files(output), unpublished(output), _of_spark(output, "offsets")
    process = case.start(output)
    wanted = random.randrange(1, 4)
    reached = {
        MOMENTS[0]: lambda: len(files(output) - before) >= wanted,
        MOMENTS[1]: lambda: bool(unpublished(output) - hidden or files(output) - before),
        MOMENTS[2]: lambda: len(files(output) - before) >= wanted,
        # Spark has just written what it will do, or has taken up what was planned and not done.
        MOMENTS[3]: lambda: bool(_of_spark(output, "offsets") - planned or files(output) - before),
    }[moment]
    try:
        if not _reach(case, process, reached):
            return None
        time.sleep(random.uniform(0, AFTER_S.get(moment, 0.0)))
        if process.poll() is not None:
            return None
    finally:
        if process.poll() is None:
            kill(process)
    if moment != MOMENTS[2]:
        return moment
    newest = max(files(output) - before, key=lambda path: path.stat().st_mtime_ns)
    number = batch_of(newest)
    committed = any(path.name == str(number) for path in _of_spark(output, "commits"))
    return "after commit" if committed and not _open(output, number) else "before commit"


def batch_of(file: Path) -> int:
    """The micro-batch of an output file."""
    found = re.match(r"batch-(\d+)", file.stem)
    assert found is not None, file
    return int(found[1])


def _reach(case: Case, process: subprocess.Popen[bytes], reached: Callable[[], bool]) -> bool:
    """Waits until it is so; False if the run was over before."""
    deadline = time.monotonic() + PATIENCE_S
    while process.poll() is None and not reached():
        if time.monotonic() > deadline:
            raise SystemExit(f"{case.example}: nothing came for {PATIENCE_S} s")
        time.sleep(0.002)
    if process.poll():
        raise SystemExit(f"{case.example}: {(case.folder / 'log.txt').read_text()}")
    return process.poll() is None


def executors(leader: int) -> list[int]:
    """The processes of a run's group that are executors of its local cluster."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            mine = os.getpgid(int(path.name)) == leader
            if mine and EXECUTOR in (path / "cmdline").read_bytes():
                found.append(int(path.name))
        except OSError:  # it has ended
            continue
    return sorted(found)


def executor_killed(case: Case, output: Path, random: Random) -> str:
    """Kills one of two executors in the middle; the run itself must end well."""
    process = case.start(output)
    try:
        wanted = random.randrange(1, 4)
        if not _reach(case, process, lambda: len(files(output)) >= wanted):
            return "over before"
        time.sleep(random.uniform(0, 1.0))
        victims = executors(process.pid)
        for pid in victims[:1]:
            os.kill(pid, signal.SIGKILL)
        code = process.wait(PATIENCE_S)
    finally:
        if process.poll() is None:
            kill(process)
    if code:
        raise SystemExit(f"{case.example}: exit {code}: {(case.folder / 'log.txt').read_text()}")
    return "an executor" if victims else "no executor found"


# ---------------------------------------------------------------- comparing


def rows(output: Path) -> dict[str, list[tuple[Any, ...]]]:
    """What was computed, without when; in an order of its own."""
    found = {}
    for folder in sorted(output.glob("*.parquet")):
        table = pq.read_table(folder)
        names = sorted(name for name in table.column_names if name not in ADDED)
        listed = zip(*(table[name].to_pylist() for name in names), strict=True)
        found[folder.name] = sorted(listed, key=repr)
    return found


@dataclass
class Expected:
    """``meant`` by the vehicle engine, the outputs only; ``undisturbed`` with the side outputs."""

    case: Case

    def __post_init__(self) -> None:
        case = self.case
        case.cut()
        case.finish(case.folder / "undisturbed")
        self.undisturbed = rows(case.folder / "undisturbed")
        case.in_the_vehicle(case.folder / "meant")
        meant = rows(case.folder / "meant")
        names = [f"{one.name}.parquet" for one in load_query(case.query).query.outputs]
        self.meant = {name: meant[name] for name in names}
        if not any(self.meant.values()):
            raise SystemExit(f"{case.example}: nothing comes out, so nothing is compared")
        self._compare(self.undisturbed, self.meant, "the vehicle engine")

    def check(self, output: Path) -> int:
        """How many rows were compared; SystemExit if one is wrong."""
        got = rows(output)
        self._compare(got, self.undisturbed, "the undisturbed run")
        self._compare(got, self.meant, "the vehicle engine")
        return sum(map(len, got.values()))

    def _compare(self, got: dict[str, Any], wanted: dict[str, Any], whose: str) -> None:
        wrong = [name for name in wanted if got.get(name) != wanted[name]]
        if wrong:
            raise SystemExit(f"{self.case.example}: not as {whose}: {', '.join(wrong)}")


def run_case(case: Case, kills: int, random: Random) -> Iterator[str]:
    """What each kill hit, and whether the result is right. Starts again when a run was over."""
    expected = Expected(case)
    done, round_ = 0, 0
    while done < kills:
        output = case.folder / f"disturbed{round_}"
        round_ += 1
        while done < kills:
            hit = killed(case, output, random, moment=MOMENTS[done % len(MOMENTS)])
            if hit is None:
                break
            done += 1
            yield hit
        case.finish(output)
        yield f"equal: {expected.check(output)} rows"
        shutil.rmtree(output)
        shutil.rmtree(f"{output}-checkpoint")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=30, help="in all, shared by the cases")
    parser.add_argument("--executors", type=int, default=2, help="kills of an executor")
    parser.add_argument("--pieces", type=int, default=24)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", default=",".join(CASES))
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # takes its streams along
    random = Random(options.seed)
    cases = options.cases.split(",")
    hits: dict[str, int] = {}
    with tempfile.TemporaryDirectory(prefix="headway-kills-") as scratch:
        for number, example in enumerate(cases):
            case = Case(example, Path(scratch) / example, options.pieces)
            case.folder.mkdir()
            share = (options.kills + number) // len(cases)
            for hit in run_case(case, share, random) if share else ():
                print(f"{example} ({CASES[example]}): {hit}", flush=True)
                hits[hit] = hits.get(hit, 0) + 1
        for number in range(options.executors):
            example = cases[-1 - number % len(cases)]
            case = Case(example, Path(scratch) / f"cluster{number}", options.pieces, CLUSTER)
            case.folder.mkdir()
            expected = Expected(case)
            hit = executor_killed(case, case.folder / "disturbed", random)
            compared = expected.check(case.folder / "disturbed")
            print(f"{example} on {CLUSTER}: {hit}; equal: {compared} rows", flush=True)
            hits[hit] = hits.get(hit, 0) + 1
    kinds = [kind for kind in hits if not kind.startswith("equal")]
    told = ", ".join(f"{hits[kind]} {kind}" for kind in kinds)
    print(f"{sum(hits[kind] for kind in kinds)} kills ({told}); all outputs equal")


if __name__ == "__main__":
    main()
