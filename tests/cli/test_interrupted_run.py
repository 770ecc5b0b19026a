"""Ctrl-C and SIGTERM in wall-clock time: what is complete is written, what was lost is told."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.cli.invoke import Outcome, headway

from headway.engine.wall_engine import WallEngine

QUERY = """query: interrupted
schemas:
  A: {{v: double}}
sources:
  a: {{schema: A, rate: 1 per 1 ms}}
operators:
  first:
    udo: "tests.engine.wall.interrupting:Interrupting"
    inputs: {{input: a}}
    schema: A
    most_outputs: 1
    cost: 100 us
    parameters: {{at: {at}, number: {number}}}
  second: {{map: {{v: v + 1}}, from: first, cost: 100 us}}
  counted: {{aggregate: {{n: count(*)}}, from: a, window: 1 h, cost: 0 us}}
outputs:
  passed: {{from: second, deadline: 1 h}}
  last: {{from: counted, deadline: 3 h, criticality: soft}}
"""
VEHICLE = "vehicle: one\nnodes:\n  ecu: {}\nsensors: {a: ecu}\n"
TUPLES = 50


def run(
    folder: Path, *, at: int, number: int, vehicles: int = 0, more: tuple[str, ...] = ()
) -> Outcome:
    query, vehicle = folder / "query.yaml", folder / "vehicle.yaml"
    query.write_text(QUERY.format(at=at, number=number))
    vehicle.write_text(VEHICLE)
    recording = folder / "recording"
    recording.mkdir()
    header = "timestamp,v" + ",vehicle" * bool(vehicles) + "\n"
    with (recording / "a.csv").open("w") as file:
        file.write(header)
        for n in range(TUPLES):
            for one in range(max(1, vehicles)):
                file.write(f"{n},{float(n)}" + f",car{one}" * bool(vehicles) + "\n")
    return headway(
        "run", query, "--engine", "vehicle", "--vehicle", vehicle, "--input", recording,
        "--output", folder / "out", "--clock", "wall", *more,
    )  # fmt: skip


def summary(folder: Path) -> dict[str, object]:
    found = json.loads((folder / "out" / "summary.json").read_text())
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_what_is_complete_is_written_and_what_was_lost_is_told(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    before = signal.getsignal(number)
    outcome = run(tmp_path, at=10, number=number)
    assert outcome.code == code
    assert signal.getsignal(number) is before
    assert not list((tmp_path / "out").glob("*.part"))
    passed = pq.read_table(tmp_path / "out" / "passed.parquet")
    assert passed["v"].to_pylist() == [n + 1.0 for n in range(9)], "the tenth had begun"
    assert pq.read_table(tmp_path / "out" / "last.parquet").num_rows == 0, "its window is open"
    told = summary(tmp_path)
    lost = told["interrupted"]
    assert isinstance(lost, dict)
    arrived = told["arrived"]
    assert isinstance(arrived, int)
    assert lost["not_taken_in"] == TUPLES - arrived
    assert 1 <= lost["waiting"] <= arrived - 9 + arrived, "once for each unit it waits at"
    assert "interrupted: " in outcome.err
    assert f"{lost['not_taken_in']:,} arrivals were not taken in" in outcome.err


def test_a_vehicle_that_was_done_is_written_and_the_next_is_not_begun(tmp_path: Path) -> None:
    """Each vehicle has operators of its own: the first sends the signal with its last tuple."""
    outcome = run(tmp_path, at=TUPLES, number=signal.SIGINT, vehicles=3)
    assert outcome.code == 130
    passed = pq.read_table(tmp_path / "out" / "passed.parquet")
    assert set(passed["vehicle"].to_pylist()) == {"car0"}
    lost = summary(tmp_path)["interrupted"]
    assert isinstance(lost, dict)
    assert lost["not_taken_in"] == 2 * TUPLES


def test_a_signal_between_two_vehicles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = WallEngine.run

    def then_interrupted(engine: WallEngine, arrivals: object) -> object:
        result = whole(engine, arrivals)  # type: ignore[arg-type]
        if len(result.outputs["passed"]) and result.lost is None:
            signal.raise_signal(signal.SIGINT)
        return result

    monkeypatch.setattr(WallEngine, "run", then_interrupted)
    outcome = run(tmp_path, at=0, number=signal.SIGINT, vehicles=2)
    assert outcome.code == 130
    assert pq.read_table(tmp_path / "out" / "passed.parquet").num_rows == TUPLES


def test_in_virtual_time_an_interrupt_leaves_nothing_behind(tmp_path: Path) -> None:
    outcome = run(tmp_path, at=10, number=signal.SIGINT, more=("--clock", "virtual"))
    assert outcome.code == 130
    assert not (tmp_path / "out").exists()


def test_json_tells_it_too(tmp_path: Path) -> None:
    outcome = run(tmp_path, at=10, number=signal.SIGINT, more=("--json",))
    assert outcome.code == 130
    assert json.loads(outcome.out)["interrupted"] == summary(tmp_path)["interrupted"]
