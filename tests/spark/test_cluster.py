"""A query on a real standalone cluster, one of whose two workers dies in the middle."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pyspark
import pytest
from benchmarks.kill_spark import Case, files
from tests.cli.running import EXAMPLES, headway
from tests.spark.cluster import Cluster
from tests.waiting import PATIENCE_S, until

QUERY = EXAMPLES / "tyre_watch" / "query.yaml"


@pytest.mark.spark
def test_a_query_survives_the_loss_of_a_worker(tmp_path: Path) -> None:
    case = Case("tyre_watch", tmp_path, pieces=6)
    case.cut()
    done = headway(
        "run", QUERY, "--engine", "vehicle", "--zero-cost",
        "--input", case_of_files(case, tmp_path / "whole"), "--output", tmp_path / "meant",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    with Cluster(tmp_path) as cluster:
        packaged = headway(
            "spark-submit-args", QUERY, "--out", tmp_path / "submit", "--master", cluster.url,
            "--conf", f"spark.pyspark.python={sys.executable}",
            "--conf", "spark.executor.memory=512m", "--",
            "--input", case.recording, "--output", tmp_path / "out", "--mode", "stream",
            "--checkpoint", tmp_path / "checkpoint", "--available-now", "--files-per-batch", "1",
        )  # fmt: skip
        assert packaged.exit_code == 0, packaged.output
        command = packaged.stdout.splitlines()[0].split()
        home = Path(pyspark.__file__).parent
        submit = [str(home / "bin" / command[0]), *command[1:]]
        environment = {
            **os.environ,
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_DRIVER_PYTHON": sys.executable,
        }
        with (tmp_path / "submit.log").open("wb") as log:
            process = subprocess.Popen(submit, stdout=log, stderr=log, env=environment)
            try:
                await_files(process, tmp_path, 1)
                cluster.kill_worker(0)
                code = process.wait(PATIENCE_S)
            finally:
                if process.poll() is None:
                    process.kill()
    assert code == 0, (tmp_path / "submit.log").read_text()[-4000:]
    assert Counter(map(repr, computed(tmp_path / "out"))) == Counter(
        map(repr, computed(tmp_path / "meant"))
    )


def case_of_files(case: Case, folder: Path) -> Path:
    """The same recording, one file a source."""
    folder.mkdir()
    for source in case.recording.iterdir():
        pq.write_table(pq.read_table(source), folder / f"{source.name}.parquet")
    return folder


def computed(output: Path) -> list[dict[str, object]]:
    table = pq.read_table(output / "warning.parquet")
    columns = ["vehicle", "timestamp", "wheel", "bar", "celsius"]
    listed: list[dict[str, object]] = table.select(columns).to_pylist()
    return listed


def await_files(process: subprocess.Popen[bytes], folder: Path, count: int) -> None:
    commits = folder / "checkpoint" / "soft-warning" / "commits"
    until(
        lambda: (
            process.poll() is not None
            or len(files(folder / "out")) >= count
            or len(list(commits.glob("[0-9]*"))) > count
        ),
        every=0.1,
    )
    assert process.poll() is None, (folder / "submit.log").read_text()[-4000:]
