"""Load tests of paths over several nodes: admission on all nodes or on none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.cli.invoke import STUDY, headway
from tests.schedule.overload.support import MS

from headway.errors import TaskSetError
from headway.model.taskset import FULL, TaskKind
from headway.schedule.overload.admission_over_nodes import NodePath, Stage
from headway.schedule.overload.load_trials import (
    draw_path_jobs,
    run_path_trial,
    trial_generator,
)
from headway.schedule.overload.plan_paths import at_load

END_TO_END, EVERYBODY = "rop-edf-1", "op-edf"

TWO_NODES = """query: two
schemas:
  A: {v: double}
sources:
  radar: {schema: A, rate: 1 per 100 ms}
  v2v: {schema: A, rate: 100 per 1 s, shed: {at_most: 2 per 100 ms, value: v}}
operators:
  near: {map: {v: v}, from: radar, cost: 10 ms}
  brake: {map: {v: v}, from: near, cost: 10 ms}
  heard: {map: {v: v}, from: v2v, cost: 5 ms}
  shown: {map: {v: v}, from: heard, cost: 5 ms}
outputs:
  stop: {from: brake, deadline: 90 ms, criticality: hard}
  show: {from: shown, deadline: 90 ms, criticality: soft}
"""
VEHICLE = """vehicle: two
nodes:
  front: {}
  rear: {}
buses:
  can: {kind: can, bit_rate: 1 Mbit/s, nodes: [front, rear]}
sensors: {radar: front, v2v: front}
pins: {near: front, heard: front, brake: rear, shown: rear}
"""


def loadtest(tmp_path: Path, *more: str | Path) -> dict[str, Any]:
    query, vehicle = tmp_path / "query.yaml", tmp_path / "vehicle.yaml"
    query.write_text(TWO_NODES)
    vehicle.write_text(VEHICLE)
    outcome = headway(
        "loadtest", query, "--vehicle", vehicle, "--end-to-end", "--json",
        "--load", "100,400", "--trials", "2", "--duration", "3000", *more,
    )  # fmt: skip
    assert (outcome.code, outcome.err) == (0, "")
    found: dict[str, Any] = json.loads(outcome.out)
    return found


def test_paths_are_admitted_over_their_nodes(tmp_path: Path) -> None:
    found = loadtest(tmp_path, "--out", tmp_path / "out")
    assert found["policies"] == [END_TO_END, EVERYBODY]
    cells = {(c["task"], c["load"], c["policy"]): c for c in found["misses"]}
    assert cells["radar→stop", 400, END_TO_END]["most"] == 0
    assert cells["radar→stop", 400, EVERYBODY]["mean"] > 0.5
    soft = [c for c in found["misses"] if not c["hard"] and c["load"] == 400]
    admitted = [c for c in soft if c["policy"] == END_TO_END]
    assert any(c["rejected"] > 0 for c in admitted)
    assert all(c["mean"] == c["rejected"] for c in admitted)  # nothing that was admitted is late
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == [
        "misses.html", "misses.svg", "rows.parquet", "summary.json",
        "timeline-front.perfetto.json", "timeline-front.svg",
        "timeline-rear.perfetto.json", "timeline-rear.svg",
    ]  # fmt: skip
    rows = pq.read_table(tmp_path / "out" / "rows.parquet").to_pylist()
    assert {"v2v→show beyond 1", "v2v→show", "radar→stop"} <= {row["task"] for row in rows}


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        loadtest(tmp_path, "--out", tmp_path / folder, "--seed", "3")
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_the_collision_warning_end_to_end() -> None:
    outcome = headway(
        "loadtest", STUDY / "query.yaml", "--vehicle", STUDY / "vehicle_modern.yaml",
        "--end-to-end", "--load", "200", "--trials", "2", "--duration", "2000",
    )  # fmt: skip
    assert (outcome.code, outcome.err) == (0, "")
    assert "✓ rop-edf-1: no hard task missed a deadline at any load" in outcome.out
    assert "✗ op-edf: hard tasks miss at 200 % and above" in outcome.out


def path(name: str, kind: TaskKind, *stages: tuple[str, int]) -> NodePath:
    made = tuple(Stage(node=n, window=20 * MS, peak=use, latency=2 * MS) for n, use in stages)
    return NodePath(name=name, kind=kind, gap=50 * MS, stages=made)


def test_the_load_is_that_of_the_busiest_node() -> None:
    paths = [
        path("h", TaskKind.HARD, ("n1", FULL // 4)),
        path("s", TaskKind.SOFT, ("n1", 250_000), ("n2", 500_000)),
    ]
    scaled = at_load(paths, 2 * FULL)
    assert scaled[0] == paths[0]
    assert [stage.peak for stage in scaled[1].stages] == [FULL, 2 * FULL]
    with pytest.raises(TaskSetError, match=r"the load cannot be 20 %; got n1 25 %"):
        at_load(paths, FULL // 5)


def test_a_job_that_finds_no_room_on_its_last_node_takes_none_on_the_first() -> None:
    """Both soft paths fit on n1, one of them on n2; the one that fails leaves n1 to the third."""
    soft = [
        path("a", TaskKind.SOFT, ("n1", 400_000), ("n2", 700_000)),
        path("b", TaskKind.SOFT, ("n1", 400_000), ("n2", 700_000)),
        path("c", TaskKind.SOFT, ("n1", 500_000)),
    ]
    found = run_path_trial(soft, [(0, 0), (0, 1), (0, 2)], END_TO_END, 200 * MS)
    assert (found.rejected, found.late) == ([0, 1, 0], [0, 0, 0])
    jobs = draw_path_jobs(soft, 400 * MS, trial_generator(0, 0, 0))
    assert sum(run_path_trial(soft, jobs, EVERYBODY, 400 * MS).rejected) == 0
