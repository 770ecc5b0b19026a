"""Local paths and URIs, read as Hadoop reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headway.errors import FileError
from headway.spark.storage.locations import Location

URIS = {
    "s3a://bucket/a/b": "s3a://bucket/a/b",
    "S3A://Bucket/a//b/": "s3a://Bucket/a/b",
    "s3a://bucket": "s3a://bucket/",
    "s3a://bucket/": "s3a://bucket/",
    "hdfs:/a/./b/../c": "hdfs:/a/c",
    "hdfs:///a": "hdfs:///a",
    "abfss://box@account.dfs.core.windows.net/x y%20#?": "abfss://box@account.dfs.core.windows.net"
    "/x y%20#?",
}
LOCAL = {
    "file:///a/b": "/a/b",
    "file:/a/b/": "/a/b",
    "file://localhost/a": "/a",
    "file:///a%20b": "/a%20b",
    "a/b": "a/b",
    "./a:b": "a:b",
    "C:/data": "C:/data",
    "note:s": "note:s",
}


@pytest.mark.parametrize(("given", "meant"), [*URIS.items(), *LOCAL.items()])
def test_what_is_given_and_what_it_means(given: str, meant: str) -> None:
    at = Location.of(given)
    assert str(at) == meant
    assert at.is_local == (given in LOCAL)
    assert Location.of(at) is at
    assert Location.of(str(at)) == at


def test_a_path_of_python_is_local_whatever_its_letters() -> None:
    at = Location.of(Path("run:") / "x")
    assert at.is_local
    assert at.path == Path.cwd() / "run:" / "x"
    assert not Location.of("run:/x").is_local  # typed, it is a URI


def test_parts() -> None:
    at = Location.of("s3a://bucket") / "a b" / "c%.parquet"
    assert at.text == "s3a://bucket/a b/c%.parquet"
    assert (at.name, at.suffix, at.parent.name) == ("c%.parquet", ".parquet", "a b")
    assert at.parent.parent == Location.of("s3a://bucket/") == at.parent.parent.parent
    assert at.absolute == at
    assert at.scheme == "s3a"
    local = Location.of("x") / "y.csv"
    assert (local.text, local.name, local.parent.text) == ("x/y.csv", "y.csv", "x")
    assert local.absolute.path == Path.cwd() / "x" / "y.csv"
    assert local.scheme == "file"
    with pytest.raises(FileError, match="a local path is needed here"):
        _ = at.path


def test_a_machine_in_a_file_uri_is_refused() -> None:
    with pytest.raises(FileError, match="names no machine; got the machine 'a'"):
        Location.of("file://a/b")


@pytest.mark.parametrize("name", ["plain", "with space", "100%25", "[ab]{c,d}*?", "a#b", "ü:x"])
def test_spark_writes_and_reads_the_place_itself(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    at = Location.of(tmp_path / name)
    spark.range(3).coalesce(1).write.parquet(at.hadoop_path)
    assert (tmp_path / name).is_dir()
    assert spark.read.parquet(at.spark_path).count() == 3
