"""Whole runs over folders with bad files: the outputs are those of the rest, and a note says so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from headway.compiler import compile_query
from headway.files import load_query
from headway.spark.batches.batch_run import Batch
from headway.spark.batches.batch_sinks import Sink
from headway.spark.sources.recorded_files import Inputs
from headway.spark.storage.locations import Location
from headway.spark.storage.output_folder import OutputFolder
from headway.spark.streams.stream_run import StreamRun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WINDOWS = """
query: counted
sources:
  speed: {schema: {v: double}, lateness: 1 s}
operators:
  means: {aggregate: {n: count(*), top: max(v)}, from: speed, window: 10 s}
outputs:
  means: {from: means, deadline: 10 s, criticality: soft}
"""
HELLO = Path(__file__).parents[3] / "examples" / "hello" / "query.yaml"


def recording(folder: Path) -> Path:
    place = folder / "speed"
    place.mkdir(parents=True)
    (place / "a.csv").write_text("timestamp,v\n1000000,31.0\n2000000,10.0\n")
    (place / "b.csv").write_text("timestamp,v\n3000000,32.0\n4000000,fast\n")
    (place / "c.csv").write_text("timestamp,v\n5000000,33.0\n")
    return folder


def check(notes: tuple[str, ...], output: Path) -> None:
    assert notes[0] == "source 'speed': 1 left out (quarantined)"
    assert "b.csv:3: v: not a value of its column; got 'fast'" in notes[1]
    assert len(list((output / "_quarantine").glob("speed-*.json"))) == 1
    rows = pq.read_table(output / "alarm.parquet").column("v").to_pylist()
    assert sorted(rows) == [31.0 * 3.6, 33.0 * 3.6]


def test_a_batch_and_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    plan = compile_query(load_query(HELLO).query)
    folder = recording(tmp_path / "in")
    with OutputFolder(Location.of(tmp_path / "batch")) as output:
        run = Batch(spark, plan, Inputs(folder), output, Sink("parquet", {})).run()
    check(run.notes, tmp_path / "batch")
    stream = StreamRun(
        spark,
        plan,
        folder,
        tmp_path / "stream",
        checkpoint=tmp_path / "checkpoint",
        available_now=True,
        late_ok=True,
    )
    check(stream.run().notes, tmp_path / "stream")

    (folder / "speed" / "b.csv").unlink()
    with OutputFolder(Location.of(tmp_path / "sound")) as output:
        run = Batch(spark, plan, Inputs(folder), output, Sink("parquet", {})).run()
    assert run.notes == ()
    assert not (tmp_path / "sound" / "_quarantine").exists()


def test_a_window_that_saw_a_late_tuple_is_computed_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The tuple of second 3 arrives when one of second 5 has been there for long."""
    (tmp_path / "query.yaml").write_text(WINDOWS)
    (tmp_path / "in").mkdir()
    seconds = [(5, 5), (3, 9), (12, 12)]
    times, arrivals = (
        pa.array([one * 1_000_000 for one in column], pa.timestamp("us", tz="UTC"))
        for column in zip(*seconds, strict=True)
    )
    table = pa.table({"timestamp": times, "arrived_at": arrivals, "v": [1.0, 9.0, 2.0]})
    pq.write_table(table, tmp_path / "in" / "speed.parquet")
    plan = compile_query(load_query(tmp_path / "query.yaml").query)
    with OutputFolder(Location.of(tmp_path / "out")) as output:
        run = Batch(spark, plan, Inputs(tmp_path / "in"), output).run()
    written = pq.read_table(tmp_path / "out" / "means.parquet").select(["n", "top"]).to_pylist()
    assert sorted(written, key=str) == [{"n": 1, "top": 1.0}, {"n": 1, "top": 2.0}]
    assert run.outputs[0].tuples == 2
    assert [(one.where, one.tuples) for one in run.side if one.kind == "late"] == [("means", 1)]
