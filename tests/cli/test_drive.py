"""``headway drive``: what it shows, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.cli.invoke import headway

FEW = ("--cars", "16", "--workers", "1")


def test_a_drive_writes_rows_replay_and_summary(tmp_path: Path) -> None:
    out = tmp_path / "drive"
    outcome = headway("drive", *FEW, "--v2v", "both", "--policy", "s-edf", "--out", out, "--keep")
    assert outcome.code == 0
    assert "✓ s-edf: every car was seen in time to stop" in outcome.out
    assert (
        "✗ s-edf, no V2V: 6 of 6 cars were seen later than 2.8 s before the impact" in outcome.out
    )
    assert sorted(path.name for path in out.iterdir()) == [
        "alarms.parquet", "latency.parquet", "meetings.parquet", "recordings", "replay.html",
        "summary.json", "trials.parquet",
    ]  # fmt: skip
    assert pq.read_table(out / "meetings.parquet").num_rows == 12
    kept = out / "recordings" / "trial0000"
    assert {path.name for path in kept.iterdir()} >= {"gps.parquet", "v2v.parquet", "truth.parquet"}
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert [one["crash_rate"] for one in summary["settings"]] == [0.0, 1.0]


def test_a_kept_recording_runs_like_any_other(tmp_path: Path) -> None:
    out = tmp_path / "drive"
    headway("drive", *FEW, "--policy", "s-edf", "--shed-keeps", "nearest", "--out", out, "--keep")
    example = Path(__file__).parents[2] / "examples" / "collision_warning"
    again = headway(
        "run", example / "query.yaml", "--engine", "vehicle",
        "--vehicle", example / "vehicle.yaml", "--input", out / "recordings" / "trial0000",
        "--output", tmp_path / "run", "--json",
    )  # fmt: skip
    assert again.code == 0
    (row,) = pq.read_table(out / "trials.parquet").to_pylist()
    outputs = {one["output"]: one for one in json.loads(again.out)["outputs"]}
    for number in (1, 2, 3):
        assert outputs[f"output{number}"]["tuples"] == row[f"tuples{number}"]


def test_json_is_the_same_each_time() -> None:
    first = headway("drive", *FEW, "--json")
    assert first.code == 0
    assert json.loads(first.out)["settings"][1]["setting"] == "fifo+"
    assert headway("drive", *FEW, "--json").out == first.out


def test_every_car_runs_the_query_and_ours_brakes(tmp_path: Path) -> None:
    """What a car that acts does is told beside the papers' rule, in rows, text and replay."""
    out = tmp_path / "drive"
    outcome = headway(
        "drive", "--cars", "12", "--workers", "1", "--policy", "s-edf", "--v2v", "cars",
        "--warn-of", "meeting", "--brake", "--out", out,
    )  # fmt: skip
    assert outcome.code == 0
    label = "s-edf, warned of meeting cars"
    assert f"✓ {label}, braking: 0 of 6 cars were hit (0 by the rule of 2.8 s)." in outcome.out
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert summary["warnings"] == [{"setting": label, "trials": 1, "warned": 6, "false": 0}]
    assert summary["braking"] == [
        {"setting": label, "met": 6, "late": 0, "crashes": 0, "speed": 0.0}
    ]
    stops = pq.read_table(out / "stops.parquet").to_pylist()
    assert [row["crash"] for row in stops] == [False] * 6
    assert min(row["nearest"] for row in stops) > 3
    assert "brakes and hits 0 of 6" in (out / "replay.html").read_text(encoding="utf-8")


def test_without_a_radio_braking_comes_too_late() -> None:
    outcome = headway(
        "drive", *FEW, "--policy", "s-edf", "--v2v", "off", "--brake", "--reaction", "1.2"
    )
    assert outcome.code == 1
    assert "braking: 6 of 6 cars were hit (6 by the rule of 2.8 s)" in outcome.out


BAD: dict[tuple[str, ...], str] = {
    ("--policy", "edf"): "unknown policy 'edf'",
    ("--shed", "fast"): "not a number of tuples/s; got 'fast'",
    ("--shed", "55"): "windows of 100 ms; got 55 tuples/s",
    ("--shed", "pcs=100"): "a limit for a policy that is not run; got 'pcs'",
    ("--shed", "100", "--v2v", "off"): "--shed is about V2V tuples, and --v2v is off",
    ("--cars", "3"): "fewer cars than",
    ("--reaction", "1"): "--reaction is for a car that brakes; add --brake",
    ("--brake", "--reaction", "2.8"): "a reaction shorter than the 2.8 s in which it stops",
    ("--routes", "x.rou.xml"): "--routes is for SUMO scenarios; add --sumo",
    ("--sumo", "x.net.xml"): "a SUMO network needs its cars; name a route file",
    ("--sumo", "x.net.xml", "--cars", "10"): "the cars are those of the route file",
}


@pytest.mark.parametrize("options", BAD, ids=" ".join)
def test_what_cannot_be_driven_is_refused(options: tuple[str, ...]) -> None:
    outcome = headway("drive", *options)
    assert outcome.code == 2
    assert BAD[options] in outcome.err


def test_a_fleet_drives_a_scenario_or_a_recording(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "examples" / "collision_warning"
    both = headway(
        "fleet", example / "query.yaml", "--scenario", "grid", "--input", example / "recording",
        "--output", tmp_path / "fleet",
    )  # fmt: skip
    assert both.code == 2
    assert "a fleet drives a scenario or a recording" in both.err
    cars = headway("fleet", example / "query.yaml", "--cars", "9", "--output", tmp_path / "fleet")
    assert cars.code == 2
    assert "--cars is for scenarios" in cars.err
    talk = headway("fleet", example / "query.yaml", "--v2v", "cars", "--output", tmp_path / "fleet")
    assert talk.code == 2
    assert "--v2v is for scenarios" in talk.err
