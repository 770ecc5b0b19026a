"""``spark-pipelines`` in a process of its own, and what it wrote."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pytest

import headway
from headway.spark.session.java_runtime import java_home

LONGEST_S = 900


def run_pipeline(project: Path, *options: str, command: str = "run") -> str:
    """What it printed; the test fails where the pipeline does."""
    pytest.importorskip(
        "grpc", reason="spark-pipelines needs grpcio: pip install 'headway[connect]'"
    )
    program = Path(sys.executable).parent / "spark-pipelines"
    source = Path(headway.__file__).parents[1]
    environment = {
        **os.environ,
        "JAVA_HOME": str(java_home()),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_TESTING": "1",  # a port of its own: others may be using the usual one
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(source), os.environ.get("PYTHONPATH", "")]),
    }
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
    }
    conf = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    done = subprocess.run(
        [str(program), command, "--remote", "local[2]", *conf, *options],
        cwd=project,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout


def stored(project: Path, dataset: str) -> Any:
    """A dataset as Arrow; one without rows may have no file."""
    folder = project / "spark-warehouse" / dataset.lower()
    found = sorted(folder.glob("*.parquet"))
    return pa.dataset.dataset([str(path) for path in found]).to_table() if found else pa.table({})
