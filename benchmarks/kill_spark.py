"""Kills streams on Spark, and compares what they give in the end with an undisturbed run.

Each case streams an example's recording, cut into many small files, one file of each source a
micro-batch. The whole process group gets SIGKILL, in turn at a random moment and right after an
output file has appeared, before Spark has committed the batch; then the same command runs again.
At the end every output must equal the undisturbed run's, row for row.

    python benchmarks/kill_spark.py [--kills 21] [--pieces 24] [--seed 0] [--cases hello,…]
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq

from headway.files import load_query
from headway.sources.parquet_file import StreamWriter
from headway.sources.recordings import find_file, read_file

EXAMPLES = Path(__file__).parents[1] / "examples"
CASES = {
    "hello": "stateless",
    "tyre_watch": "windows and a join",
    "collision_warning": "fusion, shedder, several outputs",
}
ADDED = ("deadline", "completed", "latency", "missed", "replayed")
PATIENCE_S = 600
GONE_S = 2.5
"""Python workers outlive their Java for a moment."""


@dataclass
class Case:
    """One example; ``recording`` is its recording in pieces."""

    example: str
    folder: Path
    pieces: int

    @property
    def recording(self) -> Path:
        return self.folder / "recording"

    def cut(self) -> None:
        """All sources are cut at the same times of arrival."""
        query = load_query(EXAMPLES / self.example / "query.yaml").query
        records = {}
        for source in query.sources:
            path = find_file(EXAMPLES / self.example / "recording", source.name)
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
        given = ["run", str(EXAMPLES / self.example / "query.yaml"), "--mode", "stream"]
        given += ["--input", str(self.recording), "--output", str(output)]
        given += ["--checkpoint", f"{output}-checkpoint", "--available-now", "--late-ok"]
        return [*given, "--files-per-batch", "1", "--master", "local[2]"]

    def start(self, output: Path) -> subprocess.Popen[bytes]:
        """The command, as the leader of a process group of its own."""
        command = [sys.executable, "-m", "headway.cli", *self.arguments(output)]
        with (self.folder / "log.txt").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def finish(self, output: Path) -> None:
        process = self.start(output)
        try:
            code = process.wait(PATIENCE_S)
        finally:
            if process.poll() is None:
                kill(process)
        if code:
            log = (self.folder / "log.txt").read_text()
            raise SystemExit(f"{self.example}: exit {code}: {log}")


def files(output: Path) -> set[Path]:
    return set(output.glob("*.parquet/batch-*.parquet"))


def kill(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    time.sleep(GONE_S)


def killed(case: Case, output: Path, random: Random, *, at_window: bool) -> str | None:
    """Starts the stream and kills it; what was hit, or None if it was over before."""
    before = files(output)
    process = case.start(output)
    wanted = random.randrange(1, 4)
    deadline = time.monotonic() + PATIENCE_S
    while process.poll() is None and len(new := files(output) - before) < wanted:
        if time.monotonic() > deadline:
            kill(process)
            raise SystemExit(f"{case.example}: nothing came for {PATIENCE_S} s")
        time.sleep(0.002)
    if process.poll():
        raise SystemExit(f"{case.example}: {(case.folder / 'log.txt').read_text()}")
    if process.poll() is not None:
        return None
    if not at_window:
        time.sleep(random.uniform(0, 1.5))
        if process.poll() is not None:
            return None
        kill(process)
        return "at random"
    newest = max(new, key=lambda path: path.stat().st_mtime_ns)
    kill(process)
    number = int(newest.stem.split("-")[1])
    commits = Path(f"{output}-checkpoint").glob(f"*/commits/{number}")
    return "after commit" if list(commits) and not _open(output, number) else "before commit"


def _open(output: Path, number: int) -> bool:
    """Whether a group has the batch in its plans and not among its commits."""
    groups = [path.parent for path in Path(f"{output}-checkpoint").glob("*/offsets")]
    name = str(number)
    return any(
        (group / "offsets" / name).exists() and not (group / "commits" / name).exists()
        for group in groups
    )


def rows(output: Path) -> dict[str, list[tuple[Any, ...]]]:
    """What was computed, without when; in an order of its own."""
    found = {}
    for folder in sorted(output.glob("*.parquet")):
        table = pq.read_table(folder)
        table = table.drop_columns([name for name in ADDED if name in table.column_names])
        listed = zip(*(column.to_pylist() for column in table.columns), strict=True)
        found[folder.name] = sorted(listed, key=repr)
    return found


def run_case(case: Case, kills: int, random: Random) -> Iterator[str]:
    """What each kill hit, and whether the result is right. Starts again when a run was over."""
    case.cut()
    case.finish(case.folder / "undisturbed")
    expected = rows(case.folder / "undisturbed")
    done, round_ = 0, 0
    while done < kills:
        output = case.folder / f"disturbed{round_}"
        round_ += 1
        while done < kills:
            hit = killed(case, output, random, at_window=done % 2 == 0)
            if hit is None:
                break
            done += 1
            yield hit
        case.finish(output)
        got = rows(output)
        if got != expected:
            wrong = [name for name in expected if got.get(name) != expected[name]]
            raise SystemExit(f"{case.example}: outputs differ after kills: {', '.join(wrong)}")
        yield f"equal: {sum(map(len, got.values()))} rows"
        shutil.rmtree(output)
        shutil.rmtree(f"{output}-checkpoint")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=21, help="in all, shared by the cases")
    parser.add_argument("--pieces", type=int, default=24)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", default=",".join(CASES))
    options = parser.parse_args()
    random = Random(options.seed)
    cases = options.cases.split(",")
    hits: dict[str, int] = {}
    with tempfile.TemporaryDirectory(prefix="headway-kills-") as scratch:
        for example in cases:
            what = CASES[example]
            case = Case(example, Path(scratch) / example, options.pieces)
            case.folder.mkdir()
            for hit in run_case(case, -(-options.kills // len(cases)), random):
                print(f"{example} ({what}): {hit}", flush=True)
                hits[hit] = hits.get(hit, 0) + 1
    kinds = ("at random", "before commit", "after commit")
    told = ", ".join(f"{hits.get(kind, 0)} {kind}" for kind in kinds)
    print(f"{sum(hits.get(kind, 0) for kind in kinds)} kills ({told}); all outputs equal")


if __name__ == "__main__":
    main()
