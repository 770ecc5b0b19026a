"""Executables: what is in them, that they are the same each time, what they say."""

from __future__ import annotations

import io
import json
import socket
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from tests.engine.nodes.study import study_plan
from tests.example_plans import example_plan
from typer.testing import CliRunner

from headway.cli import app
from headway.engine.nodes.executables import Executable, build_executables, write_build
from headway.engine.nodes.node_command import HARD_MISSED
from headway.engine.nodes.node_slice import slice_from_json, slice_to_json
from headway.errors import FileError, QueryError
from headway.model.codec import plan_to_json
from headway.model.operators import UserDefined
from headway.model.plan import Plan

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
NEVER_CARRIED = ("cli", "report", "spark", "compiler", "files", "fluent", "experiments", "world")
NEVER_NEEDED = {"sqlglot", "pydantic", "pydantic_core"}
"""to parse and to read what people write, which is done when a plan is made"""
BLOCKED = f"""
import runpy, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(NEVER_NEEDED)}:
            raise ImportError(name + " is blocked")

sys.meta_path.insert(0, Blocked())
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(scope="module")
def plan() -> Plan:
    return study_plan()


@pytest.fixture(scope="module")
def built(plan: Plan) -> dict[str, Executable]:
    return {one.part.node: one for one in build_executables(plan)}


def contents(executable: Executable) -> set[str]:
    with zipfile.ZipFile(io.BytesIO(executable.content)) as archive:
        return set(archive.namelist())


def test_each_holds_only_what_its_operators_need(built: dict[str, Executable]) -> None:
    assert list(built) == ["front", "rear", "centre"]
    for executable in built.values():
        parts = {name.split(".")[1] for name in executable.modules if name.startswith("headway.")}
        assert parts.isdisjoint({*NEVER_CARRIED, "fusion"})
        assert "headway.engine.virtual_time" not in executable.modules
        assert "headway.engine.fast_path" not in executable.modules
        assert "headway.schedule.online.s_edf" in executable.modules
        assert "headway.schedule.online.fifo" not in executable.modules
    operators = "headway/engine/operators/"
    assert f"{operators}join.py" in contents(built["centre"])
    assert f"{operators}aggregate.py" in contents(built["centre"])
    assert f"{operators}join.py" not in contents(built["front"])
    assert f"{operators}aggregate.py" not in contents(built["rear"])


def test_modules_of_the_user_are_carried_along(built: dict[str, Executable]) -> None:
    assert "tests/engine/nodes/gathering.py" in contents(built["centre"])
    assert "tests/engine/nodes/gathering.py" not in contents(built["front"])


def test_what_must_be_installed_is_named(built: dict[str, Executable]) -> None:
    assert built["front"].requires == ()
    assert built["front"].optional == {"pyarrow": "--input"}
    assert built["centre"].optional == {"pyarrow": "--format parquet"}


def test_the_same_plan_gives_the_same_bytes(plan: Plan, built: dict[str, Executable]) -> None:
    again = {one.part.node: one.content for one in build_executables(plan)}
    assert again == {node: one.content for node, one in built.items()}


def test_a_slice_is_the_nodes_part_of_the_plan(built: dict[str, Executable]) -> None:
    part = built["centre"].part
    assert [operator.name for operator in part.plan.query.operators] == [
        "paired",
        "gathered",
        "counted",
    ]
    assert {task.node for task in part.plan.tasks} == {"centre"}
    assert sorted(part.receives) == [("moving", "rear"), ("near", "front"), ("scaled", "front")]
    assert part.own_sources == ()
    assert built["front"].part.own_sources == ("radar",)
    assert slice_from_json(slice_to_json(part)) == part
    with pytest.raises(FileError, match="not a node's part of a plan"):
        slice_from_json("{}")


def test_a_module_that_cannot_be_found_is_refused(plan: Plan) -> None:
    def lost(step: object) -> object:
        if isinstance(step, UserDefined):
            return replace(step, implementation="nowhere.at_all:Class")
        return step

    steps = tuple(lost(step) for step in plan.query.steps)
    broken = replace(plan, query=replace(plan.query, steps=steps))  # type: ignore[arg-type]
    with pytest.raises(QueryError, match=r"node centre: module 'nowhere\.at_all' cannot be found"):
        build_executables(broken)


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True)


@pytest.mark.parametrize(
    "vehicle",
    sorted(EXAMPLES.glob("*/vehicle*.yaml")),
    ids=lambda path: f"{path.parent.name}-{path.stem}",
)
def test_no_node_of_the_examples_needs_what_only_the_compiler_needs(
    vehicle: Path, tmp_path: Path
) -> None:
    plan = example_plan(vehicle.parent.name, vehicle.name)
    built = build_executables(plan)
    write_build(plan, built, tmp_path)
    for one in built:
        parts = {name.split(".")[1] for name in one.modules if name.startswith("headway.")}
        assert parts.isdisjoint(NEVER_CARRIED)
        assert NEVER_NEEDED.isdisjoint({*one.requires, *one.optional})
        helped = run("-c", BLOCKED, tmp_path / one.name, "--help")
        assert helped.returncode == 0, helped.stderr
        assert f"Runs node {one.part.node!r}" in helped.stdout


def test_a_node_runs_where_they_cannot_be_imported(tmp_path: Path) -> None:
    hello = EXAMPLES / "hello"
    plan = example_plan("hello")
    (one,) = build_executables(plan)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    write_build(plan, [one], tmp_path, first_port=port)
    options = ("--input", hello / "recording", "--output", tmp_path / "out", "--speed", "1000")
    done = run("-c", BLOCKED, tmp_path / one.name, *options, "--json")
    assert done.returncode in (0, HARD_MISSED), done.stderr
    (output,) = plan.query.outputs
    rows = (tmp_path / "out" / f"{output.name}.jsonl").read_text().splitlines()
    assert len(rows) > 0
    assert json.loads(done.stdout)["node"] == one.part.node


def test_the_executables_explain_themselves(
    tmp_path: Path, plan: Plan, built: dict[str, Executable]
) -> None:
    write_build(plan, list(built.values()), tmp_path)
    deployment = json.loads((tmp_path / "deployment.json").read_text())
    assert deployment["nodes"]["front"]["address"] == "127.0.0.1:47100"
    assert deployment["start_order"][0] == "centre", "who receives starts first"
    helped = run(tmp_path / "centre.pyz", "--help")
    assert helped.returncode == 0
    assert "operators: paired, gathered, counted" in helped.stdout
    missing = run("-S", tmp_path / "front.pyz", "--input", tmp_path)
    assert missing.returncode == 2
    assert "needs the package 'pyarrow' for --input" in missing.stderr
    nothing = run(tmp_path / "front.pyz", "--input", tmp_path / "nothing")
    assert nothing.returncode == 2
    assert "there is no such folder" in nothing.stderr


def test_the_command(tmp_path: Path, plan: Plan) -> None:
    path = tmp_path / "plan.json"
    path.write_text(plan_to_json(plan), encoding="utf-8")
    result = CliRunner().invoke(app, ["build", str(path), "--out", str(tmp_path / "out"), "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["front"]["requires"] == []
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "centre.pyz",
        "deployment.json",
        "front.pyz",
        "nodes.key",
        "rear.pyz",
        "whole_plan.json",
    ]
    unknown = ["build", str(path), "--out", str(tmp_path / "out"), "--policy", "none"]
    assert CliRunner().invoke(app, unknown).exit_code == 2
