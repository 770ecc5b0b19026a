"""Outputs of streams as tables: what deltalake and pyiceberg read is what the stream published."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headway.errors import EnvironmentMissing, FileError
from headway.spark import stream
from headway.spark.storage.table_logs import add_to_delta, add_to_iceberg

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def add_rows(folder: Path, name: str, values: list[float]) -> None:
    """A file as a stream publishes it."""
    folder.mkdir(exist_ok=True)
    times = pa.array(range(len(values)), pa.timestamp("us", "UTC"))
    table = pa.table({"vehicle": ["a"] * len(values), "timestamp": times, "v": values})
    pq.write_table(table, folder / name)


def delta_values(folder: Path) -> list[float]:
    from deltalake import DeltaTable

    found = pa.table(DeltaTable(str(folder)).to_pyarrow_table())
    return sorted(found.column("v").to_pylist())


def test_delta_takes_each_file_once_and_follows_what_is_taken_back(tmp_path: Path) -> None:
    pytest.importorskip("deltalake", reason="not installed")
    folder = tmp_path / "alarm.parquet"
    add_rows(folder, "batch-0000000000-00000.parquet", [1.0, 2.0])
    add_rows(folder, "end-00000.parquet", [9.0])
    add_rows(folder, ".batch-0000000001-00000.x.part", [7.0])  # not published yet
    assert [add_to_delta(folder), add_to_delta(folder)] == [2, 0]
    assert delta_values(folder) == [1.0, 2.0, 9.0]
    (folder / "end-00000.parquet").unlink()  # the stream goes on
    add_rows(folder, "batch-0000000001-00000.parquet", [3.0])
    assert add_to_delta(folder) == 1
    assert delta_values(folder) == [1.0, 2.0, 3.0]
    add_rows(folder, "end-00000.parquet", [4.0])
    add_to_delta(folder)
    add_rows(folder, "end-00000.parquet", [5.0, 6.0])  # taken back and given again meanwhile
    assert add_to_delta(folder) == 1
    assert delta_values(folder) == [1.0, 2.0, 3.0, 5.0, 6.0]


def test_iceberg_takes_each_file_once(tmp_path: Path) -> None:
    pytest.importorskip("pyiceberg", reason="not installed")
    pytest.importorskip("sqlalchemy", reason="not installed")
    from pyiceberg.catalog.sql import SqlCatalog

    folder = tmp_path / "alarm.parquet"
    add_rows(folder, "batch-0000000000-00000.parquet", [1.0, 2.0])
    where = {"uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": (tmp_path / "w").as_uri()}
    catalog = SqlCatalog("fleet", **where)
    catalog.create_namespace("fleet")
    schema = pq.read_schema(folder / "batch-0000000000-00000.parquet")
    table = catalog.create_table("fleet.alarm", schema=schema)
    assert [add_to_iceberg(table, folder), add_to_iceberg(table, folder)] == [1, 0]
    add_rows(folder, "batch-0000000001-00000.parquet", [3.0])
    assert add_to_iceberg(table, folder) == 1
    assert sorted(table.scan().to_arrow().column("v").to_pylist()) == [1.0, 2.0, 3.0]
    catalog.engine.dispose()


def test_a_folder_without_files(tmp_path: Path) -> None:
    pytest.importorskip("deltalake", reason="not installed")
    with pytest.raises(FileError, match="no Parquet files of an output"):
        add_to_delta(tmp_path)


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(EnvironmentMissing, match=r"pip install 'headway\[tables\]'"):
        add_to_delta(tmp_path)


QUERY = """
query: tables
sources: {speed: {schema: {v: double}, rate: 1 per 10 ms}}
operators:
  mean: {aggregate: {v: avg(v)}, from: speed, window: 1 s}
outputs: {mean: {from: mean, deadline: 1 s}}
"""


def test_what_a_stream_writes_is_a_delta_table(spark: SparkSession, tmp_path: Path) -> None:
    pytest.importorskip("deltalake", reason="not installed")
    from headway.files import parse_query

    values = [float(number) for number in range(40)]
    times = pa.array([number * 100_000 for number in range(40)], pa.timestamp("us", "UTC"))
    (tmp_path / "speed").mkdir()
    pq.write_table(pa.table({"timestamp": times, "v": values}), tmp_path / "speed" / "0.parquet")
    speed = spark.readStream.schema("timestamp timestamp, v double").parquet(
        str(tmp_path / "speed")
    )
    running = stream(parse_query(QUERY), {"speed": speed}).start(
        output=tmp_path / "out", checkpoint=tmp_path / "checkpoint", available_now=True
    )
    running.awaitTermination()
    folder = tmp_path / "out" / "mean.parquet"
    assert add_to_delta(folder) > 0
    assert delta_values(folder) == [4.5, 14.5, 24.5, 34.5]
