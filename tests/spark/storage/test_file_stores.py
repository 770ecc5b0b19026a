"""Files of the driver on three file systems: whole or not there, and errors in words."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.spark.storage.hadoop_places import BUCKET, VIEWFS, mount

from headway.errors import FileError, InputError
from headway.spark.storage.file_stores import (
    AlreadyThere,
    FileStore,
    NotThere,
    Publishing,
    file_store,
)
from headway.spark.storage.locations import Location

STORES = ["local", VIEWFS, BUCKET]
ODD = "a b%20[x]{y}*#.json"
Place = tuple[FileStore, Location]


@pytest.fixture(params=STORES)
def place(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Place:
    at = Location.of(_root(spark, request.param, tmp_path / "held"))
    return file_store(at, spark), at


def _root(spark: SparkSession, kind: str, folder: Path) -> str:
    return folder.as_uri() if kind == "local" else mount(spark, kind, folder)


def test_a_file_is_written_replaced_and_read(place: Place, tmp_path: Path) -> None:
    store, at = place
    file = at / "sub" / ODD
    for text in ("first", "zwölf", ""):
        store.write_whole(file, text)
        assert store.read_text(file) == text
        assert (tmp_path / "held" / "sub" / ODD).read_text("utf-8") == text
    store.write_whole(file, bytes(range(256)))
    assert store.read_bytes(file) == bytes(range(256))
    with pytest.raises(FileError, match="no text in UTF-8"):
        store.read_text(file)
    (entry,) = store.entries(at / "sub")
    assert (entry.name, entry.size, entry.is_folder) == (ODD, 256, False)
    written = (tmp_path / "held" / "sub" / ODD).stat().st_mtime_ns
    assert entry.modified == written // 1_000_000
    assert store.status(file) == entry


def test_the_end_of_a_file(place: Place) -> None:
    store, at = place
    store.write_whole(at / "long", bytes(range(256)))
    for size in (256, 8, 1, 0):
        assert store.read_end(at / "long", size) == bytes(range(256))[256 - size :]
    with pytest.raises(NotThere):
        store.read_end(at / "gone", 1)


def test_a_new_file_is_nobody_elses(place: Place) -> None:
    store, at = place
    store.write_whole(at / "lock", "mine", new=True)
    with pytest.raises(AlreadyThere, match="there is a file or folder of that name"):
        store.write_whole(at / "lock", "yours", new=True)
    assert store.read_text(at / "lock") == "mine"
    assert [entry.name for entry in store.entries(at)] == ["lock"]


def test_of_many_who_want_a_new_local_file_one_gets_it(tmp_path: Path) -> None:
    at = Location.of(tmp_path / "lock")
    store = file_store(at)

    def take(who: int) -> bool:
        try:
            store.write_whole(at, str(who), new=True)
        except AlreadyThere:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        taken = list(threads.map(take, range(40)))
    assert taken.count(True) == 1
    assert store.read_text(at) == str(taken.index(True))
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_what_is_not_there(place: Place) -> None:
    store, at = place
    gone = at / "gone"
    assert store.status(gone) is None
    assert not store.exists(gone)
    assert store.entries(gone) == []
    store.remove(gone)
    attempts: list[Callable[[], object]] = [
        lambda: store.read_text(gone),
        lambda: store.read_bytes(gone),
        lambda: store.rename(gone, at / "to"),
    ]
    for attempt in attempts:
        with pytest.raises(NotThere) as told:
            attempt()
        assert str(told.value) == f"{gone}: there is no such file or folder"


def test_names_change_and_replace(place: Place) -> None:
    store, at = place
    store.write_whole(at / "a", "new")
    store.write_whole(at / "b", "old")
    store.rename(at / "a", at / "b")
    assert store.read_text(at / "b") == "new"
    store.make_folder(at / "deep" / "er")
    store.make_folder(at / "deep" / "er")
    store.write_whole(at / "deep" / "er" / "x", "in it")
    store.rename(at / "deep", at / "risen")
    assert store.read_text(at / "risen" / "er" / "x") == "in it"
    assert [(e.name, e.is_folder) for e in store.entries(at)] == [("b", False), ("risen", True)]
    store.remove(at / "risen")
    store.remove(at / "b")
    assert store.entries(at) == []


def test_folders_where_files_are_meant(place: Place) -> None:
    store, at = place
    store.make_folder(at / "folder")
    store.write_whole(at / "file", "x")
    for attempt in (
        lambda: store.read_bytes(at / "folder"),
        lambda: store.entries(at / "file"),
        lambda: store.write_whole(at / "file" / "below", "x"),
    ):
        with pytest.raises(FileError) as told:
            attempt()
        assert not isinstance(told.value, NotThere)
        assert str(at) in str(told.value)


def test_a_write_that_fails_leaves_what_was_there(place: Place) -> None:
    store, at = place
    store.write_whole(at / "folder" / "in it", "old")
    with pytest.raises(FileError, match=str(at)):
        store.write_whole(at / "folder", "new")
    assert [entry.name for entry in store.entries(at)] == ["folder"]
    assert store.read_text(at / "folder" / "in it") == "old"


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("s3a://fleet/x", "add the package that brings it: --conf spark.jars.packages="
         "org.apache.hadoop:hadoop-aws:"),
        ("abfss://c@a.example/x", "spark.jars.packages=org.apache.hadoop:hadoop-azure:"),
        ("s3://fleet/x", "this Spark has no file system for s3:; write s3a://"),
        ("nobody://fleet/x", "name the class that reads it: --conf spark.hadoop.fs.nobody.impl="),
    ],
)  # fmt: skip
def test_a_scheme_without_a_class(spark: SparkSession, uri: str, said: str) -> None:
    with pytest.raises(FileError) as told:
        file_store(Location.of(uri), spark)
    assert said in str(told.value)
    assert str(told.value).startswith(f"{uri}: this Spark has no file system for ")
    assert "\n" not in str(told.value)


class Remote:
    """As Spark Connect's sessions are: asked for Java, they raise."""

    __module__ = "pyspark.sql.connect.session"

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


@pytest.mark.parametrize(("session", "got"), [(None, "no Spark session"), (Remote(), "Connect")])
def test_without_java_there_are_local_paths_only(session: Any, got: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=f"got .*{got}; name a local path") as told:
        file_store(Location.of("hdfs://fleet/x"), session)
    assert str(told.value).startswith("hdfs://fleet/x: Hadoop's file systems are reached")
    at = Location.of(tmp_path / "x")
    file_store(at, session).write_whole(at, "here")
    assert at.path.read_text() == "here"


def test_who_renames_whole(spark: SparkSession, tmp_path: Path) -> None:
    wholes = {}
    for kind in STORES:
        at = Location.of(_root(spark, kind, tmp_path / kind))
        wholes[kind] = file_store(at, spark).renames_whole
        assert file_store(at, spark, Publishing.MANIFEST).renames_whole is False
        assert file_store(at, spark, Publishing.RENAME).renames_whole is True
    assert wholes == {"local": True, VIEWFS: True, BUCKET: False}


def test_a_setting_says_how_a_scheme_publishes(spark: SparkSession, tmp_path: Path) -> None:
    at = Location.of(mount(spark, BUCKET, tmp_path / "said"))
    key = f"spark.headway.publish.{BUCKET}"
    try:
        spark.conf.set(key, "rename")
        assert file_store(at, spark).renames_whole
        spark.conf.set(key, "guess")
        with pytest.raises(InputError, match="got guess; write rename or manifest"):
            file_store(at, spark)
    finally:
        spark.conf.unset(key)
