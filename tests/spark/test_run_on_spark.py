"""`headway run`, `compare`, `fleet` on Spark: the tuples of the vehicle engine, accounted for."""

from __future__ import annotations

import shutil
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.kill_spark import Case
from pyarrow.dataset import dataset
from pyspark.sql import SparkSession
from tests.cli.running import EXAMPLES, HELLO, headway, summary_of
from typer.testing import Result

MASTER = ("--master", "local[2]")
ADDED = {"deadline", "completed", "latency", "missed", "replayed"}
pytestmark = pytest.mark.usefixtures("spark")


def on_spark(query: Path, recording: Path, output: Path, *options: str | Path) -> Result:
    return headway("run", query, "--input", recording, "--output", output, *MASTER, *options)


def computed(output: Path, name: str) -> Counter[str]:
    table = pq.read_table(output / f"{name}.parquet")
    columns = sorted(set(table.column_names) - ADDED - {"vehicle"})
    rows = zip(*(_plain(table.column(name)) for name in columns), strict=True)
    return Counter(map(repr, rows))


def _plain(column: Any) -> list[Any]:
    values: list[Any] = column.to_pylist()
    return [float(f"{v:.9g}") if isinstance(v, float) else v for v in values]


@pytest.mark.parametrize("example", ["hello", "tyre_watch"])
def test_a_batch_gives_the_tuples_of_the_vehicle_engine(example: str, tmp_path: Path) -> None:
    folder = EXAMPLES / example
    done = on_spark(folder / "query.yaml", folder / "recording", tmp_path / "spark")
    assert done.exit_code == 0, done.output
    meant = headway(
        "run", folder / "query.yaml", "--engine", "vehicle", "--zero-cost",
        "--input", folder / "recording", "--output", tmp_path / "car",
    )  # fmt: skip
    assert meant.exit_code == 0, meant.output
    summary = summary_of(tmp_path / "spark")
    assert summary["replay"] is True
    for output in summary["outputs"]:
        name = output["output"]
        assert computed(tmp_path / "spark", name) == computed(tmp_path / "car", name)
        assert output["tuples"] == output["replayed"] > 0
        assert output["misses"] == 0


def test_rows_of_a_replay_have_no_stamps(tmp_path: Path) -> None:
    """Nobody could have kept their deadlines; the summary says how many they are."""
    assert on_spark(HELLO, HELLO.parent / "recording", tmp_path / "out").exit_code == 0
    table = pq.read_table(tmp_path / "out" / "alarm.parquet")
    assert ADDED.isdisjoint(table.column_names)
    (output,) = summary_of(tmp_path / "out")["outputs"]
    assert output["tuples"] == output["replayed"] == table.num_rows > 0


@pytest.mark.parametrize("format_", ["parquet", "orc"])
def test_every_row_says_how_it_stood_to_its_deadline(format_: str, tmp_path: Path) -> None:
    """Where one row's deadline has not passed when the run begins; parquet is read back for the
    summary, other files are measured on the way."""
    late, early = datetime(2020, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
    (tmp_path / "in").mkdir()
    kind = pa.timestamp("us", tz="UTC")
    rows = pa.table({"timestamp": pa.array([late, early], kind), "v": [100.0, 200.0]})
    pq.write_table(rows, tmp_path / "in" / "speed.parquet")
    done = on_spark(HELLO, tmp_path / "in", tmp_path / "out", "--format", format_)
    assert done.exit_code == 0, done.output
    stamped = dataset(tmp_path / "out" / f"alarm.{format_}", format=format_).to_table()
    for row in stamped.to_pylist():
        at, completed, due = (row[name] for name in ("timestamp", "completed", "deadline"))
        assert (due - at).total_seconds() == 0.005
        assert row["missed"] == (completed > due) == row["replayed"] == (at.year == 2020)
        assert row["latency"] == (completed - at) // timedelta(microseconds=1) * 1000
    (output,) = summary_of(tmp_path / "out")["outputs"]
    assert (output["tuples"], output["replayed"], output["misses"]) == (2, 1, 0)
    # Of the one that is judged; percentiles are doubles on their way.
    assert output["latency_max_ns"] == pytest.approx(output["latency_median_ns"])
    assert output["latency_max_ns"] < 0


def test_a_stream_gives_the_batch_however_it_is_cut_and_resumed(
    spark: SparkSession, tmp_path: Path
) -> None:
    case = Case("tyre_watch", tmp_path / "case", pieces=3)
    case.cut()
    late = tmp_path / "late"
    late.mkdir()
    for source in case.recording.iterdir():
        shutil.move(source / "0002.parquet", late / source.name)
    stream = ("--mode", "stream", "--available-now", "--files-per-batch", "1", "--late-ok")
    query = EXAMPLES / "tyre_watch" / "query.yaml"
    for _ in range(2):
        done = on_spark(query, case.recording, tmp_path / "out", *stream)
        assert done.exit_code == 0, done.output
        for source in case.recording.iterdir():
            if (late / source.name).exists():
                shutil.move(late / source.name, source / "0002.parquet")
    assert "continued from its checkpoint" in done.output
    whole = on_spark(query, case.recording, tmp_path / "batch")
    assert whole.exit_code == 0, whole.output
    assert computed(tmp_path / "out", "warning") == computed(tmp_path / "batch", "warning")


def test_formats_and_their_options(tmp_path: Path) -> None:
    recording = HELLO.parent / "recording"
    csv = ("--format", "csv", "--option", "header=true")
    done = on_spark(HELLO, recording, tmp_path / "csv", *csv)
    assert done.exit_code == 0, done.output
    text = "".join(path.read_text() for path in (tmp_path / "csv" / "alarm.csv").glob("*.csv"))
    assert text.startswith("vehicle,timestamp,v\n")
    shown = on_spark(HELLO, recording, tmp_path / "console", "--format", "console")
    assert shown.exit_code == 0, shown.output
    assert "timestamp" in shown.stdout


def test_both_engines_are_compared() -> None:
    folder = EXAMPLES / "tyre_watch"
    done = headway("compare", folder / "query.yaml", "--input", folder / "recording", *MASTER)
    assert done.exit_code == 0, done.output
    assert "Both engines agree on all 39 tuples" in done.stdout


# -------------------------------------------------------------------- what is wrong


def test_a_half_written_file_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    recording = tmp_path / "recording"
    recording.mkdir()
    table = pa.table({"timestamp": pa.array([1], pa.timestamp("us", tz="UTC")), "v": [31.0]})
    pq.write_table(table, recording / "speed.parquet")
    whole = (recording / "speed.parquet").read_bytes()
    (recording / "speed.parquet").write_bytes(whole[: len(whole) // 2])
    done = on_spark(HELLO, recording, tmp_path / "out")
    assert done.exit_code == 2, done.output
    assert "speed.parquet: cannot be read as Parquet" in done.output
    assert not (tmp_path / "out").exists()
    (recording / "speed.parquet").write_bytes(whole)
    assert on_spark(HELLO, recording, tmp_path / "out").exit_code == 0


def test_wrong_schemas_are_refused(tmp_path: Path) -> None:
    recording = tmp_path / "recording"
    recording.mkdir()
    table = pa.table({"timestamp": pa.array([1], pa.timestamp("us", tz="UTC")), "v": ["fast"]})
    pq.write_table(table, recording / "speed.parquet")
    done = on_spark(HELLO, recording, tmp_path / "out")
    assert done.exit_code == 2
    assert "speed.parquet: v: a column has the wrong type; got string; want double" in done.output
    (recording / "speed.parquet").unlink()
    (recording / "speed.csv").write_text("timestamp,v\n1,fast\n")
    done = on_spark(HELLO, recording, tmp_path / "out")
    assert done.exit_code == 2
    assert "speed.csv:2: v: not a value of its column; got 'fast'" in done.output


# -------------------------------------------------------------------- fleets


def test_a_fleet_is_the_same_as_its_vehicles_one_by_one(tmp_path: Path) -> None:
    folder = EXAMPLES / "hello"
    vehicle = ("--vehicle", folder / "vehicle.yaml")
    fleet = headway("fleet", HELLO, *vehicle, "--vehicles", "3", "--output", tmp_path / "fleet",
                    "--trace", *MASTER)  # fmt: skip
    assert fleet.exit_code == 0, fleet.output
    alone = headway("run", HELLO, *vehicle, "--engine", "vehicle", "--trace",
                    "--input", folder / "recording", "--output", tmp_path / "one")  # fmt: skip
    assert alone.exit_code == 0, alone.output
    for name in ("alarm", "trace"):
        table = pq.read_table(tmp_path / "fleet" / f"{name}.parquet")
        first = [row for row in table.to_pylist() if row.pop("vehicle") == "v0"]
        expected = pq.read_table(tmp_path / "one" / f"{name}.parquet").to_pylist()
        assert sorted(map(repr, first)) == sorted(map(repr, expected))
    summary = summary_of(tmp_path / "fleet")
    assert summary["vehicles"] == 3
    assert {one["vehicle"] for one in summary["outputs"][0]["worst"]} == {"v0", "v1", "v2"}
    assert (tmp_path / "fleet" / "fleet.svg").read_text().startswith("<svg")
    assert '<figure class="chart">' in (tmp_path / "fleet" / "fleet.html").read_text()
