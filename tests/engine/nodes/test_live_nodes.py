"""All nodes of a car together: shown while they run, stopped together, and who broke is told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.cli.invoke import headway
from tests.engine.nodes.study import study_arrivals, study_plan, write_recording
from tests.waiting import PATIENCE_S

from headway.engine.live_state import LiveState
from headway.engine.nodes import live_nodes
from headway.engine.nodes.executables import build_executables, write_build
from headway.engine.nodes.launcher import EndedNode, Launcher
from headway.engine.nodes.live_nodes import NodePhase, NodeView, supervise, why_ended
from headway.engine.nodes.watched_car import WatchedCar

PLAN = study_plan()
CALM = ("--heartbeat", "100 ms", "--missed", "6000")
LONG = 30_000
"""tuples of a source, one each 10 ms: far from the end when the test does what it does"""


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is not to be taken for nodes that do not finish."""
    monkeypatch.setattr("headway.engine.nodes.live_nodes.PATIENCE", PATIENCE_S)


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("build")
    write_build(PLAN, build_executables(PLAN), folder)
    return folder


@pytest.fixture(scope="module")
def long_recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long")
    write_recording(folder, study_arrivals(LONG))
    return folder


def all_linked(views: Sequence[NodeView]) -> bool:
    return all(view.state is NodePhase.RUNNING and view.links for view in views)


def test_nodes_are_shown_until_they_finish(build: Path, tmp_path: Path) -> None:
    write_recording(tmp_path / "recording", study_arrivals(30))
    seen: list[Sequence[NodeView]] = []
    with Launcher(
        build=build, outputs=tmp_path / "out", inputs=tmp_path / "recording", options=CALM
    ) as launcher:
        launcher.start()
        car = supervise(launcher, seen.append)
    assert not car.stopped
    assert not car.broke
    assert {view.state for view in car.views} <= {NodePhase.FINISHED, NodePhase.MISSED}
    (centre,) = [view for view in car.views if view.node == "centre"]
    written = sum(
        len((tmp_path / "out" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines())
        for name in ("pairs", "both", "counts")
    )
    assert centre.tuples == written > 0
    assert {peer for peer, _ in centre.links} == {"front", "rear"}
    assert seen[-1] == list(car.views)


def test_a_node_that_dies_ends_the_others_and_is_named(
    build: Path, long_recording: Path, tmp_path: Path
) -> None:
    with Launcher(build=build, outputs=tmp_path, inputs=long_recording, options=CALM) as launcher:
        launcher.start()

        def kill_one(views: Sequence[NodeView]) -> None:
            if all_linked(views) and "rear" in launcher.running():
                launcher.kill("rear")

        car = supervise(launcher, kill_one)
    assert car.broke == "rear"
    assert car.why == "it was killed by SIGKILL"
    assert car.nodes["rear"].report is None
    assert {car.nodes[node].code for node in ("front", "centre")} <= {0, 3}


def test_a_node_that_dies_is_started_again_where_asked_for(
    build: Path, long_recording: Path, tmp_path: Path
) -> None:
    killed: list[str] = []
    back: list[LiveState] = []
    with Launcher(build=build, outputs=tmp_path, inputs=long_recording, options=CALM) as launcher:
        launcher.start()
        watched = WatchedCar(tmp_path)

        def kill_one(views: Sequence[NodeView]) -> None:
            if not killed and all_linked(views):
                launcher.kill("rear")
                killed.append("rear")
            elif not back and "rear" in launcher.running() and all_linked(views):
                state = watched.look()
                if all(node.state == "running" and node.load is not None for node in state.nodes):
                    back.append(state)
                    raise KeyboardInterrupt

        car = supervise(launcher, kill_one, restart_after=0.0)
    assert not car.broke
    assert car.restarts == {"rear": 1}
    assert car.nodes["rear"].report is not None
    said = [event.what for event in back[0].events if event.where == "rear"]
    assert said.index("broke: it was killed by SIGKILL") < said.index("started again")
    assert {one.operator for one in back[0].operators} >= {"paired", "gathered", "counted"}


def test_a_node_that_dies_again_at_once_is_broken(
    build: Path, long_recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_nodes, "STEADY", 1e9)
    with Launcher(build=build, outputs=tmp_path, inputs=long_recording, options=CALM) as launcher:
        launcher.start()
        restart = launcher.restart

        def dies(node: str) -> None:
            restart(node)
            launcher.kill(node)

        launcher.restart = dies  # type: ignore[method-assign]

        def kill_one(views: Sequence[NodeView]) -> None:
            if all_linked(views) and "rear" in launcher.running():
                launcher.kill("rear")

        car = supervise(launcher, kill_one, restart_after=0.0)
    assert car.broke == "rear"
    assert car.restarts == {"rear": 1}


def test_an_interrupt_stops_all_and_they_finish(
    build: Path, long_recording: Path, tmp_path: Path
) -> None:
    with Launcher(build=build, outputs=tmp_path, inputs=long_recording, options=CALM) as launcher:
        launcher.start()
        interrupts = iter([KeyboardInterrupt])

        def interrupt(views: Sequence[NodeView]) -> None:
            if all_linked(views):
                for one in interrupts:
                    raise one

        car = supervise(launcher, interrupt)
    assert car.stopped
    assert not car.broke
    assert all(ended.report is not None for ended in car.nodes.values())


def test_the_command_says_what_came_of_it(build: Path, tmp_path: Path) -> None:
    write_recording(tmp_path / "recording", study_arrivals(10))
    ran = headway(
        "launch", str(build), "--input", str(tmp_path / "recording"),
        "--output", str(tmp_path / "out"), "--json",
        "--node-option=--heartbeat=100 ms", "--node-option=--missed=6000",
    )  # fmt: skip
    assert ran.code in (0, 1)  # a busy machine may miss a deadline
    told = json.loads(ran.out)
    assert set(told["nodes"]) == {"front", "rear", "centre"}
    assert told["broke"] is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "cannot read the build"),
        (["--stop-after", "soon"], "not a duration"),
    ],
)
def test_bad_input_is_told(build: Path, tmp_path: Path, arguments: list[str], said: str) -> None:
    place = [str(tmp_path / arguments[0])] if len(arguments) == 1 else [str(build), *arguments]
    ran = headway("launch", *place, "--output", str(tmp_path / "out"))
    assert ran.code == 2
    assert said in ran.err


def test_a_node_that_does_not_understand_an_option_breaks_the_launch(
    build: Path, tmp_path: Path
) -> None:
    ran = headway(
        "launch", str(build), "--output", str(tmp_path / "out"), "--node-option=--missed=many"
    )
    assert ran.code == 2
    assert "did not start" in ran.err


def test_signals_have_names() -> None:
    assert why_ended(EndedNode("a", -9, None, "")) == "it was killed by SIGKILL"
    assert why_ended(EndedNode("a", 1, None, "x\nthe disk is full\n")) == (
        "exit code 1: the disk is full"
    )
