"""``headway schedule`` and ``headway compile --placement``: tables, files, JSON, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.invoke import EXAMPLES, STUDY, headway

from headway.model.codec import plan_from_json

FOLDER = EXAMPLES / "static_distribution"
GRAPH, NETWORK = FOLDER / "graph.yaml", FOLDER / "network.yaml"
ON = ("--network", NETWORK)


def test_algorithms_are_compared() -> None:
    outcome = headway(
        "schedule", GRAPH, *ON, "--whole-link-times", "--algorithm", "hsv-cc,hvlb-cc-a,heft,optimal"
    )
    assert (outcome.code, outcome.err) == (0, "")
    lines = {line.split()[0]: line.split() for line in outcome.out.splitlines() if line.split()}
    makespans = {name: lines[name][1] for name in ("hsv-cc", "heft", "optimal")}
    assert makespans == {"hsv-cc": "73", "heft": "68", "optimal": "60"}
    assert "proven optimal" in outcome.out
    assert "✓ optimal: makespan 60" in outcome.out


def test_json_holds_intervals_and_schedules() -> None:
    outcome = headway(
        "schedule", GRAPH, *ON, "--json", "--algorithm", "hvlb-cc-b,cpop", "--alpha", "every"
    )
    first, second = json.loads(outcome.out)["algorithms"]
    assert first["intervals"][0]["low"] == 0
    assert first["intervals"][-1]["high"] is None
    assert min(one["makespan"] for one in first["intervals"]) == first["makespan"]
    assert "intervals" not in second
    assert len(second["schedule"]["tasks"]) == 10


def test_alpha_is_a_choice() -> None:
    given = ("schedule", GRAPH, *ON, "--json", "--algorithm", "hvlb-cc-c")
    exact, every, grid, one = (
        json.loads(headway(*given, "--alpha", way).out)["algorithms"][0]
        for way in ("exact", "every", "grid", "3/2")
    )
    assert exact["makespan"] == every["makespan"] <= grid["makespan"]
    assert len(exact["intervals"]) < len(every["intervals"])
    assert grid["intervals"][-1]["high"] == 20
    assert one["makespan"] >= exact["makespan"]
    assert [found["low_exact"] for found in one["intervals"]] == ["3/2"]
    outcome = headway(*given, "--alpha", "some")
    assert outcome.code == 2
    assert "--alpha: no choice of α; got 'some'; say exact, every, grid" in outcome.err


def test_the_default_is_the_best_of_several() -> None:
    found = json.loads(headway("schedule", GRAPH, *ON, "--json").out)["algorithms"]
    assert [(one["algorithm"], one["member"], one["makespan"]) for one in found] == [
        ("best", "hvlb-cc-c", 64.0)
    ]


def test_holes_and_precision_are_shown(tmp_path: Path) -> None:
    given = ("schedule", GRAPH, *ON, "--algorithm", "hvlb-cc-ic", "--arrival-rate", "1.25")
    outcome = headway(*given, "--out", tmp_path)
    assert "Schedule holes under hvlb-cc-ic" in outcome.out
    assert "Precision at λ 1.25" in outcome.out
    (found,) = json.loads((tmp_path / "schedule.json").read_text())["algorithms"]
    holes = {one["task"]: one for one in found["holes"]}
    slots = {one["task"]: one for one in found["schedule"]["tasks"]}
    for task, one in holes.items():
        took = slots[task]["finish"] - slots[task]["start"]
        assert one["full_precision_to"] == pytest.approx((took + one["hole"]) / took)
        assert one["precision"] == pytest.approx(min(1, (took + one["hole"]) / (1.25 * took)))
    with_room = [task for task, one in holes.items() if one["hole"] > 0]
    assert with_room
    chart = (tmp_path / "gantt-hvlb-cc-ic.svg").read_text()
    assert chart.count('class="hole') == len(with_room)


def test_charts_are_written(tmp_path: Path) -> None:
    outcome = headway("schedule", GRAPH, *ON, "--algorithm", "hvlb-cc-c,heft", "--out", tmp_path)
    assert outcome.code == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        "schedule.json",
        "gantt.html",
        "gantt-hvlb-cc-c.svg",
        "gantt-heft.svg",
    }


def test_several_periods_and_deadlines() -> None:
    outcome = headway("schedule", FOLDER / "periods.yaml", *ON)
    assert (outcome.code, outcome.err) == (0, "")
    assert "Deadlines under best" in outcome.out


def test_a_missed_deadline_is_1(tmp_path: Path) -> None:
    graph = tmp_path / "g.yaml"
    graph.write_text("graph: g\ntasks:\n  a: {work: 9, deadline: 3}\n")
    outcome = headway("schedule", graph, *ON)
    assert outcome.code == 1
    assert "✗ best: makespan 9, but deadline missed: a" in outcome.out


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("w.json", '{"workflow": {"tasks": [{"id": "a"}]}}', "the task 'a' has no running time"),
        ("w.json", '{"workflow": {"tasks": [{"id": "a", "runtime": 1e300}]}}', "too large"),
        ("w.json", '{"workflow": {"tasks": [{"id": "a"', "not JSON: expecting ',' delimiter"),
        ("plan.json", '{"query": {}, "vehicle": {', "not JSON: expecting property name"),
        ("g.stg", "1\n1 1e300 0\n", "too large for a processing time; got '1e300'"),
    ],
)
def test_a_file_that_cannot_be_meant_is_2(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    graph = tmp_path / name
    graph.write_text(text)
    outcome = headway("schedule", graph, *ON)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert len(outcome.err) < 400


FAILING = """\
graph: g
ccr: 0
tasks: {a: 1, b: 9, c: 1, d: 1, e: 1}
messages:
  a: b
  b: [c, d, e]
"""


def test_a_queue_that_fails_is_1(tmp_path: Path) -> None:
    graph = tmp_path / "g.yaml"
    graph.write_text(FAILING)
    outcome = headway("schedule", graph, *ON, "--algorithm", "hsv-cc")
    assert outcome.code == 1
    assert "failed: b came to the head of the queue before its predecessor a" in outcome.out
    assert "✗ no schedule" in outcome.out
    assert headway("schedule", graph, *ON, "--algorithm", "hsv-cc,hvlb-cc-c").code == 0


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ("graph: g\ntasks: {a: 1}\nmessages: {a: a}\n", "g.yaml:3:15: edges: tasks wait for each"),
        (
            "graph: g\ntasks: {a: 1}\nmessages: {a: b}\n",
            "g.yaml:3:15: edges.a->b: unknown task; got 'b'",
        ),
        (
            "graph: g\ntasks: {a: {on: [p9]}}\n",
            "g.yaml:2:13: tasks.a.processors: unknown processor; got 'p9'",
        ),
        ("graph: g\ntasks: {a: {}}\n", "g.yaml:2:9: tasks.a.times.p1: no computation time"),
    ],
)
def test_bad_graphs_are_2_with_a_place(tmp_path: Path, graph: str, message: str) -> None:
    path = tmp_path / "g.yaml"
    path.write_text(graph)
    outcome = headway("schedule", path, *ON)
    assert outcome.code == 2
    assert message in outcome.err


def test_bad_networks_are_2_with_a_place(tmp_path: Path) -> None:
    path = tmp_path / "n.yaml"
    path.write_text(NETWORK.read_text().replace("speed: 3", "speed: 0"))
    outcome = headway("schedule", GRAPH, "--network", path)
    assert outcome.code == 2
    assert "n.yaml:8:31: links.l3.speed: not a speed above 0; got 0.0" in outcome.err
    path.write_text("network: n\nprocessors: {p1: 1, p2: 1, p3: 1}\n")
    outcome = headway("schedule", GRAPH, "--network", path)
    assert outcome.code == 2
    assert "n.yaml:1:1" in outcome.err
    assert "no route from p1 to p2" in outcome.err


def test_other_mistakes_are_2(tmp_path: Path) -> None:
    outcome = headway("schedule", GRAPH, *ON, "--algorithm", "magic")
    assert outcome.code == 2
    assert outcome.err.startswith("unknown algorithm 'magic'; choose from hvlb-cc-b")
    assert "name its file with --network" in headway("schedule", GRAPH).err
    assert headway("schedule", tmp_path / "nothing.yaml", *ON).code == 2


def test_a_plan_is_scheduled_on_its_own_vehicle(tmp_path: Path) -> None:
    query, vehicle = STUDY / "query.yaml", STUDY / "vehicle_modern.yaml"
    headway("compile", query, "--vehicle", vehicle, "--out", tmp_path)
    plan = tmp_path / "plan.json"
    outcome = headway("schedule", plan, "--algorithm", "heft")
    assert (outcome.code, outcome.err) == (0, "")
    assert "Makespan (ms)" in outcome.out
    assert "leave out --network" in headway("schedule", plan, *ON).err


@pytest.mark.parametrize("way", ["hvlb-cc", "heft"])
def test_a_schedule_places_a_compiled_query(tmp_path: Path, way: str) -> None:
    query, vehicle = STUDY / "query.yaml", STUDY / "vehicle_modern.yaml"
    outcome = headway("compile", query, "--vehicle", vehicle, "--placement", way, "--out", tmp_path)
    assert outcome.code in (0, 1)
    assert outcome.err == ""
    plan = plan_from_json((tmp_path / "plan.json").read_text())
    assert {name for name, _ in plan.vehicle.pins} == {o.name for o in plan.query.operators}
    assert dict(plan.vehicle.pins).items() <= dict(plan.placement).items()
    assert sorted(plan.static_order) == sorted(o.name for o in plan.query.operators)
    position = {name: place for place, name in enumerate(plan.static_order)}
    for operator in plan.query.operators:
        for stream in operator.streams:
            assert position.get(stream, -1) < position[operator.name]


def test_a_placement_needs_a_vehicle_and_a_known_name() -> None:
    query = STUDY / "query.yaml"
    outcome = headway("compile", query, "--placement", "hvlb-cc")
    assert outcome.code == 2
    assert "compiled without a vehicle" in outcome.err
    on = ("--vehicle", STUDY / "vehicle.yaml")
    assert "unknown algorithm" in headway("compile", query, *on, "--placement", "x").err
