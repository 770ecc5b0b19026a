"""Ctrl-C in ``hw.run`` by the wall clock: what is complete is given, marked as a part."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import pytest

import headway as hw
from headway.front_door.interruptions import caught_once

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
    parameters: {{at: {at}, number: 2}}
  second: {{map: {{v: v + 1}}, from: first, cost: 100 us}}
outputs:
  passed: {{from: second, deadline: 1 h}}
"""
TUPLES = 50


def run(folder: Path, at: int, clock: str = "wall", vehicles: int = 1) -> hw.QueryResult:
    query, recording = folder / "query.yaml", folder / "recording"
    query.write_text(QUERY.format(at=at))
    recording.mkdir()
    lines = [f"{n},{float(n)},car{car}" for n in range(TUPLES) for car in range(vehicles)]
    (recording / "a.csv").write_text("\n".join(["timestamp,v,vehicle", *lines]) + "\n")
    return hw.run(query, recording, clock=clock)  # type: ignore[arg-type]


def test_what_is_complete_is_given_and_marked(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    result = run(tmp_path, at=10)
    assert signal.getsignal(signal.SIGINT) is before
    assert result.tables["passed"]["v"].to_pylist() == [n + 1.0 for n in range(9)]
    cut = result.interrupted
    assert cut is not None
    assert cut.signal is signal.SIGINT
    assert cut.not_taken_in == TUPLES - result.summary.arrived  # type: ignore[union-attr]
    assert cut.waiting >= 1, "the tenth"
    assert "interrupted, only passed 9 tuples" in repr(result)
    assert f"{cut.not_taken_in:,} arrivals were not taken in" in result._repr_html_()


def test_a_run_to_the_end_is_not_marked(tmp_path: Path) -> None:
    result = run(tmp_path, at=0)
    assert result.interrupted is None
    assert len(result.tables["passed"]) == TUPLES
    assert "interrupted" not in repr(result).removeprefix("<QueryResult of interrupted")


def test_of_several_vehicles_the_next_is_not_begun(tmp_path: Path) -> None:
    """Each has operators of its own: the first sends the signal with its last tuple."""
    result = run(tmp_path, at=TUPLES, vehicles=3)
    assert set(result.tables["passed"]["vehicle"].to_pylist()) == {"car0"}
    assert result.interrupted is not None
    assert result.interrupted.not_taken_in == 2 * TUPLES


def test_in_virtual_time_ctrl_c_is_what_it_ever_is(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # others leave theirs behind
    try:
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, at=10, clock="virtual")
    finally:
        signal.signal(signal.SIGINT, before)


def test_only_the_first_signal_is_caught() -> None:
    caught: list[signal.Signals] = []
    with caught_once((signal.SIGINT,), caught.append):
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert caught == [signal.SIGINT]


def test_in_another_thread_nothing_is_caught_and_the_run_goes_on(tmp_path: Path) -> None:
    results: list[hw.QueryResult] = []
    thread = threading.Thread(target=lambda: results.append(run(tmp_path, at=0)))
    thread.start()
    thread.join()
    assert results[0].interrupted is None
