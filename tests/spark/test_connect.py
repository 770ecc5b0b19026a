"""Batches through Spark Connect: the same answers, without a JVM at hand."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

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
def test_a_batch_through_connect_gives_the_meaning() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.spark.connect_answers"],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    assert ran.stdout.splitlines() == ["by pyspark.sql.connect.session", "all was asked"]
