"""Traces for Perfetto: the rules of the format, and figure 6 of the S-EDF paper to the letter."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.engine.test_figure_6 import plan as figure_plan
from tests.engine.test_figure_6 import run_figure
from tests.report.trace_rules import broken_rules

from headway.compiler import compile_query
from headway.engine.engine import Engine, replay
from headway.engine.jobs import Arrival
from headway.engine.results import VehicleRun
from headway.files import load_query, load_vehicle
from headway.model.quantities import MICROSECOND, MILLISECOND
from headway.model.vehicle import Node, Vehicle
from headway.report.perfetto import PerfettoTrace
from headway.sources.recordings import scan_recording

GOLDEN = Path(__file__).parents[1] / "golden" / "sedf_fig6.perfetto.json"
EXAMPLES = Path(__file__).parents[2] / "examples"


def figure_6(policy: str = "s-edf") -> str:
    trace = PerfettoTrace(figure_plan(), MILLISECOND)
    trace.add(VehicleRun(None, run_figure(policy)))
    return trace.to_json()


def renumbered(text: str) -> str:
    """Jobs numbered as they appear: how the kernel counts them is its own business."""
    numbers: dict[str, str] = {}
    return re.sub(
        r'"job": \d+', lambda job: numbers.setdefault(job[0], f'"job": {len(numbers) + 1}'), text
    )


def collision_warning(policy: str = "s-edf") -> str:
    folder = EXAMPLES / "collision_warning"
    query = load_query(folder / "query.yaml").query
    plan = compile_query(query, load_vehicle(folder / "vehicle_modern.yaml").vehicle)
    contents = scan_recording(folder / "recording", query.sources)
    trace = PerfettoTrace(plan, contents.begin * MICROSECOND)
    for run in replay(
        plan, folder / "recording", contents, lambda: Engine(plan=plan, policy=policy)
    ):
        trace.add(run)
    return trace.to_json()


def events_of(text: str) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = json.loads(text)["traceEvents"]
    return events


def test_figure_6_to_the_letter() -> None:
    assert renumbered(figure_6()) == GOLDEN.read_text(encoding="utf-8")


def test_figure_6_slot_by_slot() -> None:
    """The golden file holds what the paper's figure shows: one operator a slot, from 1 to 13."""
    slots = [e for e in events_of(GOLDEN.read_text(encoding="utf-8")) if e["ph"] == "X"]
    assert " ".join(e["name"] for e in slots) == "o1 o2 o3 o4 o5 o1 o6 o3 o4 o5 o7 o6 o7"
    assert [e["ts"] for e in slots] == [1000.0 * slot for slot in range(13)]
    assert {e["dur"] for e in slots} == {1000.0}


@pytest.mark.parametrize("policy", ["s-edf", "fifo+"])
def test_traces_keep_the_rules(policy: str) -> None:
    assert broken_rules(figure_6(policy)) == []
    assert broken_rules(collision_warning(policy)) == []


def test_a_miss_is_seen() -> None:
    names = [event["name"] for event in events_of(figure_6("fifo+"))]
    assert names.count("s3 missed its deadline") == 1
    assert "s3 missed its deadline" not in figure_6("s-edf")


def test_what_a_trace_of_several_nodes_shows() -> None:
    events = events_of(collision_warning())
    processes = [e["args"]["name"] for e in events if e["name"] == "process_name"]
    places = ("node1", "node2", "node3", "network")
    assert processes == [f"{vehicle}: {place}" for vehicle in "AB" for place in places]
    threads = [e["args"]["name"] for e in events if e["name"] == "thread_name"]
    assert threads.count("core 0") == 6
    assert threads.count("bus1") == threads.count("bus2") == 2
    kinds = {e.get("cat") for e in events}
    assert {"operator", "frame", "send", "receive", "output", "timeout", "preempt", "shed"} < kinds
    # Base and items of an execution that nothing interrupts are one slice: 5 ms and 0.5 ms each.
    longest = max(e["dur"] for e in events if e["name"] == "sdfo2" and e["ph"] == "X")
    assert longest > 10_000


def test_cores_have_threads_of_their_own() -> None:
    query = load_query(EXAMPLES / "hello" / "query.yaml").query
    node = Node(name="ecu", cores=2)
    plan = compile_query(query, Vehicle(name="v", nodes=(node,), sensors=(("speed", "ecu"),)))
    arrivals = [Arrival(0, "speed", (0, 31.0)), Arrival(0, "speed", (1, 31.0))]
    trace = PerfettoTrace(plan, 0)
    trace.add(VehicleRun(None, Engine(plan=plan).run(arrivals)))
    assert broken_rules(trace.to_json()) == []
    slices = [e for e in events_of(trace.to_json()) if e["ph"] == "X"]
    assert {(e["tid"], e["ts"]) for e in slices if e["name"] == "fast"} == {(1, 0.0), (2, 0.0)}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"ts": 5500.0}, "overlaps"),
        ({"ts": 100.0}, "goes back"),
        ({"ts": -1.0}, "before the beginning"),
        ({"dur": -1.0}, "ends before"),
        ({"tid": 9}, "thread without a name"),
        ({"pid": 9}, "process without a name"),
        ({"ph": "Z"}, "lacks"),
    ],
)
def test_the_rules_can_be_broken(change: dict[str, Any], complaint: str) -> None:
    value = json.loads(figure_6())
    slices = [event for event in value["traceEvents"] if event["ph"] == "X"]
    slices[6].update(change)
    assert any(complaint in problem for problem in broken_rules(json.dumps(value)))
