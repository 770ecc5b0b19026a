"""Nodes that are killed and started again go on where they were, as real processes.

Nothing here measures speed: what must happen is waited for, and what is compared does not hang on
when it happened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.engine.nodes.study import study_arrivals, study_plan, write_recording
from tests.engine.nodes.test_processes import CALM, reports, rows_of, sums
from tests.waiting import PATIENCE_S, until

from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.nodes.executables import build_executables, write_build
from headway.engine.nodes.launcher import Launcher
from headway.model.quantities import MILLISECOND

PLAN = study_plan(timeout=225 * MILLISECOND, within=35 * MILLISECOND)
OUTPUTS = ("pairs", "counts")
TUPLES = 120


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("build")
    write_build(PLAN, build_executables(PLAN), folder)
    return folder


def meant_by(arrivals: list[Arrival]) -> dict[str, list[tuple[Any, ...]]]:
    result = Engine(plan=PLAN, charged=False).run(arrivals)
    return {output: sorted(result.outputs[output].rows) for output in OUTPUTS}


def given(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    return {output: sorted(rows_of(folder, output)) for output in OUTPUTS}


Reports = dict[str, dict[str, Any]]


def disturbed(
    build: Path,
    folder: Path,
    arrivals: list[Arrival],
    node: str,
    *,
    kills: int = 1,
    meanwhile: Callable[[Path], object] = lambda out: None,
    interval: str = "200 ms",
) -> Reports:
    """Kills the node after some of its outputs, or of those after it, and starts it again."""
    write_recording(folder / "recording", arrivals)
    out = folder / "out"
    options = (*CALM, "--checkpoint", interval)
    with Launcher(
        build=build, outputs=out, inputs=folder / "recording", options=options
    ) as launcher:
        launcher.start()
        for _ in range(kills):
            wanted = len(rows_of(out, "pairs")) + 20

            def enough(wanted: int = wanted) -> bool:
                return len(rows_of(out, "pairs")) > wanted or node not in launcher.running()

            until(enough)
            if node not in launcher.running():  # a second time; the machine is busy elsewhere
                break
            launcher.kill(node)
            meanwhile(out)
            launcher.restart(node)
        return reports(launcher.wait(PATIENCE_S))


def test_windows_and_joins_go_on_as_if_nothing_had_been(build: Path, tmp_path: Path) -> None:
    """The node without sources of its own is killed twice: what it had inside it has again,
    what came meanwhile its peers have kept."""
    arrivals = study_arrivals(2 * TUPLES)
    found = disturbed(build, tmp_path, arrivals, "centre", kills=2)
    assert given(tmp_path / "out") == meant_by(arrivals)
    resumed = found["centre"]["resumed"]
    assert resumed["believed"]
    assert not resumed["damage"]
    assert not resumed["went_another_way"]
    assert resumed["given_only_once"] == 0
    assert found["centre"]["missed_while_down"] == 0
    assert found["centre"]["received"] == found["front"]["sent"] + found["rear"]["sent"]
    for report in found.values():
        assert report["bad_frames"] == report["gaps"] == report["overflowed"] == 0
    # Which of them are gathered together hangs on when they come; that each is once does not.
    whole = Engine(plan=PLAN, charged=False).run(arrivals)
    assert sums(rows_of(tmp_path / "out", "both")) == sums(whole.outputs["both"].rows)


def test_what_a_sensor_saw_meanwhile_is_all_that_is_missing(build: Path, tmp_path: Path) -> None:
    """And it is counted, by source, from the moment of the kill."""
    arrivals = study_arrivals(TUPLES)
    found = disturbed(build, tmp_path, arrivals, "rear")
    report = found["rear"]
    missed = report["missed_while_down"]
    assert report["missed_at"] == ({"own": missed} if missed else {})
    own = [arrival for arrival in arrivals if arrival.source == "own"]
    assert report["arrived"] + missed == len(own)
    got = given(tmp_path / "out")
    places = {arrival.row: place for place, arrival in enumerate(own)}
    matching = [
        first
        for first in range(len(own) - missed + 1)
        if got
        == meant_by([a for a in arrivals if not first <= places.get(a.row, -1) < first + missed])
    ]
    assert matching, "one gap, as long as it is said to be"


def test_a_damaged_checkpoint_is_named_and_not_believed(build: Path, tmp_path: Path) -> None:
    def spoil(out: Path) -> None:
        path = out / "centre.state"
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)

    found = disturbed(build, tmp_path, study_arrivals(TUPLES), "centre", meanwhile=spoil)
    resumed = found["centre"]["resumed"]
    assert not resumed["believed"]
    (damage,) = resumed["damage"]
    assert damage.endswith("centre.state: the checksum does not fit")
    twice = [row for row, n in Counter(rows_of(tmp_path / "out", "pairs")).items() if n > 1]
    assert not twice


def test_without_checkpoints_a_node_begins_with_nothing(build: Path, tmp_path: Path) -> None:
    found = disturbed(build, tmp_path, study_arrivals(TUPLES), "centre", interval="0 s")
    assert found["centre"]["resumed"] == {
        "believed": False,
        "damage": [],
        "checkpoint": -1,
        "down": 0,
        "taken_again": 0,
        "not_given_again": 0,
        "given_only_once": 0,
        "went_another_way": False,
    }
    assert not list((tmp_path / "out").glob("*.state"))


def test_a_run_that_has_ended_leaves_nothing_to_be_taken_up(build: Path, tmp_path: Path) -> None:
    write_recording(tmp_path / "recording", study_arrivals(20))
    with Launcher(
        build=build, outputs=tmp_path, inputs=tmp_path / "recording", options=CALM
    ) as launcher:
        launcher.start()
        found = reports(launcher.wait(PATIENCE_S))
    assert found["centre"]["checkpoints"] > 0
    left = {path.suffix for path in tmp_path.iterdir()}
    assert not left & {".state", ".sent", ".0", ".1", ".new"}
