"""``headway loadtest`` and ``headway compile --policy``: tables, files, bytes and refusals."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest
from tests.cli.invoke import EXAMPLES, STUDY, headway

from headway.cli.commands.loadtest import parse_loads
from headway.errors import InputError

CROSSING = EXAMPLES / "overload" / "crossing.yaml"
QUICK = ("--trials", "2", "--duration", "2000")
FILES = (
    "misses.html",
    "misses.svg",
    "rows.parquet",
    "summary.json",
    "timeline.perfetto.json",
    "timeline.svg",
)


def test_the_table_and_the_verdict() -> None:
    outcome = headway(
        "loadtest", CROSSING, "--policy", "op-edf,rop-edf", "--load", "120..140:20", *QUICK
    )
    assert (outcome.code, outcome.err) == (0, "")
    assert "✗ op-edf: hard tasks miss at 120 % and above" in outcome.out
    assert "✓ rop-edf-1: no hard task missed a deadline at any load" in outcome.out
    assert " ± " in outcome.out


def test_exit_code_1_when_hard_tasks_miss_under_every_policy() -> None:
    arguments = ("--policy", "op-edf", "--load", "130", *QUICK)
    assert headway("loadtest", CROSSING, *arguments).code == 1


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    arguments = ("--policy", "op-edf,rop-edf-1", "--load", "120", *QUICK)
    for folder, seed in (("a", "7"), ("b", "7"), ("c", "8")):
        done = headway("loadtest", CROSSING, *arguments, "--seed", seed, "--out", tmp_path / folder)
        assert done.code == 0
    for name in FILES:
        same = (tmp_path / "a" / name).read_bytes()
        assert same == (tmp_path / "b" / name).read_bytes()
        assert same != (tmp_path / "c" / name).read_bytes()


def test_what_is_written(tmp_path: Path) -> None:
    arguments = ("--policy", "er-edf,rop-edf-2", "--load", "110,130", *QUICK)
    shown = ("--timeline", "er-edf:130:1")
    headway("loadtest", CROSSING, *arguments, *shown, "--out", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)
    rows = pq.read_table(tmp_path / "rows.parquet").to_pylist()
    assert len(rows) == 2 * 2 * 2 * 5  # loads, trials, policies, tasks
    assert all(row["rejected"] + row["late"] <= row["jobs"] for row in rows)
    trace = json.loads((tmp_path / "timeline.perfetto.json").read_text(encoding="utf-8"))
    assert trace["otherData"] == {"policy": "er-edf", "load": 130, "trial": 1}
    slices = sorted((e["ts"], e["ts"] + e["dur"]) for e in trace["traceEvents"] if e["ph"] == "X")
    assert slices
    assert all(before[1] <= after[0] + 1e-6 for before, after in pairwise(slices))
    for name in ("misses.svg", "timeline.svg"):
        assert ElementTree.parse(tmp_path / name).getroot().tag.endswith("svg")


def test_json_for_programs() -> None:
    outcome = headway(
        "loadtest", CROSSING, "--policy", "rop-edf-1", "--load", "150", *QUICK, "--json"
    )
    found = json.loads(outcome.out)
    assert (found["loads"], found["policies"]) == ([150], ["rop-edf-1"])
    assert [one["task"] for one in found["misses"]] == ["H1", "H2", "S1", "S2", "S3"]
    assert all(one["mean"] == 0 for one in found["misses"] if one["hard"])


@pytest.mark.parametrize("vehicle", ["vehicle.yaml", "vehicle_modern.yaml"])
def test_the_collision_warning_keeps_its_hard_outputs_at_twice_the_load(vehicle: str) -> None:
    """Task sets derived from the plan: both hard outputs on every node of their paths."""
    outcome = headway(
        "loadtest", STUDY / "query.yaml", "--vehicle", STUDY / vehicle, "--policy",
        "op-edf,rop-edf-1,rop-edf-2", "--load", "100..200:50", *QUICK, "--json",
    )  # fmt: skip
    found = json.loads(outcome.out)["misses"]
    hard = [one for one in found if one["hard"] and one["policy"] != "op-edf"]
    assert {name.split("→")[1].split()[0] for name in (one["task"] for one in hard)} == {
        "output1",
        "output2",
    }
    assert all(one["most"] == 0 for one in hard)
    assert any(one["mean"] > 0.9 for one in found if one["hard"] and one["policy"] == "op-edf")


def test_compile_says_what_is_left_for_soft_load() -> None:
    outcome = headway(
        "compile", STUDY / "query.yaml", "--vehicle", STUDY / "vehicle_modern.yaml",
        "--policy", "rop-edf",
    )  # fmt: skip
    assert outcome.code == 0
    assert "node3: hard paths reserve 36.6327 %, 63.3673 % is left for soft load" in outcome.out
    assert "v2v→output3 asks for 0.52 %: in time when there is room" in outcome.out
    assert "at most 69 % of it fits" in outcome.out


def test_loads_are_written_in_three_ways() -> None:
    assert parse_loads("100..130") == [100, 110, 120, 130]
    assert parse_loads("100..150:25,300") == [100, 125, 150, 300]
    for bad in ("", "abc", "200..100", "0", "100..200:0", "1e3"):
        with pytest.raises(InputError, match="not a load in percent"):
            parse_loads(bad)


BAD: dict[tuple[str, ...], str] = {
    ("--policy", "edf"): "unknown policy 'edf'",
    ("--load", "x"): "not a load in percent",
    ("--load", "20"): "the load cannot be 20 %",
    ("--timeline", "op-edf:999:0"): "there is no such trial",
    ("--vehicle", str(STUDY / "vehicle.yaml")): "a task set needs no --vehicle",
}


@pytest.mark.parametrize("arguments", BAD)
def test_bad_arguments(arguments: tuple[str, ...]) -> None:
    outcome = headway("loadtest", CROSSING, *QUICK, *arguments)
    assert outcome.code == 2
    assert BAD[arguments] in outcome.err
    assert outcome.out == ""


def test_a_query_needs_a_vehicle() -> None:
    outcome = headway("loadtest", STUDY / "query.yaml", *QUICK)
    assert (outcome.code, "a query needs a vehicle" in outcome.err) == (2, True)


def test_hard_load_above_capacity_is_refused_and_named(tmp_path: Path) -> None:
    path = tmp_path / "heavy.yaml"
    path.write_text(
        "taskset: heavy\ntasks:\n"
        "  a: {kind: hard, period: 5 ms, utilisation: 0.7}\n"
        "  b: {kind: hard, period: 5 ms, utilisation: 0.4}\n"
    )
    outcome = headway("loadtest", path, "--load", "110", *QUICK)
    assert outcome.code == 2
    assert outcome.problems[0]["line"] == "3"
    assert "the hard tasks need 110 % of a processor that has 100 %" in outcome.err
