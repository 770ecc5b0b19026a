"""`headway reproduce --quick` on Spark, killed once and started again: one run for all tests.

A user's command in a process of its own. It gets SIGKILL, with its Java and all its workers, when a
few cells are there; then the same command goes on. What comes of it is shared by the tests of the
studies and of the report in a browser, which only read it.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from headway_studies.registry import STUDIES
from headway_studies.study import Findings, Row, Verdict
from headway_studies.study_charts import Grid, Picture

LONG = frozenset(
    (
        "v2v-rates",
        "output1-latency",
        "position-error",
        "cities",
        "calibration",
        "recorded-drive",
        "connected-cars",
    )
)
"""two thirds of the time of all: run with HEADWAY_SLOW only. On shorter drives they are always run,
by test_short_studies.py; the recorded drive is by test_recorded_drive.py"""
RUN = tuple(name for name in STUDIES if name not in LONG or "HEADWAY_SLOW" in os.environ)
COMMAND = ("reproduce", *RUN, "--quick", "--master", "local[2]")
"""two slots wherever it runs: with more, the cells of a study would all be under way at the kill"""
KILLED, KILLED_AFTER = "cores", 2
"""when so many cells of this study are there: it has more, and is small enough to be run again"""
PATIENCE_S = 1200
LOOK_S = 0.05


@dataclass(frozen=True, kw_only=True)
class QuickRun:
    """The folder of a run that was killed and resumed."""

    folder: Path
    finished: dict[Path, int]
    """the cells that were there when it was killed"""
    code: int
    """exit code of the run that went on"""
    told: str
    """what that run wrote on the screen"""

    @property
    def report(self) -> str:
        return (self.folder / "report.html").read_text(encoding="utf-8")

    def rows(self, study: str) -> list[Row]:
        """All rows of a study, in the order of its grid."""
        rows: list[Row] = pq.read_table(self.folder / study / "rows.parquet").to_pylist()
        return rows

    def findings(self, study: str) -> Findings:
        return STUDIES[study].analyse(self.rows(study))


def say_something(findings: Findings) -> None:
    """Claims with all that a reader needs, reasons for differences, something to see."""
    assert findings.claims
    assert findings.pictures
    for claim in findings.claims:
        assert claim.figure
        assert claim.published
        assert claim.ours
        assert claim.verdict is not Verdict.DIFFERS or claim.why
        assert "nan" not in claim.ours
    assert all(drawn(picture) for picture in findings.pictures)


def drawn(picture: Picture) -> bool:
    """Whether there is something to see: a table with rows, a drawing without NaN."""
    if isinstance(picture, Grid):
        return bool(picture.rows) and {len(row) for row in picture.rows} == {len(picture.headers)}
    text = json.dumps(picture.spec())
    return "NaN" not in text and "Infinity" not in text


def cell_files(folder: Path) -> dict[Path, int]:
    """Finished cells of a study, or of all below a folder, and when each was written (ns)."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("cells/*.parquet")}


def shared_run(base: Path) -> QuickRun:
    """The one run below a folder that several processes share: made by the first that comes, while
    the others wait."""
    folder, result = base / "quick_run", base / "quick_run" / "result.pickle"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if not result.exists():
            result.write_bytes(pickle.dumps(_run_in(folder)))
        run: QuickRun = pickle.loads(result.read_bytes())
    return run


def _run_in(folder: Path) -> QuickRun:
    """Two processes one after the other; the first does not live to the end."""
    out = folder / "reproduced"
    finished = _killed_half_way(out, folder / "killed.log")
    log = folder / "resumed.log"
    process = _started(out, log)
    try:
        code = process.wait(PATIENCE_S)
    finally:
        _kill_session(process)
    told = log.read_text(encoding="utf-8")
    return QuickRun(folder=out, finished=finished, code=code, told=told)


def _started(out: Path, log: Path) -> subprocess.Popen[Any]:
    """The leader of a session of its own."""
    command = [sys.executable, "-m", "headway.cli", *COMMAND, "--out", str(out)]
    with log.open("wb") as told:
        return subprocess.Popen(command, stdout=told, stderr=told, start_new_session=True)


def _killed_half_way(out: Path, log: Path) -> dict[Path, int]:
    process = _started(out, log)
    until = time.monotonic() + PATIENCE_S
    try:
        while len(cell_files(out / KILLED)) < KILLED_AFTER:
            assert process.poll() is None, log.read_text(encoding="utf-8")
            assert time.monotonic() < until, f"no cells after {PATIENCE_S} s"
            time.sleep(LOOK_S)
    finally:
        _kill_session(process)
    return cell_files(out)


def _kill_session(process: subprocess.Popen[Any]) -> None:
    """The process, its Java and its workers: these have a process group of their own, but they are
    of its session. None is left when this returns."""
    while process.poll() is None or _of_session(process.pid):
        process.kill()
        for one in _of_session(process.pid):
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        time.sleep(LOOK_S)


def _of_session(leader: int) -> list[int]:
    """Processes that are alive; a dead one whose parent has not asked for it is none."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it may be gone by now
            state, _, _, session = path.read_text().rpartition(")")[2].split()[:4]
            if int(session) == leader and state != "Z":
                found.append(int(path.parent.name))
    return found
