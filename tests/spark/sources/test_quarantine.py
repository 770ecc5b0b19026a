"""A file that breaks its schema is left out, counted and named; the rest is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.sources.intakes import drained, intake_of

from headway.model.quantities import MILLISECOND, Rate
from headway.model.query import Source
from headway.model.schema import schema
from headway.spark.sources import file_checks
from headway.spark.sources.checked_files import CheckedFiles, Quarantine, QuarantineEntry, notes
from headway.spark.sources.recorded_files import read_batch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE = Source(name="speed", schema=schema(v="double"), rate=Rate(1, MILLISECOND), delay=0)
TIME = pa.timestamp("us", tz="UTC")


def table(**columns: object) -> object:
    given = {"timestamp": pa.array([1, 2], TIME), "v": pa.array([1.0, 2.0]), **columns}
    return pa.table({name: column for name, column in given.items() if column is not None})


def parquet_folder(folder: Path) -> Path:
    """Two sound files, and four that are not."""
    place = folder / "speed"
    place.mkdir(parents=True)
    pq.write_table(table(), place / "a.parquet")
    pq.write_table(table(v=pa.array([3, 4], pa.int32())), place / "b.parquet")
    pq.write_table(table(v=pa.array(["x", "y"])), place / "type.parquet")
    pq.write_table(table(v=None), place / "column.parquet")
    whole = (place / "a.parquet").read_bytes()
    (place / "half.parquet").write_bytes(whole[: len(whole) // 2])
    (place / "empty.parquet").touch()
    return folder


def text_folder(folder: Path) -> Path:
    place = folder / "speed"
    place.mkdir(parents=True)
    (place / "a.csv").write_text("timestamp,v\n1,1.0\n2,2.0\n")
    (place / "bad.csv").write_text("timestamp,v\n3,3.0\n4,fast\n")
    (place / "other.csv").write_text("timestamp,w\n3,3.0\n")
    return folder


def told(quarantine: Quarantine) -> dict[str, str]:
    found = {Path(entry.input).name: entry.reason for entry in quarantine.entries()}
    return {name: reason.split(f"{name}")[-1] for name, reason in found.items()}


BAD_PARQUET = {
    "column.parquet": ": no column 'v'; got the columns timestamp; want double",
    "type.parquet": ": v: a column has the wrong type; got string; want double",
}
BAD_TEXT = {
    "bad.csv": ":3: v: not a value of its column; got 'fast'; want double",
    "other.csv": ":1: no column 'v'; got the columns timestamp, w; want double",
}


@pytest.mark.parametrize("make", [parquet_folder, text_folder])
def test_tables_of_sound_files_only(tmp_path: Path, make: object) -> None:
    assert callable(make)
    folder = make(tmp_path / "in")
    quarantine = Quarantine(tmp_path / "quarantine")
    files = CheckedFiles(SOURCE, quarantine)
    paths = sorted((folder / "speed").iterdir())
    values = [v for path in paths for t in files.tables(path) for v in t.column("v").to_pylist()]
    found = told(quarantine)
    if make is text_folder:
        assert (values, found) == ([1.0, 2.0], BAD_TEXT)
        return
    assert values == [1.0, 2.0, 3.0, 4.0]
    assert found.keys() == {*BAD_PARQUET, "half.parquet", "empty.parquet"}
    assert BAD_PARQUET.items() <= found.items()
    assert "cannot be read as Parquet (is the file complete?)" in found["half.parquet"]


def test_a_stream_does_not_take_back_what_it_left_out(tmp_path: Path) -> None:
    folder = text_folder(tmp_path / "in") / "speed"
    stream = CheckedFiles(SOURCE, Quarantine(tmp_path / "q"))
    assert list(stream.tables(folder / "bad.csv")) == []
    (folder / "bad.csv").write_text("timestamp,v\n3,3.0\n")
    assert list(stream.tables(folder / "bad.csv")) == []
    batch = CheckedFiles(SOURCE, Quarantine(tmp_path / "q"), remember=False)
    assert [t.num_rows for t in batch.tables(folder / "bad.csv")] == [1]
    assert Quarantine(tmp_path / "q").entries() == []


def test_a_large_file_is_read_twice_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.spark.sources.checked_files.SMALL_BYTES", 0)
    folder = text_folder(tmp_path / "in") / "speed"
    files = CheckedFiles(SOURCE, Quarantine(tmp_path / "q"))
    assert [t.num_rows for t in files.tables(folder / "a.csv")] == [2]
    assert list(files.tables(folder / "bad.csv")) == []


def test_entries_and_notes(tmp_path: Path) -> None:
    quarantine = Quarantine(tmp_path / "q")
    assert quarantine.entries() == []
    quarantine.add(QuarantineEntry("speed", "/in/a.csv", "/in/a.csv:3: bad"))
    quarantine.add(QuarantineEntry("speed", "/in/a.csv", "/in/a.csv:3: bad"))
    quarantine.add(QuarantineEntry("radar", "/in/b.csv", "/in/b.csv: worse", at=7.0))
    (tmp_path / "q" / "odd.json").write_text("[]")
    assert notes(quarantine.entries()) == (
        "source 'radar': 1 left out (quarantined)",
        "  /in/b.csv: worse",
        "source 'speed': 1 left out (quarantined)",
        "  /in/a.csv:3: bad",
    )
    one = next((tmp_path / "q").glob("radar-*.json"))
    assert json.loads(one.read_text()) == {
        "source": "radar", "input": "/in/b.csv", "reason": "/in/b.csv: worse", "count": 1, "at": 7.0
    }  # fmt: skip


def test_a_batch_goes_on_with_the_rest(spark: SparkSession, tmp_path: Path) -> None:
    for name, make, count, bad in (("p", parquet_folder, 4, 4), ("t", text_folder, 2, 2)):
        quarantine = Quarantine(tmp_path / f"{name}-quarantine")
        folder = make(tmp_path / name)
        data = read_batch(spark, folder, [SOURCE], quarantine=quarantine)["speed"]
        assert data.count() == count
        assert len(quarantine.entries()) == bad


def test_a_stream_goes_on_with_the_rest(spark: SparkSession, tmp_path: Path) -> None:
    folder = parquet_folder(tmp_path / "in")
    (taken,) = drained(intake_of(spark, folder, tmp_path), tmp_path / "c")
    rows = [(row.v, row.position) for row in taken.rows["speed"]]
    assert sorted(rows) == [(1.0, 1), (2.0, 2), (3.0, 1), (4.0, 2)]
    # Spark's streams do not show files of no bytes to anybody.
    found = told(Quarantine(tmp_path / "quarantine"))
    assert found.keys() == {*BAD_PARQUET, "half.parquet"}
    assert BAD_PARQUET.items() <= found.items()
    assert "cannot be read as Parquet (is the file complete?)" in found["half.parquet"]


def test_a_stream_of_many_files_goes_on_with_the_rest(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So many that tasks look at their footers; again, those left out stay out."""
    monkeypatch.setattr(file_checks, "BY_DRIVER", 4)
    folder = parquet_folder(tmp_path / "in")
    for number in range(20):
        pq.write_table(table(), folder / "speed" / f"{number:02}.parquet")
    intake = intake_of(spark, folder, tmp_path)
    for run in ("c", "again"):
        (taken,) = drained(intake, tmp_path / run)
        assert len(taken.rows["speed"]) == 44
        found = told(Quarantine(tmp_path / "quarantine"))
        assert found.keys() == {*BAD_PARQUET, "half.parquet"}
        assert BAD_PARQUET.items() <= found.items()
        pq.write_table(table(), folder / "speed" / "column.parquet")  # mended, and read before


def test_damage_behind_a_sound_footer(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in" / "speed"
    folder.mkdir(parents=True)
    pq.write_table(table(), folder / "a.parquet")
    values = pa.array([number / 7 for number in range(500)])
    times = pa.array(range(500), TIME)
    bad = folder / "bad.parquet"
    pq.write_table(table(timestamp=times, v=values), bad, use_dictionary=False)
    content = bytearray(bad.read_bytes())
    content[4:120] = b"\xff" * 116
    bad.write_bytes(bytes(content))
    (taken,) = drained(intake_of(spark, tmp_path / "in", tmp_path), tmp_path / "c")
    assert taken.values("speed") == [1.0, 2.0]
    (entry,) = Quarantine(tmp_path / "quarantine").entries()
    assert entry.input == str(bad)
    assert "cannot be read as Parquet" in entry.reason
