"""A stream that is killed gives in the end what one that was left alone gives."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from benchmarks.kill_spark import Case, run_case

KILLS = {"hello": 2, "tyre_watch": 1}


@pytest.mark.spark
@pytest.mark.timeout(900)
@pytest.mark.parametrize("example", KILLS)
def test_kills_leave_no_trace(example: str, tmp_path: Path) -> None:
    """The full version, over all examples, is benchmarks/kill_spark.py."""
    told = list(run_case(Case(example, tmp_path, pieces=6), KILLS[example], Random(1)))
    hits = [hit for hit in told if not hit.startswith("equal")]
    assert len(hits) == KILLS[example]
    assert "before commit" in hits
    assert told[-1].startswith("equal")
