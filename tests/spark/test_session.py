"""A real Spark on this machine, with Headway's settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from headway.errors import EnvironmentMissing
from headway.spark.session import spark_session as session_module
from headway.spark.session.spark_session import local_session, session_conf, spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_dataframe_counts(spark: SparkSession) -> None:
    frame = spark.range(1000)
    assert frame.filter("id % 3 = 0").count() == 334


def test_arrow_batches_pass_through_python_workers(spark: SparkSession) -> None:
    def doubled(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            ids = [2 * value for value in batch.column("id").to_pylist()]
            yield pa.RecordBatch.from_pydict({"id": pa.array(ids, pa.int64())})

    rows = spark.range(5).mapInArrow(doubled, "id long").collect()
    assert sorted(row.id for row in rows) == [0, 2, 4, 6, 8]


def test_the_workers_run_the_drivers_python(spark: SparkSession) -> None:
    def executable(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"path": [sys.executable]})

    rows = spark.range(1, numPartitions=1).mapInArrow(executable, "path string").collect()
    assert [row.path for row in rows] == [sys.executable]


def test_a_division_by_zero_is_null(spark: SparkSession) -> None:
    row = spark.sql("SELECT 1 / 0 AS quotient, CAST('x' AS INT) AS number").first()
    assert row is not None
    assert row.asDict() == {"quotient": None, "number": None}


def test_timestamps_are_read_as_utc(spark: SparkSession) -> None:
    row = spark.sql("SELECT unix_micros(TIMESTAMP '1970-01-01 00:00:01') AS micros").first()
    assert row is not None
    assert row.micros == 1_000_000


def test_a_shuffle_uses_as_many_partitions_as_cores(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"


def test_spark_has_no_user_interface_unless_asked(spark: SparkSession) -> None:
    assert spark.sparkContext.uiWebUrl is None


def test_a_running_session_is_shared(spark: SparkSession) -> None:
    again = local_session(cores=2)
    assert again.sparkContext is spark.sparkContext


def test_another_master_beside_a_running_session_is_refused(spark: SparkSession) -> None:
    with pytest.raises(
        EnvironmentMissing, match=r"session on local\[2\] runs .* none can be started on local\[1\]"
    ):
        spark_session("local[1]")
    assert spark.range(1).count() == 1


def test_the_users_settings_win() -> None:
    settings = session_conf("local[4]", {"spark.ui.enabled": "true", "spark.other": "1"})
    assert settings["spark.ui.enabled"] == "true"
    assert settings["spark.other"] == "1"
    assert settings["spark.sql.ansi.enabled"] == "false"


def test_the_users_java_options_join_the_quiet_log() -> None:
    options = session_conf("local", {"spark.driver.extraJavaOptions": "-Xss4m"})[
        "spark.driver.extraJavaOptions"
    ]
    assert options.startswith("-Dlog4j2.configurationFile=file:///")
    assert options.endswith("log4j2.properties -Xss4m")


@pytest.mark.parametrize(
    ("master", "partitions"),
    [("local", "1"), ("local[3]", "3"), ("local[3,2]", "3"), ("spark://host:7077", None)],
)
def test_partitions_follow_a_local_masters_cores(master: str, partitions: str | None) -> None:
    assert session_conf(master, {}).get("spark.sql.shuffle.partitions") == partitions


def test_all_cores_means_those_this_process_may_use() -> None:
    cores = session_conf("local[*]", {})["spark.sql.shuffle.partitions"]
    assert 1 <= int(cores) <= (os.cpu_count() or 1)


def test_missing_packages_are_named_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        session_module, "_NEEDED", {"no.such": "protobuf", "nosuch": "pandas", "os": "os"}
    )
    with pytest.raises(EnvironmentMissing, match=r"needs protobuf, pandas, not installed for .*"):
        local_session()
