"""The contract of the side outputs: what is late, shed, failed or rejected is listed on Spark, in
batch and as a stream, as the vehicle engine without costs lists it: where, when and why."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.contract import recordings
from tests.contract.cases import CASES, SOURCES, query_of, random_queries
from tests.contract.engines import side_of_batch, stream_and_side
from tests.contract.random_queries import ALL, random_recording
from tests.contract.recordings import Recording, Side, meaning, meant_side

from headway.compiler import compile_query
from headway.model.plan import Plan
from headway.model.query import Query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(autouse=True)
def for_small_data(spark: SparkSession) -> Iterator[None]:
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    yield
    spark.conf.unset("spark.sql.adaptive.enabled")


def recorded(query: Query, seed: int) -> tuple[Plan, Recording]:
    """Some tuples have no timestamp."""
    draw = random.Random(seed)
    found = random_recording(draw, query, vehicles=3, most=30).tuples
    broken = (
        one._replace(row=(None, *one.row[1:])) if draw.random() < 0.05 else one for one in found
    )
    return compile_query(query), Recording(tuple(broken))


def differences(expected: Side, got: Side) -> list[str]:
    return [f"missing {row}" for row in expected - got] + [f"extra {row}" for row in got - expected]


@pytest.mark.parametrize("sources", SOURCES)
def test_every_operator(spark: SparkSession, sources: str, tmp_path: Path) -> None:
    """As a stream the outputs, too: one run shows both."""
    plan, recording = recorded(query_of(CASES, sources), seed=31)
    expected = meant_side(plan, recording)
    kinds = Counter(kind for _, kind, *_ in expected)
    assert {"late", "failed", "rejected"} <= kinds.keys()
    assert ("shed" in kinds) == (sources == "shed")
    assert differences(expected, side_of_batch(spark, plan, recording)) == []
    # A stream's reader rejects tuples, see tests/spark/sources.
    expected = Counter({row: n for row, n in expected.items() if row[1] != "rejected"})
    outputs, side = stream_and_side(spark, plan, recording, tmp_path, random.Random(6))
    assert differences(expected, side) == []
    assert recordings.differences(meaning(plan, recording), outputs) == []


@pytest.mark.parametrize("seed", [41, 42])
def test_random_queries(spark: SparkSession, seed: int) -> None:
    plan, recording = recorded(random_queries(seed, 8, ALL), seed)
    expected = meant_side(plan, recording)
    assert len(expected) > 20, "a run without drops shows nothing"
    assert differences(expected, side_of_batch(spark, plan, recording)) == []
