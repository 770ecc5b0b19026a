"""How a run stands: what it writes, and what is read of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.invoke import EXAMPLES

import headway as hw
from headway.engine.clock import ManualClock
from headway.engine.jobs import Arrival
from headway.engine.live_run import LiveRun
from headway.engine.live_state import (
    LIVE,
    PLAN,
    RECENT,
    LiveEvent,
    LiveMedium,
    LiveNode,
    LiveOperator,
    LiveOutput,
    LiveState,
    RecentEvents,
    RecentLatencies,
    read_live,
    write_live,
)
from headway.engine.nodes.executables import build_executables, write_build
from headway.engine.nodes.launcher import LAUNCH_LOG
from headway.engine.nodes.live_counts import live_file
from headway.engine.nodes.watched_car import WatchedCar
from headway.engine.wall_engine import WallEngine
from headway.errors import FileError
from headway.model.quantities import MILLISECOND, SECOND

STATE = LiveState(
    query="q", vehicle="v", engine="wall clock", running=True, passed=5,
    outputs=(
        LiveOutput(output="alarm", hard=True, deadline=9, bound=7, tuples=3, missed=1,
                   latency_median=2, latency_99=3, latency_max=4),
        LiveOutput(output="quiet", hard=False, deadline=9, bound=None, tuples=0, missed=0),
    ),
    operators=(LiveOperator(operator="f", node="n", taken=4, given=3, late=1, waiting=2),),
    nodes=(LiveNode(node="n", state="running", load=0.5, waiting=2, peers=(("m", "lost"),)),),
    media=(LiveMedium(medium="can", load=0.25),),
    events=(LiveEvent(at=1, where="n", what="peer lost"),),
    counts={"decisions": 8},
)  # fmt: skip


def test_a_state_survives_its_file(tmp_path: Path) -> None:
    write_live(tmp_path, STATE)
    assert read_live(tmp_path) == STATE
    assert [path.name for path in tmp_path.iterdir()] == [LIVE]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"written_by": "headway", "form": 99}', "null"])
def test_what_is_no_state_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / LIVE).write_text(text)
    with pytest.raises(FileError, match=r"not the state of a run; .*watch with the Headway that"):
        read_live(tmp_path)
    (tmp_path / LIVE).unlink()
    with pytest.raises(FileError, match="no run can be watched here; got No such file"):
        read_live(tmp_path)


def test_percentiles_are_of_the_last_tuples() -> None:
    seen = RecentLatencies()
    assert seen.times() == {}
    for latency in range(2 * RECENT):
        seen.note(latency, missed=latency == 7)
    assert (seen.tuples, seen.missed) == (2 * RECENT, 1)
    assert seen.times() == {
        "latency_median": RECENT + (RECENT - 1) // 2,
        "latency_99": RECENT + int(0.99 * (RECENT - 1)),
        "latency_max": 2 * RECENT - 1,
    }


def test_only_the_last_events_are_kept() -> None:
    log = RecentEvents()
    for number in range(1000):
        log.add(number, "n", "x")
    assert len(log.all()) == 200
    assert log.all()[-1].at == 999


def test_a_run_counts_as_its_result_does(tmp_path: Path) -> None:
    example = EXAMPLES / "hello"
    plan = hw.compile(example / "query.yaml", example / "vehicle.yaml").plan
    live = LiveRun(plan, tmp_path, every=1000.0)
    engine = WallEngine(plan=plan, clock=ManualClock(), watch=live)
    step = 10 * MILLISECOND
    arrivals = [Arrival(n * step, "speed", (n * step // 1000, 25.0 + n)) for n in range(20)]
    with live:
        assert (tmp_path / PLAN).exists()
        assert read_live(tmp_path).outputs[0].tuples == 0
        result = engine.run(arrivals)
        state = live.state()
    assert state.outputs[0].tuples == len(result.outputs["alarm"]) == 14
    by_name = {one.operator: (one.taken, one.given) for one in state.operators}
    assert by_name == {"speed": (20, 20), "fast": (20, 14), "kmh": (14, 14)}
    (bound,) = [one.bound for one in state.outputs]
    assert bound == plan.verdict.promises[0].bound if plan.verdict else False
    assert state.counts["decisions"] == result.kernel.decisions
    assert list(tmp_path.iterdir()) == [], "a run leaves nothing of it"


# ---------------------------------------------------------------- a launched car


def write_lines(path: Path, *lines: object) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def test_a_launched_car_is_known_by_its_files(tmp_path: Path) -> None:
    nodes = {"front": {"outputs": ["alarm"]}, "rear": {"outputs": []}}
    (tmp_path / "deployment.json").write_text(json.dumps({"query": "q", "nodes": nodes}))
    car = WatchedCar(tmp_path, clock=lambda: 1000)
    assert [node.state for node in car.look().nodes] == ["starting", "starting"]
    sensed = 1_000_000
    given = {"row": {"timestamp": sensed}, "completed": sensed * 1000 + 5, "missed": True}
    write_lines(tmp_path / "alarm.jsonl", given | {"deadline": sensed * 1000 + 3})
    front, rear = tmp_path / "front.events.jsonl", tmp_path / "rear.events.jsonl"
    write_lines(front, {"at": 100, "node": "front", "event": "running"})
    write_lines(rear, {"at": 90, "node": "rear", "event": "running"})
    write_lines(front, {"at": 200, "node": "front", "event": "peer lost", "peer": "rear"})
    state = car.look()
    assert state.running
    assert [(one.at, one.where, one.what) for one in state.events] == [
        (0, "rear", "running"),
        (10, "front", "running"),
        (110, "front", "peer lost: rear"),
    ]
    assert state.passed == 910
    assert [(node.state, node.peers) for node in state.nodes] == [
        ("running", (("rear", "lost"),)),
        ("lost", ()),
    ], "who is not heard of is lost"
    (alarm,) = state.outputs
    assert (alarm.tuples, alarm.missed, alarm.latency_max, alarm.deadline) == (1, 1, 5, 3)
    with front.open("a", encoding="utf-8") as file:
        file.write('{"at": 300, "node": "front", "eve')  # half a line is none
    assert len(car.look().events) == 3
    with front.open("a", encoding="utf-8") as file:
        file.write('nt": "finished"}\n')
    write_lines(rear, {"at": 300, "node": "rear", "event": "finished"})
    assert not car.look().running
    assert car.look().passed == 210


def test_a_car_is_watched_with_its_plan_its_operators_and_its_launch(tmp_path: Path) -> None:
    plan = hw.compile(EXAMPLES / "starter" / "query.yaml", EXAMPLES / "starter" / "vehicle.yaml")
    write_build(plan.plan, build_executables(plan.plan), tmp_path)
    car = WatchedCar(tmp_path, clock=lambda: 5 * SECOND)
    assert car.plan == plan.plan
    assert {one.output: (one.hard, one.bound) for one in car.look().outputs} == {
        promise.output: (promise.hard, promise.bound) for promise in plan.promises
    }
    (crossing,) = plan.plan.crossings
    (hop,) = crossing.hops
    sender = dict(plan.plan.placement)[crossing.stream]

    def tells(at: int, given: int) -> None:
        one = {"operator": crossing.stream, "taken": given, "given": given, "late": 2}
        stands = {"at": at, "load": 0.25, "waiting": 3, "operators": [one]}
        live_file(tmp_path, sender).write_text(json.dumps(stands))

    tells(SECOND, 40)
    assert car.look().media == (), "once told is no rate yet"
    tells(2 * SECOND, 140)
    write_lines(tmp_path / f"{sender}.events.jsonl", {"at": 1, "node": sender, "event": "running"})
    state = car.look()
    assert (state.operators[0].operator, state.operators[0].late) == (crossing.stream, 2)
    assert state.media == (LiveMedium(medium=hop.name, load=100 * hop.delay / SECOND),)
    (node,) = [node for node in state.nodes if node.node == sender]
    assert (node.state, node.load, node.waiting) == ("running", 0.25, 3)
    log = tmp_path / LAUNCH_LOG
    write_lines(log, {"at": 9, "node": "launch", "event": "broke", "of": sender, "what": "killed"})
    state = car.look()
    assert (state.events[-1].where, state.events[-1].what) == (sender, "broke: killed")
    assert "failed" in [node.state for node in state.nodes if node.load is None]
    write_lines(log, {"at": 10, "node": "launch", "event": "started again", "of": sender})
    write_lines(tmp_path / f"{sender}.events.jsonl", {"at": 11, "node": sender, "event": "running"})
    assert [node.state for node in car.look().nodes if node.node == sender] == ["running"]
    write_lines(log, {"at": 12, "node": "launch", "event": "ended"})
    assert not car.look().running, "one that was killed says nothing of its end"


def test_a_folder_without_a_car_is_refused(tmp_path: Path) -> None:
    (tmp_path / "deployment.json").write_text("{}")
    with pytest.raises(FileError, match="no launched car can be watched here; name the folder"):
        WatchedCar(tmp_path)
