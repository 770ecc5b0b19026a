"""One streaming run on Spark, measured: seconds, processor time, micro-batches, memory.

The time of a micro-batch is read from the checkpoint: Spark writes ``commits/N`` at its end,
whoever wrote the program. Processor time is that of the whole tree of processes, so it says what
a row costs even where other work runs on the machine.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from typer.testing import CliRunner

import headway as headway_package
from headway.cli import app
from headway.spark.session.spark_session import is_local, owned_session, run_conf
from headway.spark.session.spark_submit import ZIP, package

HERE = Path(__file__).parent
SOURCE = Path(headway_package.__file__).parents[1]
_TICKS = os.sysconf("SC_CLK_TCK")
FILES = 10_000
"""more than any recording here has: all in one micro-batch"""


# ---------------------------------------------------------------- sessions and programs


@contextmanager
def session(master: str, conf: dict[str, str] | None = None) -> Iterator[Any]:
    """Headway's; its settings make every program's micro-batches quicker, not only Headway's."""
    paths = os.pathsep.join([str(SOURCE), str(HERE)])
    settings = run_conf("edf", {"spark.executorEnv.PYTHONPATH": paths, **(conf or {})})
    with tempfile.TemporaryDirectory(prefix="headway-shipped-") as folder:
        if not is_local(master):
            os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
            os.environ["PYSPARK_PYTHON"] = sys.executable
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
            # Each run would ship Headway again, which Spark refuses; now it is there already.
            shipped = Path(folder) / ZIP
            shipped.write_bytes(package(None))
            settings["spark.submit.pyFiles"] = str(shipped)
        with owned_session(master, "benchmark", settings) as spark:
            yield spark


def headway(
    query: Path, recording: Path, scratch: Path, files_per_batch: int, master: str, *more: str
) -> None:
    """``headway run --mode stream`` in this process and its running session."""
    given = ["run", str(query), "--engine", "spark", "--mode", "stream", "--master", master]
    given += ["--input", str(recording), "--output", str(scratch), "--available-now", "--late-ok"]
    given += ["--checkpoint", str(scratch) + "-checkpoint"]
    given += ["--files-per-batch", str(files_per_batch), "--json", *more]
    done = CliRunner().invoke(app, given)
    if done.exit_code:
        raise SystemExit(f"headway {' '.join(given)}: exit {done.exit_code}: {done.output}") from (
            done.exception
        )


def _published(scratch: Path, output: str) -> list[Path]:
    folder = scratch / f"{output}.parquet"
    return [path for path in sorted(folder.rglob("*.parquet")) if path.name[0] not in "._"]


def count_written(scratch: Path, output: str = "out") -> int:
    """Rows, without reading them."""
    return sum(pq.read_metadata(path).num_rows for path in _published(scratch, output))


def written(scratch: Path, output: str = "out") -> pa.Table:
    """What a program wrote; files that are not published do not count."""
    tables = [pq.ParquetFile(path).read() for path in _published(scratch, output)]
    if not tables:
        return pa.table({})
    return pa.concat_tables([t for t in tables if t.num_rows] or tables[:1])


# ---------------------------------------------------------------- processes


def _stat(pid: int) -> list[str]:
    """From the third field on (proc(5)); nothing of a process that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def tree(root: int) -> list[int]:
    """A process and all that come from it."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        if fields := _stat(int(path.name)):
            parents.setdefault(int(fields[1]), []).append(int(path.name))
    found = [root]
    for pid in found:
        found += parents.get(pid, [])
    return found


def processor_s(pid: int, *, with_gone: bool = False) -> float:
    """Of one process; with those of its children that have ended."""
    fields = _stat(pid)
    if not fields:
        return 0.0
    return sum(map(int, fields[11 : 15 if with_gone else 13])) / _TICKS


def tree_processor_s(root: int | None = None) -> float:
    return sum(processor_s(pid, with_gone=True) for pid in tree(root or os.getpid()))


def resident_mb(pid: int) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    for line in status.splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def java_pid(spark: Any) -> int:
    return int(spark._jvm.java.lang.ProcessHandle.current().pid())


class JavaHeap:
    """Of the driver's Java; in MB."""

    def __init__(self, spark: Any) -> None:
        self._java = spark._jvm.java.lang
        self._pools = [
            pool
            for pool in self._java.management.ManagementFactory.getMemoryPoolMXBeans()
            if str(pool.getType().name()) == "HEAP"
        ]

    def reset(self) -> None:
        for pool in self._pools:
            pool.resetPeakUsage()

    def peak(self) -> float:
        """The most since the reset, with what nobody needs any longer."""
        return float(sum(pool.getPeakUsage().getUsed() for pool in self._pools)) / 2**20

    def kept(self) -> float:
        """In use after a full collection."""
        self._java.System.gc()
        runtime = self._java.Runtime.getRuntime()
        return float(runtime.totalMemory() - runtime.freeMemory()) / 2**20


class ProcessWatch(threading.Thread):
    """While a block runs, every 20 ms: processor time of some processes, and the most resident
    memory of the first."""

    def __init__(self, *pids: int) -> None:
        super().__init__(daemon=True)
        self._pids, self._over = pids, threading.Event()
        self.most_mb = resident_mb(pids[0])
        self._moments: list[float] = []
        self._used: list[float] = []

    def __enter__(self) -> ProcessWatch:
        self.start()
        return self

    def run(self) -> None:
        while not self._over.wait(0.02):
            self.most_mb = max(self.most_mb, resident_mb(self._pids[0]))
            self._moments.append(time.time())
            self._used.append(sum(map(processor_s, self._pids)))

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()

    def processor_s(self, first: float, last: float) -> float:
        """Between two moments of the clock."""
        begin, end = np.interp([first, last], self._moments, self._used)
        return float(end - begin)


# ---------------------------------------------------------------- one run


@dataclass(frozen=True)
class Run:
    """``steady``: rows a second between the ends of the first and the last micro-batch with rows;
    0 with one micro-batch. ``cpu_us``: processor time of a row."""

    rows: int
    seconds: float
    batches: int
    batch_ms: float
    steady: float
    cpu_us: float

    @property
    def rate(self) -> float:
        return self.rows / self.seconds

    def data(self) -> dict[str, float]:
        return {**asdict(self), "rate": self.rate}


class Stopwatch:
    """``with Stopwatch() as watch: …``, then ``watch.run(rows, checkpoint, batches)``."""

    def __enter__(self) -> Stopwatch:
        self._cpu, self._began = tree_processor_s(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self._seconds = time.perf_counter() - self._began
        self._cpu = tree_processor_s() - self._cpu

    def run(self, rows: int, checkpoint: Path, batches: int) -> Run:
        """``batches``: how many had rows; an empty one may have come behind them."""
        ends = commits(checkpoint)[:batches]
        between = [later - earlier for earlier, later in pairwise(ends)]
        span = sum(between)
        share = rows * len(between) / max(1, len(ends))
        return Run(
            rows,
            self._seconds,
            len(ends),
            1e3 * statistics.median(between) if between else 0.0,
            share / span if span else 0.0,
            1e6 * self._cpu / rows,
        )


def commits(checkpoint: Path) -> list[float]:
    """When each micro-batch was over, in their order. Of several queries, that of the last."""
    found: dict[int, float] = {}
    for path in checkpoint.rglob("commits/[0-9]*"):
        if path.name.isdecimal():
            number = int(path.name)
            found[number] = max(found.get(number, 0.0), path.stat().st_mtime)
    return [found[number] for number in sorted(found)]


def folder_size(folder: Path) -> tuple[int, int]:
    """Files and bytes; what goes away while it is looked at does not count."""
    files = size = 0
    for base, _, names in os.walk(folder):
        for name in names:
            try:
                size += (Path(base) / name).stat().st_size
            except OSError:
                continue
            files += 1
    return files, size
