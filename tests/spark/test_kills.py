"""A stream that is killed gives in the end what one that was left alone gives."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from benchmarks.kill_spark import Case, killed, rows
from pyspark.sql import SparkSession
from tests.cli.running import headway


@pytest.mark.parametrize("example", ["hello", "tyre_watch"])
def test_a_kill_leaves_no_trace(example: str, spark: SparkSession, tmp_path: Path) -> None:
    """Right after an output file appeared, so mostly before Spark has committed the batch. Only the
    run that is killed is a process of its own. All examples, many kills: benchmarks/kill_spark.py.
    """
    assert spark.sparkContext.master == "local[2]"
    case = Case(example, tmp_path, pieces=4)
    case.cut()
    hit = killed(case, tmp_path / "killed", Random(1), at_window=True)
    assert hit is not None
    for output in ("killed", "undisturbed"):
        done = headway(*case.arguments(tmp_path / output))
        assert done.exit_code == 0, done.output
    expected = rows(tmp_path / "undisturbed")
    assert any(expected.values())
    assert rows(tmp_path / "killed") == expected
