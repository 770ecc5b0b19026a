"""Streams that are stopped by a person or by a full disk, and go on."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from benchmarks.kill_spark import Case, files, rows
from pyspark.sql import SparkSession
from tests.cli.running import HELLO, headway
from tests.waiting import PATIENCE_S, until


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 512 kB; where none may be mounted, the test is skipped."""
    place = tmp_path / "tiny"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "none", place], capture_output=True, check=False
    ) if shutil.which("mount") else None  # fmt: skip
    if mounted is None or mounted.returncode:
        pytest.skip("mounting a tmpfs is not permitted here")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as filler:
        while True:
            filler.write(b"x" * 1024)


def test_a_full_disk_stops_the_stream_and_the_same_command_goes_on(
    spark: SparkSession, tiny_disk: Path, tmp_path: Path
) -> None:
    case = Case("hello", tmp_path / "case", pieces=4)
    case.cut()
    (last,) = (case.recording / "speed").glob("0002*")
    shutil.move(last, tmp_path / "last.parquet")
    command = (
        "run", HELLO, "--mode", "stream", "--available-now", "--late-ok", "--master", "local[2]",
        "--input", case.recording, "--output", tiny_disk / "out",
        "--checkpoint", tmp_path / "checkpoint",
    )  # fmt: skip
    assert (done := headway(*command)).exit_code == 0, done.output
    before = rows(tiny_disk / "out")
    shutil.move(tmp_path / "last.parquet", last)
    with pytest.raises(OSError, match="No space left"):
        fill(tiny_disk / "filler")
    stopped = headway(*command)
    assert stopped.exit_code == 2, stopped.output
    assert "disk" in stopped.output
    assert "run the same command again" in stopped.output
    assert rows(tiny_disk / "out") == before
    (tiny_disk / "filler").unlink()
    assert (done := headway(*command)).exit_code == 0, done.output
    count = sum(pq.ParquetFile(path).metadata.num_rows for path in files(tiny_disk / "out"))
    assert count == 250


@pytest.mark.spark
def test_ctrl_c_stops_cleanly_and_shows_the_numbers(tmp_path: Path) -> None:
    case = Case("hello", tmp_path / "case", pieces=4)
    case.cut()
    command: list[str | Path] = [
        sys.executable, "-m", "headway.cli", "run", HELLO, "--mode", "stream", "--late-ok",
        "--master", "local[2]", "--input", case.recording, "--output", tmp_path / "out",
    ]  # fmt: skip
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    # All files are in the first batch; it is over when Spark has committed it.
    until(lambda: [*tmp_path.rglob("commits/0")] or process.poll() is not None, every=0.1)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    said, noise = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, noise
    assert "250 tuples out" in said
    assert noise == ""
    assert sum(map(len, rows(tmp_path / "out").values())) == 250
