"""Small files that tasks write: by themselves where they can, through the driver elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.spark.storage.hadoop_places import BUCKET, VIEWFS, mount

from headway.spark.storage.locations import Location
from headway.spark.storage.small_files import SmallFiles

MARKS = ["", "a1b2"]


@pytest.fixture(params=["local", VIEWFS, BUCKET])
def folder(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Location:
    held = tmp_path / "held"
    kind = request.param
    return Location.of(held if kind == "local" else mount(spark, kind, held)) / "some%20"


def in_tasks(spark: SparkSession, files: SmallFiles, removed: str = "") -> None:
    """Four tasks write a file for each of their numbers, and one of them is removed again."""

    def write(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                name = f"{number}.json"
                if name != removed:
                    files.put(name, bytes([number]))
                elif files.holds(name):
                    files.remove(name)
            yield batch

    spark.range(0, 8, 1, 4).mapInArrow(write, "id long").write.format("noop").mode(
        "overwrite"
    ).save()


@pytest.mark.parametrize("mark", MARKS)
def test_what_tasks_put_is_there_for_the_driver(
    spark: SparkSession, folder: Location, mark: str
) -> None:
    files = SmallFiles(folder, spark, mark)
    assert files.names() == []
    assert not files.holds("3.json")
    in_tasks(spark, files)
    names = [f"{number}.json" for number in range(8)]
    assert files.names() == names
    assert [files.read(name) for name in names] == [bytes([number]) for number in range(8)]
    in_tasks(spark, files, removed="3.json")  # a task that runs again replaces
    assert files.names() == [name for name in names if name != "3.json"]
    assert not files.holds("3.json")
    files.put("3.json", b"driver")
    assert files.holds("3.json")
    later = SmallFiles(folder, spark, mark)
    assert later.names() == names
    assert later.read("3.json") == b"driver"


def test_files_without_the_mark_are_anothers(
    spark: SparkSession, folder: Location, tmp_path: Path
) -> None:
    SmallFiles(folder, spark).put("old.json", b"old")
    marked = SmallFiles(folder, spark, "a1b2")
    assert marked.names() == []
    marked.put("old.json", b"new")
    assert marked.names() == ["old.json"]
    assert SmallFiles(folder, spark).read("old.json") == b"old"
    marked.remove("old.json")
    written = tmp_path / "held" / "some%20"
    assert [path.name for path in written.iterdir() if path.suffix != ".crc"] == ["old.json"]


def test_what_a_task_that_failed_has_sent_does_not_count(
    spark: SparkSession, tmp_path: Path
) -> None:
    files = SmallFiles(Location.of(mount(spark, BUCKET, tmp_path / "held")) / "some", spark)

    def write(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            files.put("half.json", b"half")
            yield batch
            raise RuntimeError("the task ends here")

    with pytest.raises(Exception, match="the task ends here"):
        spark.range(1).mapInArrow(write, "id long").collect()
    assert files.names() == []
