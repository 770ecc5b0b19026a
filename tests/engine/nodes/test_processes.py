"""Nodes as real processes: the same outputs as one process, deaths, returns, drivers.

Nothing here measures speed: what must happen is waited for, and what is compared does not hang on
when it happened.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.engine.nodes.driver import Driver, Subscriber
from tests.engine.nodes.study import study_arrivals, study_plan, write_recording
from tests.waiting import PATIENCE_S, until

from headway.engine.engine import Engine
from headway.engine.nodes.executables import build_executables, slices_of, write_build
from headway.engine.nodes.launcher import EndedNode, Launcher
from headway.engine.nodes.liveness import PeerTiming
from headway.engine.nodes.node_key import KEY_FILE, read_key
from headway.model.quantities import MILLISECOND, SECOND

PLAN = study_plan(timeout=225 * MILLISECOND, within=35 * MILLISECOND)
CALM = ("--heartbeat", "100 ms", "--missed", "6000")
"""A busy machine is not to be taken for a dead one where that is not the point."""
CALM_TIMING = PeerTiming(heartbeat=100 * MILLISECOND, missed=6000, linger=600 * SECOND)
LONG = 30_000
"""tuples of a source, one each 10 ms: far from the end when the test does what it does"""


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("build")
    write_build(PLAN, build_executables(PLAN), folder)
    return folder


def rows_of(folder: Path, output: str) -> list[tuple[Any, ...]]:
    path = folder / f"{output}.jsonl"
    lines = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []
    return [tuple(json.loads(line)["row"].values()) for line in lines]


def told(launcher: Launcher, peer: str) -> list[dict[str, Any]]:
    """What the centre has noted of a peer."""
    return [entry for entry in launcher.events("centre") if entry.get("peer") == peer]


def reports(ended: dict[str, EndedNode]) -> dict[str, dict[str, Any]]:
    found = {}
    for node, one in ended.items():
        assert one.code == 0, one.errors
        assert one.report is not None
        found[node] = one.report
    return found


def sums(rows: Iterable[tuple[Any, ...]]) -> tuple[int, int]:
    """Tuples of the left and of the right that were gathered."""
    listed = list(rows)
    return sum(row[1] for row in listed), sum(row[2] for row in listed)


def test_the_same_outputs_as_one_process(build: Path, tmp_path: Path) -> None:
    """Every kind of operator over three nodes. Which tuples an operator that waits for others finds
    together hangs on when they come; that it takes each of them once does not."""
    arrivals = study_arrivals(32, every=30_000, apart=15_000)
    meant = Engine(plan=PLAN, charged=False).run(arrivals)
    write_recording(tmp_path / "recording", arrivals)
    out = tmp_path / "out"
    with Launcher(
        build=build, outputs=out, inputs=tmp_path / "recording", options=CALM
    ) as launcher:
        launcher.start()
        found = reports(launcher.wait(PATIENCE_S))
    for name in ("pairs", "counts"):
        assert len(meant.outputs[name]), name
        assert sorted(rows_of(out, name)) == sorted(meant.outputs[name].rows), name
    assert sums(rows_of(out, "both")) == sums(meant.outputs["both"].rows)
    assert min(sums(meant.outputs["both"].rows)) > 0
    assert found["front"]["arrived"] == 32
    assert found["centre"]["received"] == found["front"]["sent"] + found["rear"]["sent"]
    for report in found.values():
        assert report["peers_lost"] == []
        assert report["bad_frames"] == report["gaps"] == report["overflowed"] == 0


def test_a_killed_node_is_noticed_named_and_rejoins(build: Path, tmp_path: Path) -> None:
    """With the usual heartbeats; a busy machine may take others for dead meanwhile, too."""
    write_recording(tmp_path / "recording", study_arrivals(LONG))
    out = tmp_path / "out"
    with Launcher(build=build, outputs=out, inputs=tmp_path / "recording") as launcher:
        launcher.start()
        until(lambda: len(rows_of(out, "pairs")) > 10)
        launcher.kill("front")
        until(lambda: told(launcher, "front")[-1]["event"] == "peer lost")
        lost = told(launcher, "front")[-1]
        assert lost["silent_ns"] > 150 * MILLISECOND
        assert "not heard of for" in lost["reason"]
        assert "(limit 150 ms)" in lost["reason"]
        # Meanwhile what waits for both goes on with what is there.
        until(lambda: all(row[1] == 0 < row[2] for row in rows_of(out, "both")[-3:]))
        before = max(row[0] for row in rows_of(out, "pairs"))
        noted = len(told(launcher, "front"))
        launcher.restart("front")
        until(lambda: "peer back" in [e["event"] for e in told(launcher, "front")[noted:]])
        until(lambda: max(row[0] for row in rows_of(out, "pairs")) > before + 500_000)
        launcher.stop()
        found = reports(launcher.wait(PATIENCE_S))
    assert "front" in [entry["peer"] for entry in found["centre"]["peers_lost"]]
    assert found["front"]["missed_while_down"] > 0
    assert len(rows_of(out, "pairs")) == len(set(rows_of(out, "pairs"))), "nothing twice"


def test_a_node_that_stays_away_is_given_up_and_the_run_ends(build: Path, tmp_path: Path) -> None:
    """The node that is killed has far more to send than the others."""
    arrivals = [a for a in study_arrivals(LONG) if a.source == "own"]
    arrivals += [a for a in study_arrivals(100) if a.source == "radar"]
    write_recording(tmp_path / "recording", arrivals)
    options = ("--give-up", "300 ms")
    with Launcher(
        build=build, outputs=tmp_path / "out", inputs=tmp_path / "recording", options=options
    ) as launcher:
        launcher.start()
        until(lambda: "peer found" in [entry["event"] for entry in told(launcher, "rear")])
        launcher.kill("rear")
        ended = launcher.wait(PATIENCE_S)
    assert ended["rear"].report is None
    assert ended["rear"].code == -9
    report = ended["centre"].report
    assert report is not None
    assert ("peer given up", "rear") in [(e["event"], e["peer"]) for e in report["peers_lost"]]


def test_a_driver_feeds_and_a_subscriber_takes(build: Path, tmp_path: Path) -> None:
    parts, key = slices_of(PLAN), read_key(build / KEY_FILE)
    with Subscriber(PLAN, parts, key, CALM_TIMING) as subscriber:
        options = (*CALM, "--subscriber", subscriber.address, "--format", "parquet")
        with Launcher(build=build, outputs=tmp_path, options=options) as launcher:
            launcher.start()
            addresses = {node: launcher.address(node) for node in launcher.nodes}
            driver = Driver(parts, addresses, key, CALM_TIMING)
            for arrival in study_arrivals(50):
                driver.feed(arrival.source, arrival.row)
            driver.feed("own", (0, "not a number", "D"))  # cannot even be sent
            driver.close()
            delivered = list(subscriber)
            found = reports(launcher.wait(PATIENCE_S))
    assert found["front"]["arrived"] == found["rear"]["arrived"] == 50
    pairs = sorted(one.row for one in delivered if one.output == "pairs")
    meant = Engine(plan=PLAN, charged=False).run(study_arrivals(50))
    assert pairs == sorted(meant.outputs["pairs"].rows)
    counts = [one for one in delivered if one.output == "counts"]
    assert sorted(one.row for one in counts) == sorted(meant.outputs["counts"].rows)
    written = pq.read_table(tmp_path / "pairs.parquet").to_pylist()
    assert len(written) == len(pairs)
    assert {"completed_ns", "deadline_ns", "missed"} <= written[0].keys()
