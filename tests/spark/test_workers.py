"""Python workers: soft outputs have their own, which step back; all start with modules loaded."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from headway.spark.session.python_workers import FAR, enter, modest_workers
from headway.spark.session.spark_session import session_conf
from headway.spark.session.urgency import Share, shares

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="workers are Spark's own elsewhere")


def workers(spark: SparkSession, *, modest: bool) -> dict[int, int]:
    """How far each worker that ran something stepped back, by process."""

    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        enter(())
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"process": [os.getpid()], "nice": [os.nice(0)]})

    with modest_workers(spark) if modest else nullcontext():
        found = spark.range(2, numPartitions=2).mapInArrow(look, "process long, nice long")
    return {row.process: row.nice for row in found.collect()}


def test_soft_functions_run_in_workers_of_their_own_that_step_back(spark: SparkSession) -> None:
    before = workers(spark, modest=False)
    soft = workers(spark, modest=True)
    after = workers(spark, modest=False)
    own = os.nice(0)
    assert set(before.values()) | set(after.values()) == {own}
    assert set(soft.values()) == {min(19, own + FAR)}
    assert not soft.keys() & (before.keys() | after.keys())


@LINUX
def test_a_worker_starts_with_its_modules_loaded(spark: SparkSession) -> None:
    def loaded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.RecordBatch.from_pydict(
                {"there": ["headway.spark.state.task_files" in sys.modules]}
            )

    rows = spark.range(1, numPartitions=1).mapInArrow(loaded, "there boolean").collect()
    assert [row.there for row in rows] == [True]


@LINUX
def test_a_cluster_and_the_user_choose_their_own_daemon() -> None:
    key = "spark.python.daemon.module"
    assert key not in session_conf("spark://host:7077", {})
    assert session_conf("local[2]", {key: "mine"})[key] == "mine"
    paths = "spark.executorEnv.PYTHONPATH"
    assert session_conf("local[2]", {paths: "/mine"})[paths].endswith("/mine")


def test_soft_outputs_step_back_only_beside_hard_ones() -> None:
    assert shares(any_hard=True, policy="edf") == {
        True: Share("hard"),
        False: Share("soft", leaves_some=True, modest=True),
    }
    assert not shares(any_hard=False, policy="edf")[False].modest
    assert shares(any_hard=True, policy="fifo")[False] == Share()
