"""`headway run --mode stream` with input, output and checkpoint on Hadoop's file systems."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.cli.running import HELLO, headway
from tests.spark.storage.hadoop_places import BUCKET, VIEWFS, mount
from typer.testing import Result

STREAM = ("--master", "local[2]", "--mode", "stream", "--available-now", "--late-ok")
BEGIN = 1_767_225_600_000_000


def run(root: str, *options: str) -> Result:
    places = ("--input", f"{root}/in 1", "--output", f"{root}/out%20", *options)
    return headway("run", HELLO, *STREAM, *places)


def write(folder: Path, name: str, values: list[float]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    times = [BEGIN + number for number in range(len(values))]
    table = pa.table({"timestamp": pa.array(times, pa.timestamp("us", tz="UTC")), "v": values})
    pq.write_table(table, folder / name)


def alarms(spark: SparkSession, root: str) -> list[float]:
    """As Spark reads them."""
    rows = spark.read.parquet(f"{root}/out%20/alarm.parquet").collect()
    return sorted(row["v"] for row in rows)


@pytest.mark.parametrize("scheme", [VIEWFS, BUCKET])
def test_a_stream_goes_on_where_it_stopped(
    spark: SparkSession, tmp_path: Path, scheme: str
) -> None:
    held = tmp_path / "held"
    root = mount(spark, scheme, held)
    write(held / "in 1" / "speed", "a.parquet", [31.0, 10.0, 32.0])
    assert (done := run(root)).exit_code == 0, done.output
    assert alarms(spark, root) == [31.0 * 3.6, 32.0 * 3.6]
    write(held / "in 1" / "speed", "b.parquet", [33.0])
    (held / "in 1" / "speed" / "c.parquet").write_bytes(b"PAR1 half")
    assert (done := run(root)).exit_code == 0, done.output
    assert alarms(spark, root) == [31.0 * 3.6, 32.0 * 3.6, 33.0 * 3.6]
    summary = json.loads((held / "out%20" / "summary.json").read_text())
    assert summary["outputs"][0]["tuples"] == 3
    assert any("c.parquet" in note for note in summary["notes"])
    (entry,) = (held / "out%20" / "_quarantine").glob("*.json")
    assert json.loads(entry.read_text())["input"] == f"{root}/in 1/speed/c.parquet"
    names = {path.name for path in (held / "out%20").iterdir() if path.suffix != ".crc"}
    sides = {f"{kind}.parquet" for kind in ("late", "shed", "failed", "rejected")}
    assert {"alarm.parquet", "summary.json", "_checkpoint", *sides} <= names


def test_texts_whose_tuples_do_not_fit(spark: SparkSession, tmp_path: Path) -> None:
    """Tasks read them and cannot write where the results go: what is left out and rejected comes
    with their results, and is told once, however often the stream goes on."""
    root = mount(spark, BUCKET, tmp_path / "held")
    folder, out = tmp_path / "held" / "in 1" / "speed", tmp_path / "held" / "out%20"
    folder.mkdir(parents=True)
    rows = ["timestamp,v,arrived_at", f"{BEGIN},31,{BEGIN}", f",32,{BEGIN + 1}"]
    (folder / "a.csv").write_text("\n".join(rows) + "\n")
    (folder / "b.csv").write_text("\n".join([*rows[:2], f"{BEGIN},fast,{BEGIN}"]) + "\n")
    for _ in range(2):
        assert (done := run(root)).exit_code == 0, done.output
        assert alarms(spark, root) == [31.0 * 3.6]
        summary = json.loads((out / "summary.json").read_text())
        assert summary["rejected"] == 1
        assert summary["notes"][-2] == "source 'speed': 1 left out (quarantined)"
        assert f"{root}/in 1/speed/b.csv" in summary["notes"][-1]
        assert pq.read_table(out / "rejected.parquet").column("where").to_pylist() == ["speed"]
        assert len(list((out / "_quarantine").glob("*.json"))) == 1
        (folder / "c.csv").write_text(rows[0] + "\n")  # something new, without tuples


def test_what_belongs_to_streams_is_said(tmp_path: Path) -> None:
    given = ("--input", HELLO.parent / "recording", "--output", tmp_path / "out")
    for option in ("--max-rate", "--forget", "--most-held", "--partitions"):
        value = "24h" if option == "--forget" else "5"
        done = headway("run", HELLO, *given, option, value)
        assert done.exit_code == 2
        assert f"{option} is for --mode stream; a batch replays all there is" in done.output
    for option, value, said in (
        ("--forget", "a day", "--forget: not a duration; got a day; write a number and a unit of"),
        ("--max-rate", "0", "--max-rate is more than 0 tuples a second; got 0"),
    ):
        done = headway("run", HELLO, *STREAM, *given, option, value)
        assert done.exit_code == 2
        assert said in done.output
    assert list(tmp_path.iterdir()) == []


def test_the_bounds_of_a_stream_reach_it(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "in" / "speed", "a.parquet", [31.0, 32.0])
    bounds = ("--max-rate", "1000000", "--forget", "24h", "--most-held", "10", "--partitions", "3")
    done = headway("run", HELLO, *STREAM, "--input", tmp_path / "in", "--output", tmp_path / "out",
                   *bounds)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert pq.read_table(tmp_path / "out" / "alarm.parquet").num_rows == 2
