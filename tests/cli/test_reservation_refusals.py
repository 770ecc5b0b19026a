"""Where policies that reserve processor time do not run they are refused by name."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from tests.cli.invoke import EXAMPLES, STUDY, headway
from tests.engine.reserving.small import CROSSING, plan_of

from headway.engine.clock import ManualClock
from headway.engine.jobs import Arrival
from headway.engine.wall_engine import WallEngine
from headway.schedule.online import OVERLOAD_POLICIES

RESERVING = [
    name for name, policy in OVERLOAD_POLICIES.items() if policy.guarded and policy.in_engine
]
HELLO = EXAMPLES / "hello"
RUN = ("--engine", "vehicle", "--input", HELLO / "recording")


def refused(outcome: object, what: str) -> None:
    assert outcome.code == 2  # type: ignore[attr-defined]
    assert what in outcome.err  # type: ignore[attr-defined]
    assert outcome.out == ""  # type: ignore[attr-defined]


@pytest.mark.parametrize("policy", ["rop-edf-1-paper", "rop-edf-2-paper"])
def test_what_is_for_task_sets_only(policy: str, tmp_path: Path) -> None:
    out = ("--output", tmp_path / "out", "--clock", "wall", "--policy", policy)
    refused(
        headway("run", HELLO / "query.yaml", *RUN, "--vehicle", HELLO / "vehicle.yaml", *out),
        f"the engine does not run '{policy}'",
    )
    built = headway(
        "build", HELLO / "query.yaml", "--vehicle", HELLO / "vehicle.yaml",
        "--out", tmp_path / "out", "--policy", policy,
    )  # fmt: skip
    refused(built, f"the engine does not run '{policy}'")
    assert not (tmp_path / "out").exists()


def test_several_nodes_in_one_process_and_wall_clock_time(tmp_path: Path) -> None:
    outcome = headway(
        "run", STUDY / "query.yaml", "--engine", "vehicle", "--input", STUDY / "recording",
        "--vehicle", STUDY / "vehicle_modern.yaml", "--output", tmp_path / "out",
        "--policy", "rop-edf", "--clock", "wall",
    )  # fmt: skip
    refused(outcome, "'rop-edf-1' reserves a processor for each node, and all run in one process")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("policy", ["rop-edf-2", "cbs"])
def test_executables_for_nodes_carry_reservations_and_no_compiler(
    policy: str, tmp_path: Path
) -> None:
    outcome = headway(
        "build", STUDY / "query.yaml", "--vehicle", STUDY / "vehicle_modern.yaml",
        "--out", tmp_path / "out", "--policy", policy,
    )  # fmt: skip
    assert (outcome.code, outcome.err) == (0, "")
    for executable in (tmp_path / "out").glob("*.pyz"):
        with zipfile.ZipFile(executable) as archive:
            names = archive.namelist()
        assert "headway/engine/reservations.py" in names
        assert not [name for name in names if name.startswith("headway/compiler")]


def test_plain_orders_run_in_wall_clock_time_too() -> None:
    for policy in ("op-edf", "rate-monotonic"):
        result = WallEngine(plan=plan_of(CROSSING), policy=policy, clock=ManualClock()).run(
            [Arrival(0, "radar", (0, 1.0)), Arrival(0, "v2v", (0, 2.0))]
        )
        assert [one.tuples for one in result.summary().outputs] == [1, 1]


@pytest.mark.parametrize("policy", ["rop-edf-1", "rop-edf-2", "er-edf", "cbs"])
@pytest.mark.parametrize("cores", ["global", "partitioned"])
def test_on_several_cores(policy: str, cores: str, tmp_path: Path) -> None:
    vehicle = tmp_path / "vehicle.yaml"
    vehicle.write_text("vehicle: two\nnodes:\n  ecu: {cores: 2}\nsensors: {speed: ecu}\n")
    outcome = headway(
        "run", HELLO / "query.yaml", *RUN, "--vehicle", vehicle, "--output", tmp_path / "out",
        "--policy", policy, "--cores", cores,
    )  # fmt: skip
    refused(outcome, "reservations are for one processor; got 2 cores")
    assert not (tmp_path / "out").exists()


def test_without_a_vehicle(tmp_path: Path) -> None:
    outcome = headway(
        "run", HELLO / "query.yaml", *RUN, "--output", tmp_path / "out", "--policy", "rop-edf"
    )
    refused(outcome, "reservations need costs, rates and a vehicle")


def test_hard_paths_beyond_a_node_are_named_before_anything_runs(tmp_path: Path) -> None:
    query = tmp_path / "query.yaml"
    query.write_text(
        "query: heavy\nschemas:\n  A: {v: double}\nsources:\n"
        "  speed: {schema: A, rate: 1 per 10 ms}\noperators:\n"
        "  slow: {map: {v: v}, from: speed, cost: 6 ms}\n"
        "outputs:\n  o: {from: slow, deadline: 5 ms, criticality: hard}\n"
    )
    vehicle = tmp_path / "vehicle.yaml"
    vehicle.write_text("vehicle: one\nnodes:\n  ecu: {}\nsensors: {speed: ecu}\n")
    outcome = headway(
        "run", query, *RUN, "--vehicle", vehicle, "--output", tmp_path / "o", "--policy", "rop-edf"
    )
    refused(outcome, "on 'ecu' the hard tasks need 120 % of a processor that has 100 %")
    assert outcome.problems[0]["line"] == "9"


@pytest.mark.parametrize("policy", ["op-edf", "rate-monotonic", "er-edf", "cbs", "rop-edf-2"])
def test_in_virtual_time_they_run(policy: str, tmp_path: Path) -> None:
    outcome = headway(
        "run", STUDY / "query.yaml", "--engine", "vehicle", "--input", STUDY / "recording",
        "--vehicle", STUDY / "vehicle_modern.yaml", "--output", tmp_path / "out",
        "--policy", policy,
    )  # fmt: skip
    assert (outcome.code, outcome.err) == (0, "")
    assert f"collision_warning on three_nodes_modern, {policy}" in outcome.out


def test_end_to_end_admission_is_that_of_rop_edf_1() -> None:
    query = (STUDY / "query.yaml", "--vehicle", STUDY / "vehicle_modern.yaml", "--end-to-end")
    for policy in ("cbs", "rop-edf-2", "rop-edf-1-paper"):
        outcome = headway("loadtest", *query, "--policy", policy, "--trials", "1")
        refused(outcome, f"'{policy}' does not admit end to end; one of rop-edf-1, op-edf")
    outcome = headway("loadtest", EXAMPLES / "overload" / "crossing.yaml", "--end-to-end")
    refused(outcome, "a task set has no paths over nodes")
