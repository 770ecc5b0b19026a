"""Every example gives the same on both engines."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.contract.engines import spark_batch, spark_stream
from tests.contract.examples import EXAMPLES, example_query, recording_of
from tests.contract.recordings import differences, meaning

from headway.compiler import compile_query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda path: path.name)
def test_an_example_in_batch(spark: SparkSession, folder: Path) -> None:
    query = example_query(folder)
    plan = compile_query(query)
    recording = recording_of(query, random.Random(3), steps=40)
    expected = meaning(plan, recording)
    assert {name for _, name, _ in expected} == {output.name for output in query.outputs}
    assert differences(expected, spark_batch(spark, plan, recording)) == []


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda path: path.name)
def test_an_example_as_a_stream(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    query = example_query(folder)
    plan = compile_query(query)
    recording = recording_of(query, random.Random(4), steps=15)
    got = spark_stream(spark, plan, recording, tmp_path, random.Random(1))
    assert differences(meaning(plan, recording), got) == []
