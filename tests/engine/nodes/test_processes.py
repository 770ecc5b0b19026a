"""Nodes as real processes: the same outputs as one process, deaths, returns, drivers.

Nothing here measures speed. What must happen is waited for; limits come from the nodes' own
records.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.engine.nodes.driver import Driver, Subscriber
from tests.engine.nodes.study import study_arrivals, study_plan, write_recording

from headway.engine.engine import Engine
from headway.engine.nodes.executables import build_executables, slices_of, write_build
from headway.engine.nodes.launcher import EndedNode, Launcher
from headway.model.quantities import MILLISECOND, SECOND

PLAN = study_plan(timeout=225 * MILLISECOND, within=35 * MILLISECOND)
CALM = ("--heartbeat", "100 ms", "--missed", "50")
"""A loaded machine is not to be taken for a dead one where that is not the point."""
PATIENCE = 60.0


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("build")
    write_build(PLAN, build_executables(PLAN), folder)
    return folder


def rows_of(folder: Path, output: str) -> list[tuple[Any, ...]]:
    path = folder / f"{output}.jsonl"
    lines = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []
    return [tuple(json.loads(line)["row"].values()) for line in lines]


def until(condition: Callable[[], object]) -> None:
    limit = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.02)


def named(launcher: Launcher, node: str, event: str) -> list[dict[str, Any]]:
    return [entry for entry in launcher.events(node) if entry["event"] == event]


def reports(ended: dict[str, EndedNode]) -> dict[str, dict[str, Any]]:
    found = {}
    for node, one in ended.items():
        assert one.code == 0, one.errors
        assert one.report is not None
        found[node] = one.report
    return found


def test_the_same_outputs_as_one_process(build: Path, tmp_path: Path) -> None:
    """Every kind of operator over three nodes; tuples come at least 60 ms apart, so that what
    waits for others sees them in one order unless a process stands still that long."""
    arrivals = study_arrivals(16, every=60_000, apart=30_000)
    meant = Engine(plan=PLAN, charged=False).run(arrivals)
    write_recording(tmp_path / "recording", arrivals)
    for attempt in range(3):
        out = tmp_path / f"out{attempt}"
        with Launcher(
            build=build, outputs=out, inputs=tmp_path / "recording", speed=0.5, options=CALM
        ) as launcher:
            launcher.start()
            found = reports(launcher.wait(PATIENCE))
        same = all(
            sorted(rows_of(out, name)) == sorted(record.rows)
            for name, record in meant.outputs.items()
        )
        calm = all(report["worst_lag_ns"] < 10 * MILLISECOND for report in found.values())
        if same or calm:
            break
    for name, record in meant.outputs.items():
        assert len(record), name
        assert sorted(rows_of(out, name)) == sorted(record.rows), name
    assert found["front"]["arrived"] == 16
    assert found["centre"]["received"] == found["front"]["sent"] + found["rear"]["sent"]
    for report in found.values():
        assert report["peers_lost"] == []
        assert report["bad_frames"] == report["gaps"] == report["overflowed"] == 0


def test_a_killed_node_is_noticed_named_and_rejoins(build: Path, tmp_path: Path) -> None:
    write_recording(tmp_path / "recording", study_arrivals(6000))
    out = tmp_path / "out"
    with Launcher(build=build, outputs=out, inputs=tmp_path / "recording") as launcher:
        launcher.start()
        until(lambda: len(rows_of(out, "pairs")) > 10)
        killed_at = launcher.kill("front")
        until(lambda: named(launcher, "centre", "peer lost"))
        lost = next(e for e in named(launcher, "centre", "peer lost") if e["peer"] == "front")
        # 3 heartbeats of 50 ms; the rest is for a machine with other things to do.
        assert 0 < lost["at"] - killed_at < 150 * MILLISECOND + 2 * SECOND
        assert "front" in lost["peer"]
        # Meanwhile what waits for both goes on with what is there, within its deadline.
        alone = len(rows_of(out, "both"))
        until(lambda: len(rows_of(out, "both")) > alone + 3)
        assert rows_of(out, "both")[-1][1] == 0
        assert rows_of(out, "both")[-1][2] > 0
        before = max(row[0] for row in rows_of(out, "pairs"))
        launcher.restart("front")
        until(lambda: any(e["peer"] == "front" for e in named(launcher, "centre", "peer back")))
        until(lambda: max(row[0] for row in rows_of(out, "pairs")) > before + 500_000)
        launcher.stop()
        found = reports(launcher.wait(PATIENCE))
    assert "front" in [entry["peer"] for entry in found["centre"]["peers_lost"]]
    assert found["front"]["missed_while_down"] > 0
    assert found["centre"]["outputs"]["both"]["missed"] <= 2
    times = [row[0] for row in rows_of(out, "pairs")]
    assert len(times) == len(set(rows_of(out, "pairs"))), "nothing twice"


def test_a_node_that_stays_away_is_given_up_and_the_run_ends(build: Path, tmp_path: Path) -> None:
    write_recording(tmp_path / "recording", study_arrivals(100))
    options = ("--give-up", "300 ms")
    with Launcher(
        build=build, outputs=tmp_path / "out", inputs=tmp_path / "recording", options=options
    ) as launcher:
        launcher.start()
        until(lambda: any(e["peer"] == "rear" for e in named(launcher, "centre", "peer found")))
        launcher.kill("rear")
        ended = launcher.wait(PATIENCE)
    assert ended["rear"].report is None
    assert ended["rear"].code == -9
    report = ended["centre"].report
    assert report is not None
    assert ("peer given up", "rear") in [(e["event"], e["peer"]) for e in report["peers_lost"]]


def test_a_driver_feeds_and_a_subscriber_takes(build: Path, tmp_path: Path) -> None:
    parts = slices_of(PLAN)
    with Subscriber(PLAN, parts) as subscriber:
        options = (*CALM, "--subscriber", subscriber.address, "--format", "parquet")
        with Launcher(build=build, outputs=tmp_path, options=options) as launcher:
            launcher.start()
            driver = Driver(parts, {node: launcher.address(node) for node in launcher.nodes})
            for arrival in study_arrivals(50):
                driver.feed(arrival.source, arrival.row)
            driver.feed("own", (0, "not a number", "D"))  # cannot even be sent
            driver.close()
            delivered = list(subscriber)
            found = reports(launcher.wait(PATIENCE))
    assert found["front"]["arrived"] == found["rear"]["arrived"] == 50
    pairs = sorted(one.row for one in delivered if one.output == "pairs")
    meant = Engine(plan=PLAN, charged=False).run(study_arrivals(50))
    assert pairs == sorted(meant.outputs["pairs"].rows)
    counts = [one for one in delivered if one.output == "counts"]
    assert sorted(one.row for one in counts) == sorted(meant.outputs["counts"].rows)
    written = pq.read_table(tmp_path / "pairs.parquet").to_pylist()
    assert len(written) == len(pairs)
    assert {"completed_ns", "deadline_ns", "missed"} <= written[0].keys()
