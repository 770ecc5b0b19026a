"""The programs by hand that a batch is timed against give the answers of their queries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from benchmarks.bench_spark_batch import CASES, side_by_side, write_recording

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("case", CASES)
def test_both_programs_give_the_same_rows(spark: SparkSession, case: str, tmp_path: Path) -> None:
    write_recording(tmp_path / "recording", rows=4_000, vehicles=4)
    _, _, count = side_by_side(spark, case, tmp_path, tmp_path / "recording", rounds=0)
    assert count > 0
