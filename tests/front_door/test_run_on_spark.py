"""``hw.run`` on Spark: in the user's session, lazily, and the same tuples as in the car."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd  # type: ignore[import-untyped]
import pytest
from tests.spark.storage.hadoop_places import VIEWFS, mount

import headway as hw
from headway.errors import DataError
from headway.sources.in_memory import given_table
from headway.sources.recordings import read_recording
from headway.testing import ListSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EXAMPLE = Path(__file__).parents[2] / "examples" / "tyre_watch"
RECORDING = EXAMPLE / "recording"
ADDED = {"deadline", "completed", "latency", "missed"}
"""by the vehicle engine"""
ANSI, ZONE = "spark.sql.ansi.enabled", "spark.sql.session.timeZone"


def rows_of_example() -> dict[str, list[dict[str, object]]]:
    sources = hw.load_query(EXAMPLE / "query.yaml").query.sources
    names = {source.name: [field.name for field in source.schema.columns] for source in sources}
    rows: dict[str, list[dict[str, object]]] = {source.name: [] for source in sources}
    for at, source, row, vehicle in read_recording(RECORDING, sources):
        told = dict(zip(names[source], row, strict=True))
        rows[source].append({**told, "arrived_at": at, "vehicle": vehicle})
    return rows


def dataframes(spark: SparkSession) -> dict[str, DataFrame]:
    rows = rows_of_example()
    return {
        source.name: spark.createDataFrame(given_table(rows[source.name], source))
        for source in hw.load_query(EXAMPLE / "query.yaml").query.sources
    }


def comparable(result: hw.QueryResult, output: str) -> list[tuple[Any, ...]]:
    table = result.tables[output]
    schema = dict(result.plan.schemas)
    (stream,) = (one.stream for one in result.plan.query.outputs if one.name == output)
    names = [field.name for field in schema[stream].columns]
    assert [name for name in table.schema.names if name not in ADDED] == names
    rows = [tuple(row[name] for name in names) for row in table.to_pylist()]
    return sorted(tuple(round(v, 6) if isinstance(v, float) else v for v in row) for row in rows)


def test_dataframes_run_in_their_session(spark: SparkSession) -> None:
    """Under settings of the user's that are not Headway's, which stay as they are."""
    meant = hw.run(EXAMPLE / "query.yaml", RECORDING, zero_cost=True)
    before = {name: spark.conf.get(name) for name in (ANSI, ZONE)}
    spark.conf.set(ANSI, "true")
    spark.conf.set(ZONE, "Asia/Tokyo")
    try:
        with hw.run(EXAMPLE / "query.yaml", dataframes(spark)) as result:
            assert "not computed yet" in repr(result)
            assert "Columns besides timestamp" in result._repr_html_()
            assert set(result.dataframes) == set(meant.tables)
            for name in meant.tables:
                assert result.dataframes[name].sparkSession is spark
                assert comparable(result, name) == comparable(meant, name)
                assert result.tables[name].schema.field("timestamp").type.tz == "UTC"
                assert len(result.outputs[name]) == meant.tables[name].num_rows
            for kind, table in meant.side_tables.items():
                assert result.side_tables[kind].num_rows == table.num_rows
                assert set(result.side_tables[kind].schema.names) == set(table.schema.names)
            tuples = {one.output: one.tuples for one in result.summary.outputs}
            assert tuples == {name: table.num_rows for name, table in meant.tables.items()}
            assert "tuples" in repr(result)
            assert "Output" in result._repr_html_()
        assert (spark.conf.get(ANSI), spark.conf.get(ZONE)) == ("true", "Asia/Tokyo")
    finally:
        for name, value in before.items():
            spark.conf.set(name, str(value))


def test_sql_means_the_same_where_the_session_is_ansi(spark: SparkSession) -> None:
    """A division by zero is NULL in Headway's SQL, and the end of the job in ANSI's."""
    q = hw.QueryBuilder("divide")
    source = q.source("s", {"v": "double"}, rate="1 per 10 ms")
    q.output("out", source.map("m", {"w": "1 / v"}), deadline="1 s")
    before = spark.conf.get(ANSI)
    spark.conf.set(ANSI, "true")
    try:
        frame = spark.createDataFrame(pd.DataFrame({"timestamp": [0, 1], "v": [0.0, 2.0]}))
        with hw.run(q, {"s": frame}) as result:
            assert result.tables["out"].column("w").to_pylist() == [None, 0.5]
            assert "vehicle" not in result.tables["out"].schema.names
        named = frame.selectExpr("*", "'a' AS vehicle")
        with hw.run(q, {"s": named}) as result:
            assert result.tables["out"].column("vehicle").to_pylist() == ["a", "a"]
    finally:
        spark.conf.set(ANSI, str(before))


def test_other_data_runs_on_spark_when_told(spark: SparkSession) -> None:
    rows = rows_of_example()
    with (
        hw.run(EXAMPLE / "query.yaml", RECORDING, engine="spark", spark=spark) as of_folder,
        hw.run(EXAMPLE / "query.yaml", rows, engine="spark") as of_rows,
    ):
        for name in of_folder.tables:
            assert comparable(of_rows, name) == comparable(of_folder, name)
        assert next(iter(of_rows.dataframes.values())).sparkSession is spark


def test_dataframes_that_are_wrong(spark: SparkSession) -> None:
    q = hw.QueryBuilder("q")
    first = q.source("a", {"v": "double"}, rate="1 per 10 ms")
    second = q.source("b", {"v": "double"}, rate="1 per 10 ms")
    q.output("out", q.union("both", first, second), deadline="1 s")
    good = spark.createDataFrame(pd.DataFrame({"timestamp": [0], "v": [1.0]}))
    bad = good.selectExpr("timestamp", "'x' AS v")
    with pytest.raises(DataError) as caught:
        hw.run(q, {"a": good, "b": bad})
    assert str(caught.value) == (
        "data['b']: v: a column has the wrong type; got string; want double"
    )
    with pytest.raises(DataError, match="there is no source 'c'"):
        hw.run(q, {"a": good, "c": good})
    with pytest.raises(DataError, match="data: Spark DataFrames run on Spark; leave out engine="):
        hw.run(q, {"a": good, "b": good}, engine="vehicle")
    with hw.run(q, {"a": good, "b": ListSource([{"v": 2.0}])}) as mixed:
        assert mixed.tables["out"].num_rows == 2


def test_a_folder_by_its_uri(spark: SparkSession, tmp_path: Path) -> None:
    root = mount(spark, VIEWFS, tmp_path / "held")
    shutil.copytree(RECORDING, tmp_path / "held" / "in 1")
    query = EXAMPLE / "query.yaml"
    meant = hw.run(query, RECORDING, engine="spark", spark=spark)
    for uri in (f"{root}/in 1", f"file://{tmp_path}/held/in 1"):
        result = hw.run(query, uri, engine="spark", spark=spark)
        for output in meant.tables:
            assert comparable(result, output) == comparable(meant, output)
    in_the_car = hw.run(query, f"file://{tmp_path}/held/in 1", zero_cost=True)
    assert all(comparable(in_the_car, name) == comparable(meant, name) for name in meant.tables)
    with pytest.raises(DataError, match=r"got viewfs://.*; name a local one, or run it on Spark"):
        hw.run(query, f"{root}/in 1")
