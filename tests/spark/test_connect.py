"""Batches and streams through Spark Connect: the same answers, without a JVM at hand."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

NEEDED = ("grpc", "grpc_status", "google.rpc", "zstandard")


def there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the parent package is missing
        return False


@pytest.mark.skipif(
    not all(map(there, NEEDED)),
    reason="Spark Connect needs grpcio, grpcio-status, googleapis-common-protos and zstandard: "
    "pip install 'headway[connect]'",
)
def test_what_goes_through_connect_gives_the_meaning(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.spark.connect_answers", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    assert ran.stdout.splitlines() == ["by pyspark.sql.connect.session", "all was asked"]
