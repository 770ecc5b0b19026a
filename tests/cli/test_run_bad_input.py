"""`headway run` over what it cannot use: a message with its place and exit code 2, or a count."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.running import (
    BEGIN,
    EXAMPLES,
    HELLO,
    MS,
    headway,
    rows_of,
    run,
    steady,
    summary_of,
    write_speeds,
)

TYRES = EXAMPLES / "tyre_watch"


def refused(recording: Path, output: Path, *options: str | Path, query: Path = HELLO) -> str:
    """The message; nothing may be left behind."""
    result = run(query, recording, output, *options)
    assert result.exit_code == 2, result.output
    assert not output.exists()
    assert "Traceback" not in result.stderr
    return result.stderr.strip()


@pytest.mark.parametrize(
    ("header", "lines", "message"),
    [
        ("timestamp,w", steady(1), "speed.csv:1: no column 'v'"),
        ("timestamp,v", [f"{BEGIN},fast"], "speed.csv:2: v: not a value of its column"),
        ("timestamp,v", [*steady(2), "soon,31"], "speed.csv:4: timestamp: not a value"),
        ("timestamp,v", [*steady(2), f"{BEGIN}"], "speed.csv:4: a line has another number"),
        ("timestamp,v", [*steady(2)[::-1]], "speed.csv:3: arrived_at: a tuple arrives before"),
        ("timestamp,v", [",31"], "speed.csv:2: arrived_at: a tuple without a time of arrival"),
        ("timestamp,v", ["9000000000000000,31"], "speed.csv:2: arrived_at: a time beyond"),
        ("timestamp,v,vehicle", [f"{BEGIN},3,A", f"{BEGIN},3,"], "speed.csv:3: vehicle: a tuple"),
        ("timestamp,v", [], "there is nothing to run; got only empty files: speed.csv"),
    ],
)
def test_bad_files(header: str, lines: list[str], message: str, tmp_path: Path) -> None:
    recording = write_speeds(tmp_path / "recording", lines, header)
    assert message in refused(recording, tmp_path / "out")


def test_a_file_cut_short(tmp_path: Path) -> None:
    recording = tmp_path / "recording"
    recording.mkdir()
    path = recording / "speed.parquet"
    times = pa.array([BEGIN + 10 * MS * i for i in range(1000)], pa.timestamp("us"))
    pq.write_table(pa.table({"timestamp": times, "v": [31.0] * 1000}), path)
    path.write_bytes(path.read_bytes()[:-100])
    assert "speed.parquet: cannot be read as Parquet" in refused(recording, tmp_path / "out")


def test_a_wrong_type_in_parquet(tmp_path: Path) -> None:
    recording = tmp_path / "recording"
    recording.mkdir()
    table = pa.table({"timestamp": pa.array([BEGIN], pa.timestamp("us")), "v": ["31"]})
    pq.write_table(table, recording / "speed.parquet")
    message = refused(recording, tmp_path / "out")
    assert "speed.parquet: v: a column has the wrong type; got string" in message


def test_missing_files(tmp_path: Path) -> None:
    message = refused(tmp_path / "nowhere", tmp_path / "out")
    assert message == f"{tmp_path / 'nowhere'}: there is no such folder"
    (tmp_path / "recording").mkdir()
    (tmp_path / "recording" / "sped.csv").touch()
    message = refused(tmp_path / "recording", tmp_path / "out")
    assert "no file for source 'speed'; got sped.csv" in message


def test_unknown_names(tmp_path: Path) -> None:
    recording = write_speeds(tmp_path / "recording", steady(1))
    message = refused(recording, tmp_path / "out", "--policy", "edf")
    assert message.startswith("unknown policy 'edf'; one of s-edf, s-edf-primitive, fifo+, mc+")
    assert "--engine" in refused(recording, tmp_path / "out", "--engine", "abacus")
    message = refused(recording, tmp_path / "out", "--clock", "wall", "--speed", "0")
    assert message == "--speed must be more than nothing; got 0.0"
    message = refused(recording, tmp_path / "out", "--clock", "wall", "--zero-cost")
    assert message == "--zero-cost is for virtual time; leave out --clock wall"
    message = refused(recording, tmp_path / "out", "--speed", "2")
    assert message == "--speed is for --clock wall; virtual time is as fast as it can be"
    message = refused(recording, tmp_path / "out", "--when-full", "oldest")
    assert message == "--when-full is for --clock wall"


def test_an_operator_that_cannot_be_opened(tmp_path: Path) -> None:
    recording = write_speeds(tmp_path / "recording", steady(1))
    query = tmp_path / "query.yaml"
    text = HELLO.read_text().replace(
        "kmh: {map: {v: v * 3.6}, from: fast,",
        'kmh: {udo: "nowhere:Kmh", schema: {v: double}, inputs: {a: fast},',
    )
    query.write_text(text, encoding="utf-8")
    message = refused(recording, tmp_path / "out", query=query)
    assert message.startswith(f"{query}:7:")
    assert "module 'nowhere' cannot be imported" in message


def test_plans_that_do_not_fit(tmp_path: Path) -> None:
    recording = write_speeds(tmp_path / "recording", steady(1))
    headway("compile", HELLO, "--vehicle", HELLO.parent / "vehicle.yaml", "--out", tmp_path)
    path = tmp_path / "plan.json"
    plan = json.loads(path.read_text())
    vehicle = HELLO.parent / "vehicle.yaml"
    message = refused(recording, tmp_path / "out", "--vehicle", vehicle, query=path)
    assert "plan.json: a plan is for a vehicle already" in message
    changes: tuple[tuple[dict[str, Any], str], ...] = (
        ({"version": 99}, "plan of another version; got version 99"),
        ({"version": 99, "tasks": "elsewhere"}, "plan of another version; got version 99"),
        ({"placement": []}, "plan.json: placement: 'speed' is missing; compile the query again"),
        ({"query": None}, "plan.json: query"),
    )
    for change, expected in changes:
        path.write_text(json.dumps(plan | change))
        assert expected in refused(recording, tmp_path / "out", query=path)
    path.write_text("{")
    assert "plan.json" in refused(recording, tmp_path / "out", query=path)


def test_not_a_number_where_a_position_should_be(tmp_path: Path) -> None:
    """The fusion leaves such a tuple out; it is on the side output, with the reason."""
    folder, recording = EXAMPLES / "collision_warning", tmp_path / "recording"
    shutil.copytree(folder / "recording", recording)
    table = pq.read_table(recording / "gps.parquet")
    values = [float("nan"), None, *table["x"].to_pylist()[2:]]
    place = table.column_names.index("x")
    table = table.set_column(place, "x", pa.array(values, pa.float32()))
    pq.write_table(table, recording / "gps.parquet")
    query, vehicle = folder / "query.yaml", folder / "vehicle_modern.yaml"
    assert run(query, recording, tmp_path / "out", "--vehicle", vehicle).exit_code == 0
    summary = summary_of(tmp_path / "out")
    assert summary["tuples"]["gps"] == 120
    failed = rows_of(tmp_path / "out", "failed")
    lost = [json.loads(row["row"])["x"] for row in failed if row["port"] == "gps"]
    assert lost == ["nan", None]
    assert summary["failed"] == len(failed)


def test_a_null_timestamp_is_rejected_and_counted(tmp_path: Path) -> None:
    lines = [f"{BEGIN},31,{BEGIN}", f",32,{BEGIN + MS}", f"{BEGIN + 2 * MS},33,{BEGIN + 3 * MS}"]
    recording = write_speeds(tmp_path / "recording", lines, "timestamp,v,arrived_at")
    assert run(HELLO, recording, tmp_path / "out").exit_code == 0
    summary = summary_of(tmp_path / "out")
    assert (summary["arrived"], summary["rejected"]) == (3, 1)
    assert summary["outputs"][0]["tuples"] == 2
    (rejected,) = rows_of(tmp_path / "out", "rejected")
    assert rejected["where"] == "speed"
    assert rejected["reason"] == "timestamp: a tuple needs a timestamp; got NULL"
    assert json.loads(rejected["row"]) == {"timestamp": None, "v": 32.0}


def test_timestamps_too_far_back_are_late_and_counted(tmp_path: Path) -> None:
    """An aggregate of 1 s windows; the lateness is 100 ms, so the last tuple is too late."""
    query = tmp_path / "query.yaml"
    query.write_text(
        "query: late\n"
        "sources:\n"
        "  speed: {schema: {v: double}, rate: 1 per 10 ms, lateness: 100 ms, gap: 1 s}\n"
        "operators:\n"
        "  mean: {aggregate: {v: avg(v), n: count(*)}, from: speed, window: 1 s, every: 1 s}\n"
        "outputs:\n"
        "  means: {from: mean, deadline: 5 s}\n",
        encoding="utf-8",
    )
    offsets = [0, 500, 1050, 950, 1200, 999]
    lines = [
        f"{BEGIN + offset * MS},{offset},{BEGIN + 2_000 * MS + i}"
        for i, offset in enumerate(offsets)
    ]
    recording = write_speeds(tmp_path / "recording", lines, "timestamp,v,arrived_at")
    result = run(query, recording, tmp_path / "out")
    assert result.exit_code == 0, result.output
    summary = summary_of(tmp_path / "out")
    assert (summary["arrived"], summary["late"]) == (6, 1)
    assert [row["n"] for row in rows_of(tmp_path / "out", "means")] == [3, 2]
    (late,) = rows_of(tmp_path / "out", "late")
    assert late["where"] == "mean"
    assert json.loads(late["row"])["v"] == 999.0


def test_shed_tuples_are_counted_with_their_value(tmp_path: Path) -> None:
    query = tmp_path / "query.yaml"
    text = HELLO.read_text().replace(
        "delay: 1 ms", "delay: 1 ms, shed: {at_most: 2 per 100 ms, value: v}"
    )
    query.write_text(text, encoding="utf-8")
    recording = write_speeds(tmp_path / "recording", steady(10))
    assert run(query, recording, tmp_path / "out").exit_code == 0
    summary = summary_of(tmp_path / "out")
    assert summary["arrived"] == 10 == summary["shed"] + summary["outputs"][0]["tuples"]
    assert {row["value"] for row in rows_of(tmp_path / "out", "shed")} == {"31.0"}


def test_an_output_folder_in_use(tmp_path: Path) -> None:
    recording, output = write_speeds(tmp_path / "recording", steady(2)), tmp_path / "out"
    assert run(HELLO, recording, output, "--trace").exit_code == 0
    (output / "notes.txt").write_text("mine")
    result = run(HELLO, recording, output)
    assert result.exit_code == 2
    assert "out: the output folder is not empty" in result.stderr
    assert run(HELLO, recording, output, "--force").exit_code == 0
    names = {path.name for path in output.iterdir()}
    assert names == {*summary_of(output)["files"], "notes.txt"}  # the old trace is gone
    before = {path: path.read_bytes() for path in output.iterdir()}
    write_speeds(recording, [*steady(2), "nonsense"])
    assert run(HELLO, recording, output, "--force").exit_code == 2
    assert {path: path.read_bytes() for path in output.iterdir()} == before
    (tmp_path / "file").touch()
    result = run(HELLO, recording, tmp_path / "file" / "out")
    assert result.exit_code == 2


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--input", "/data"], "headway run: Missing option '--output'"),
        (["--input", "/data", "--output", "/out", "--pace", "3"], "No such option: --pace"),
        (["--input", "/data", "--output", "/out", "--files-per-batch", "0"], "--files-per-batch"),
    ],
)
def test_options_for_a_cluster_are_checked_before_they_go_there(
    options: list[str], told: str, tmp_path: Path
) -> None:
    query = EXAMPLES / "hello" / "query.yaml"
    outcome = headway("spark-submit-args", query, "--out", tmp_path / "out", "--", *options)
    assert outcome.exit_code == 2
    assert told in outcome.stderr
    assert not (tmp_path / "out").exists()


def test_a_cluster_is_told_all_that_it_needs(tmp_path: Path) -> None:
    query, out = EXAMPLES / "hello" / "query.yaml", tmp_path / "out"
    options = ["--input", "/data", "--output", "/results"]
    outcome = headway("spark-submit-args", query, "--out", out, "--json", "--", *options)
    needs = json.loads(outcome.stdout)["needs"]
    names = {re.split(r"[<>=!~]", one)[0] for one in needs}
    assert {"pyarrow", "pandas", "protobuf", "pyspark"} <= names
