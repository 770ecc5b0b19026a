"""The contract: the vehicle engine without costs, Spark in batch and Spark as a stream give the
same tuples for every operator, whatever comes late, is missing or is NULL. Every operator as a
stream is in test_side.py, where one run shows the outputs and what left its way."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.contract.cases import CASES, SOURCES, query_of, random_queries
from tests.contract.engines import side_of_batch, spark_batch, spark_stream, through_spark
from tests.contract.random_queries import ALL, NATIVE, random_recording
from tests.contract.recordings import Answer, Recording, differences, meaning, meant_side

from headway.compiler import compile_query
from headway.model.operator_kinds import KINDS
from headway.model.plan import Plan
from headway.model.query import Query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


SMALL = {
    # It pays for large data only; on a few tuples it is most of the time.
    "spark.sql.adaptive.enabled": "false",
}

THEIRS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "America/St_Johns",
    "spark.sql.parser.escapedStringLiterals": "true",
}


@pytest.fixture(autouse=True)
def for_small_data(spark: SparkSession) -> Iterator[None]:
    for key, value in SMALL.items():
        spark.conf.set(key, value)
    yield
    for key in SMALL:
        spark.conf.unset(key)


def recorded(query: Query, seed: int) -> tuple[Plan, Recording, Answer]:
    plan = compile_query(query)
    recording = random_recording(random.Random(seed), query, vehicles=3, most=40)
    return plan, recording, meaning(plan, recording)


@pytest.mark.parametrize("sources", SOURCES)
def test_every_operator_in_batch(spark: SparkSession, sources: str) -> None:
    plan, recording, expected = recorded(query_of(CASES, sources), seed=24)
    silent = {output.name for output in plan.query.outputs} - {name for _, name, _ in expected}
    assert not silent, "a case without a tuple shows nothing"
    assert differences(expected, spark_batch(spark, plan, recording)) == []


def test_every_kind_in_batch_in_any_session(spark: SparkSession) -> None:
    """A user's: in ANSI mode, far from UTC. Only expressions hang on that: a case of each kind and
    those with casts, divisions and means."""
    theirs = spark.newSession()
    for key, value in {**SMALL, **THEIRS}.items():
        theirs.conf.set(key, value)
    first = {case[-1].kind: name for name, case in reversed(CASES.items())}
    asked = (*first.values(), "windows of a join", "windows of windows", "fusion with a gate")
    plan, recording, expected = recorded(query_of(asked, "plain"), seed=25)
    assert differences(expected, spark_batch(theirs, plan, recording)) == []
    assert side_of_batch(theirs, plan, recording) == meant_side(plan, recording)


def test_every_kind_through_the_writers_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    """The other way from the tasks to the files, a job for every output; the rest is the same, so
    one case of a kind is enough."""
    of_each = {case[-1].kind: name for name, case in CASES.items()}
    assert set(of_each) == set(KINDS)
    plan, recording, expected = recorded(query_of(of_each.values(), "plain"), seed=28)
    got = spark_stream(spark, plan, recording, tmp_path, random.Random(6), through_spark)
    assert differences(expected, got) == []


@pytest.mark.parametrize(("seed", "kinds"), [(11, NATIVE), (12, ALL)])
def test_random_queries_in_batch(spark: SparkSession, seed: int, kinds: tuple[str, ...]) -> None:
    plan, recording, expected = recorded(random_queries(seed, 8, kinds), seed)
    assert differences(expected, spark_batch(spark, plan, recording)) == []


@pytest.mark.parametrize("seed", [21, 22])
def test_random_queries_as_a_stream(spark: SparkSession, seed: int, tmp_path: Path) -> None:
    plan, recording, expected = recorded(random_queries(seed, 8, ALL), seed)
    got = spark_stream(spark, plan, recording, tmp_path, random.Random(seed))
    assert differences(expected, got) == []
