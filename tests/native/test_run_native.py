"""`headway run --engine native`, `headway compare --engine native` and ``hw.run(engine='native')``:
what is written and said is what the vehicle engine writes and says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.cli.running import EXAMPLES, HELLO, as_parquet, headway, run, write_speeds
from tests.native.needed import needs_compiler

import headway as hw
from headway.errors import DataError, InputError
from headway.model.plan import Plan
from headway.model.schema import schema
from headway.native.recorded_tables import all_parquet, scan_tables
from headway.sources.parquet_file import StreamWriter
from headway.sources.recordings import scan_recording

VEHICLE = EXAMPLES / "hello" / "vehicle.yaml"
COLUMNS = schema(v="double [m/s]")


def both(query: Path, recording: Path, folder: Path, *options: str | Path) -> tuple[str, str]:
    """Runs on both engines; the files of both are the same. Gives what each said."""
    said = []
    for engine in ("vehicle", "native"):
        out = folder / engine
        result = run(query, recording, out, "--engine", engine, *options)
        said.append(result.output.replace(str(out), "OUT"))
    wanted, found = (
        {path.name: path for path in (folder / e).iterdir()} for e in ("vehicle", "native")
    )
    assert set(found) == set(wanted)
    for name, path in wanted.items():
        if name == "summary.json":
            summaries = [json.loads(one.read_text()) for one in (path, found[name])]
            assert [one.pop("engine") for one in summaries] == ["vehicle", "native"]
            assert summaries[0] == summaries[1]
        else:
            assert found[name].read_bytes() == path.read_bytes(), name
    return said[0], said[1]


@needs_compiler
@pytest.mark.parametrize("options", [("--trace",), ("--policy", "fifo+"), ("--zero-cost",)])
def test_a_recording(tmp_path: Path, options: tuple[str, ...]) -> None:
    recording = EXAMPLES / "hello" / "recording"
    vehicle, native = both(HELLO, recording, tmp_path, "--vehicle", VEHICLE, *options)
    # Compiled code counts by train, so it has no table by operator.
    by_operator = re.compile(r"Operators\n\n.*?\n\n", re.DOTALL)
    assert by_operator.search(vehicle)
    assert native == by_operator.sub("", vehicle)


@needs_compiler
def test_whole_parquet_files(tmp_path: Path) -> None:
    recording = as_parquet("tyre_watch", tmp_path / "recording")
    query = EXAMPLES / "tyre_watch" / "query.yaml"
    said = both(query, recording, tmp_path, "--vehicle", query.with_name("vehicle.yaml"))
    assert "39" in said[1]


def fleet(folder: Path, rows: list[tuple[int, str, Any, int]]) -> Path:
    """(arrival, vehicle, v, timestamp)"""
    folder.mkdir()
    with StreamWriter(folder / "speed.parquet", COLUMNS, vehicle=True) as writer:
        for arrived, vehicle, v, timestamp in rows:
            writer.write((timestamp, v), arrived, vehicle)
    return folder


@needs_compiler
def test_a_fleet_in_one_file(tmp_path: Path) -> None:
    """Vehicles in any order, each in its own order of arrival."""
    rows = [
        (100 - 10 * car + 20_000 * i, f"car{car}", 30.5 + i + car, 20_000 * i)
        for i in range(9)
        for car in (2, 0, 1)
    ]
    recording = fleet(tmp_path / "recording", rows)
    both(HELLO, recording, tmp_path, "--vehicle", VEHICLE)
    summary = json.loads((tmp_path / "native" / "summary.json").read_text())
    assert list(summary["by_vehicle"]) == ["car0", "car1", "car2"]
    assert summary["outputs"][0]["tuples"] == 27


@needs_compiler
def test_a_file_that_is_not_in_order(tmp_path: Path) -> None:
    recording = fleet(
        tmp_path / "recording", [(20, "a", 1.0, 0), (10, "b", 1.0, 0), (5, "a", 1.0, 0)]
    )
    vehicle, native = (
        run(HELLO, recording, tmp_path / e, "--engine", e, "--vehicle", VEHICLE).output
        for e in ("vehicle", "native")
    )
    assert "a tuple arrives before the one in front of it" in native
    assert native == vehicle


@needs_compiler
def test_a_missed_hard_deadline_is_told_by_the_exit_code(tmp_path: Path) -> None:
    late = [
        f"{1_767_225_600_000_000 + 10_000 * i},31.0,{1_767_225_600_004_970 + 10_000 * i}"
        for i in range(5)
    ]
    recording = write_speeds(tmp_path / "recording", late, "timestamp,v,arrived_at")
    both(HELLO, recording, tmp_path, "--vehicle", VEHICLE)
    result = run(HELLO, recording, tmp_path / "again", "--engine", "native", "--vehicle", VEHICLE)
    assert result.exit_code == 1
    assert "missed" in result.output.lower()


@needs_compiler
def test_engines_are_compared() -> None:
    recording = EXAMPLES / "hello" / "recording"
    result = headway("compare", HELLO, "--input", recording, "--engine", "native")
    assert result.exit_code == 0, result.output
    assert "Both engines agree on all 250 tuples." in result.output
    found = headway("compare", HELLO, "--input", recording, "--engine", "native", "--json")
    assert json.loads(found.output) == [
        {"output": "alarm", "equal": 250, "vehicle_only": 0, "native_only": 0}
    ]


# ---------------------------------------------------------------- from Python


def plan() -> Plan:
    return hw.compile(HELLO, VEHICLE).plan


@needs_compiler
def test_from_python() -> None:
    table = pa.table(
        {"timestamp": pa.array([0, 10_000, 20_000], pa.int64()), "v": [20.0, 40.0, None]}
    )
    told: list[Any] = []
    results = [
        hw.run(plan(), {"speed": table}, engine=engine, trace=True, sinks={"alarm": told.append})
        for engine in ("vehicle", "native")
    ]
    assert [result.engine for result in results] == ["vehicle", "native"]
    assert results[0].tables["alarm"] == results[1].tables["alarm"]
    assert results[0].trace == results[1].trace
    assert results[0].summary == results[1].summary
    assert told[0] == told[1]
    assert len(told) == 2


# ---------------------------------------------------------------- what does not go together


def test_no_compiler_is_said_clearly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "/no/such/compiler")
    monkeypatch.setenv("HEADWAY_CACHE", str(tmp_path / "cache"))
    query = tmp_path / "query.yaml"
    query.write_text(HELLO.read_text().replace("30", "30.25"))  # not one that is loaded already
    out = tmp_path / "out"
    result = run(query, EXAMPLES / "hello" / "recording", out, "--engine", "native")
    assert result.exit_code != 0
    assert "CXX names a compiler that cannot be used" in " ".join(result.output.split())
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--clock", "wall"), "--engine native runs in virtual time"),
        (("--batching",), "--batching is not for --engine native"),
        (("--mode", "stream"), "--mode belongs to --engine spark"),
    ],
)
def test_options_that_do_not_belong(tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    recording = EXAMPLES / "hello" / "recording"
    result = run(HELLO, recording, tmp_path / "out", "--engine", "native", *options)
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())


def test_there_is_no_other_engine() -> None:
    with pytest.raises(InputError, match="vehicle, native or spark"):
        hw.run(plan(), {"speed": []}, engine="other")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="engine='native' runs in virtual time"):
        hw.run(plan(), {"speed": []}, engine="native", clock="wall")


def test_which_recordings_are_taken_whole(tmp_path: Path) -> None:
    sources = plan().query.sources
    assert not all_parquet(EXAMPLES / "hello" / "recording", sources)
    assert all_parquet(as_parquet("hello", tmp_path / "recording"), sources)
    unknown = fleet(tmp_path / "unknown", [(1, "a", 1.0, 0)])
    assert all_parquet(unknown, sources)


@needs_compiler
def test_a_tuple_without_arrival(tmp_path: Path) -> None:
    folder = tmp_path / "recording"
    folder.mkdir()
    with StreamWriter(folder / "speed.parquet", COLUMNS, arrival=False) as writer:
        writer.write((None, 1.0))
    with pytest.raises(DataError, match="a tuple without a time of arrival"):
        hw.run(plan(), folder, engine="native")


# ---------------------------------------------------------------- what a recording holds


def test_a_scan_counts_as_the_vehicle_engine_does(tmp_path: Path) -> None:
    sources = plan().query.sources
    cars = fleet(tmp_path / "cars", [(7, "b", 1.0, 0), (5, "a", None, 0), (9, "b", 2.0, 1)])
    for folder in (cars, as_parquet("hello", tmp_path / "hello")):
        found, wanted = scan_tables(folder, sources), scan_recording(folder, sources)
        assert found == wanted
        assert found.vehicles == wanted.vehicles
    assert scan_tables(cars, sources).by_vehicle == {"b": 2, "a": 1}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "there is nothing to run"),
        ([(1, "a", 1.0, 0), (2, None, 1.0, 0)], "a tuple without a vehicle"),
        ([(1, "a", 1.0, 1 << 60)], "a time beyond the engine's clock"),
        ([(-(1 << 60), "a", 1.0, 0)], "a time beyond the engine's clock"),
        ([(None, "a", 1.0, 0)], "a tuple without a time of arrival"),
    ],
)
def test_a_scan_finds_what_is_wrong(tmp_path: Path, rows: list[Any], said: str) -> None:
    folder = fleet(tmp_path / "recording", rows)
    with pytest.raises(InputError, match=said) as found:
        scan_tables(folder, plan().query.sources)
    with pytest.raises(InputError) as wanted:
        scan_recording(folder, plan().query.sources)
    assert str(found.value) == str(wanted.value)
