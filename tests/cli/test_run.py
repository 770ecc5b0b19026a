"""`headway run`: the examples end to end, what is written, what is said, what never changes."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.cli.running import (
    EXAMPLES,
    HELLO,
    as_csv,
    as_parquet,
    headway,
    rows_of,
    run,
    steady,
    summary_of,
    write_speeds,
)
from tests.report.trace_rules import broken_rules

from headway.compiler import compile_query
from headway.files import load_query, load_vehicle
from headway.schedule.online import OVERLOAD_POLICIES, POLICIES

COLLISION = EXAMPLES / "collision_warning"
VEHICLES = {
    "hello": "vehicle.yaml",
    "tyre_watch": "vehicle.yaml",
    "collision_warning": "vehicle_modern.yaml",
}


def run_example(name: str, output: Path, *options: str | Path) -> dict[str, object]:
    folder = EXAMPLES / name
    vehicle = folder / VEHICLES[name]
    result = run(
        folder / "query.yaml", folder / "recording", output, "--vehicle", vehicle, *options
    )
    assert result.exit_code == 0, result.output
    return summary_of(output)


@pytest.mark.parametrize("example", VEHICLES)
def test_examples_keep_their_promises(example: str, tmp_path: Path) -> None:
    summary = run_example(example, tmp_path / "out")
    plan = compile_query(
        load_query(EXAMPLES / example / "query.yaml").query,
        load_vehicle(EXAMPLES / example / VEHICLES[example]).vehicle,
    )
    assert plan.verdict is not None
    bounds = {promise.output: promise.bound for promise in plan.verdict.promises}
    for output in summary["outputs"]:  # type: ignore[attr-defined]
        assert output["tuples"] > 0
        assert output["misses"] == 0
        assert output["latency_max_ns"] <= bounds[output["output"]]
        assert len(rows_of(tmp_path / "out", output["output"])) == output["tuples"]


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        run_example("collision_warning", tmp_path / name, "--trace")
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert files == sorted(summary_of(tmp_path / "one")["files"])
    assert {"output1.parquet", "shed.parquet", "trace.perfetto.json", "summary.json"} < set(files)
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_gives_the_same_tuples_of_a_stateless_query(
    policy: str, tmp_path: Path
) -> None:
    run_example("hello", tmp_path / "costs", "--policy", policy)
    run_example("hello", tmp_path / "free", "--zero-cost")
    values = [
        [(row["timestamp"], row["v"]) for row in rows_of(tmp_path / name, "alarm")]
        for name in ("costs", "free")
    ]
    assert values[0] == values[1]
    assert {row["latency"] for row in rows_of(tmp_path / "free", "alarm")} == {800_000}
    assert {row["latency"] for row in rows_of(tmp_path / "costs", "alarm")} == {870_000}


@pytest.mark.parametrize(
    ("example", "convert"), [("tyre_watch", as_parquet), ("collision_warning", as_csv)]
)
def test_parquet_and_csv_recordings_agree(example: str, convert: object, tmp_path: Path) -> None:
    assert callable(convert)
    converted = convert(example, tmp_path / "recording")
    folder = EXAMPLES / example
    for name, recording in (("as_is", folder / "recording"), ("converted", converted)):
        vehicle = folder / VEHICLES[example]
        run(folder / "query.yaml", recording, tmp_path / name, "--vehicle", vehicle)
    names = [name for name in summary_of(tmp_path / "as_is")["files"] if "parquet" in name]
    for name in names:
        assert pq.read_table(tmp_path / "as_is" / name).equals(
            pq.read_table(tmp_path / "converted" / name)
        )


def test_a_fleet_is_run_vehicle_by_vehicle(tmp_path: Path) -> None:
    summary = run_example("collision_warning", tmp_path / "both")
    assert list(summary["by_vehicle"]) == ["A", "B"]  # type: ignore[call-overload]
    alone = tmp_path / "only_b"
    alone.mkdir()
    for path in (COLLISION / "recording").iterdir():
        table = pq.read_table(path)
        mine = table.filter([owner == "B" for owner in table["vehicle"].to_pylist()])
        pq.write_table(mine.drop_columns("vehicle"), alone / path.name)
    vehicle = COLLISION / "vehicle_modern.yaml"
    run(COLLISION / "query.yaml", alone, tmp_path / "b", "--vehicle", vehicle)
    both = [row for row in rows_of(tmp_path / "both", "output2") if row.pop("vehicle") == "B"]
    assert both == rows_of(tmp_path / "b", "output2")


def test_nothing_is_lost_on_the_way_in(tmp_path: Path) -> None:
    """Stateless and all values large: every tuple is in the output or on a side output."""
    lines = [*steady(5), "1767225600060000,NaN", "1767225600070000,"]
    recording = write_speeds(tmp_path / "recording", lines)
    assert run(HELLO, recording, tmp_path / "out").exit_code == 0
    summary = summary_of(tmp_path / "out")
    assert summary["arrived"] == summary["tuples"]["speed"] == 7
    # NaN is larger than every number, as in Spark; NULL > 30 is not true.
    assert summary["outputs"][0]["tuples"] == 6


def test_hard_misses_are_exit_code_1(tmp_path: Path) -> None:
    query = tmp_path / "query.yaml"
    query.write_text(HELLO.read_text().replace("50 us", "6 ms"), encoding="utf-8")
    recording = write_speeds(tmp_path / "recording", steady(3))
    result = run(query, recording, tmp_path / "out")
    assert result.exit_code == 1
    assert "✗ Deadlines of hard outputs were missed: alarm." in result.stdout
    assert all(row["missed"] for row in rows_of(tmp_path / "out", "alarm"))
    query.write_text(
        query.read_text().replace("5 ms}", "5 ms, criticality: soft}"), encoding="utf-8"
    )
    result = run(query, recording, tmp_path / "out", "--force")
    assert result.exit_code == 0
    assert "3 of soft outputs were" in result.stdout


def test_json_prints_the_summary_only(tmp_path: Path) -> None:
    recording = write_speeds(tmp_path / "recording", steady(3))
    result = run(HELLO, recording, tmp_path / "out", "--json")
    assert json.loads(result.stdout) == summary_of(tmp_path / "out")
    assert result.stderr == (
        "note: no vehicle: declared costs on one node of rate 1 (--zero-cost: none)\n"
    )


def test_without_all_costs_operators_take_no_time(tmp_path: Path) -> None:
    query = tmp_path / "query.yaml"
    query.write_text(HELLO.read_text().replace(", cost: 50 us", ""), encoding="utf-8")
    recording = write_speeds(tmp_path / "recording", steady(3))
    result = run(query, recording, tmp_path / "out", "--engine", "vehicle")
    assert "note: no vehicle, and no cost for fast: operators take no time" in result.stderr
    assert summary_of(tmp_path / "out")["costs"] == "no"
    assert {row["latency"] for row in rows_of(tmp_path / "out", "alarm")} == {0}


def test_a_plan_runs_as_its_query(tmp_path: Path) -> None:
    query, vehicle = COLLISION / "query.yaml", COLLISION / "vehicle_modern.yaml"
    headway("compile", query, "--vehicle", vehicle, "--out", tmp_path / "plan")
    plan, recording = tmp_path / "plan" / "plan.json", COLLISION / "recording"
    for option in ("--trace", "--zero-cost"):
        run(query, recording, tmp_path / "query", "--vehicle", vehicle, option, "--force")
        assert run(plan, recording, tmp_path / "run", option, "--force").exit_code == 0
        for name in summary_of(tmp_path / "query")["files"]:
            made = [(tmp_path / folder / name).read_bytes() for folder in ("query", "run")]
            assert made[0] == made[1]


def test_in_wall_clock_time(tmp_path: Path) -> None:
    """50 ms of recording at half its speed take 100 ms."""
    recording = write_speeds(tmp_path / "recording", steady(6))
    started = time.monotonic()
    options = ("--clock", "wall", "--speed", "0.5", "--trace")
    result = run(HELLO, recording, tmp_path / "out", *options)
    assert time.monotonic() - started >= 0.1
    assert result.exit_code in (0, 1), result.output  # this machine may be busy
    summary = summary_of(tmp_path / "out")
    assert (summary["clock"], summary["costs"], summary["speed"]) == ("wall", "real", 0.5)
    assert [row["v"] for row in rows_of(tmp_path / "out", "alarm")] == [pytest.approx(111.6)] * 6
    assert broken_rules((tmp_path / "out" / "trace.perfetto.json").read_text()) == []


def test_policies_are_listed_with_their_paper() -> None:
    listed = json.loads(headway("policies", "--json").stdout)
    assert [policy["name"] for policy in listed] == [*POLICIES, *OVERLOAD_POLICIES]
    assert listed[0]["paper"] == "S-EDF, section 5.4"
    table = headway("policies").stdout
    assert all(policy["name"] in table and policy["summary"] in table for policy in listed)


@pytest.mark.parametrize(
    ("node", "cores", "covered"),
    [
        ("{cores: 2}", "partitioned", False),
        ("{cores: 2}", "global", True),
        ("{cores: 2, partitioned: true}", "partitioned", True),
        ("{cores: 1}", "partitioned", True),
    ],
)
def test_a_run_that_no_promise_covers_says_so(
    node: str, cores: str, covered: bool, tmp_path: Path
) -> None:
    """The bounds of a node whose cores share a queue are not for cores with one each."""
    vehicle = tmp_path / "vehicle.yaml"
    vehicle.write_text(f"vehicle: two\nnodes:\n  ecu: {node}\nsensors: {{speed: ecu}}\n")
    options = ("--vehicle", vehicle, "--cores", cores)
    hello = EXAMPLES / "hello"
    result = run(hello / "query.yaml", hello / "recording", tmp_path / "out", *options)
    assert result.exit_code == 0, result.output
    said = " ".join(result.output.split())
    sentence = "--cores partitioned gives each train of ecu one core"
    assert (sentence not in said) == covered
    assert (sentence not in summary_of(tmp_path / "out").get("not_covered", "")) == covered
