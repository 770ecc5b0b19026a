"""``headway compile``: tables, files, JSON, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.invoke import EXAMPLES, STUDY, headway

from headway.model.codec import plan_from_json

HELLO = (EXAMPLES / "hello" / "query.yaml", "--vehicle", EXAMPLES / "hello" / "vehicle.yaml")
QUERY, PAPER = STUDY / "query.yaml", STUDY / "vehicle.yaml"
MODERN = STUDY / "vehicle_modern.yaml"


def test_a_promised_deadline_is_0() -> None:
    outcome = headway("compile", *HELLO)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("hello on one_node\n")
    assert (
        "✓ The deadline holds for every run within the declared rates, delays and costs.\n"
        in outcome.out
    )


def test_the_study_is_explained() -> None:
    outcome = headway("compile", QUERY, "--vehicle", MODERN)
    assert (outcome.code, outcome.err) == (0, "")
    for part in (
        "Placement",
        "around.join1 → around.map2 → union1",
        "min(d4 - c4, d5 - c5) - bus1 - gw - bus2",
        "bus1 → gw → bus2",
        "Loads",
        "Where the time of output2 goes",
        "sdfo2 waits for its other inputs",
        "✓ All 3 deadlines hold",
    ):
        assert part in outcome.out


def test_a_deadline_that_cannot_be_promised_is_1() -> None:
    outcome = headway("compile", QUERY, "--vehicle", PAPER)
    assert (outcome.code, outcome.err) == (1, "")
    assert "✗ 2 of 3 deadlines cannot be promised." in outcome.out
    assert "node3 2 times as fast; or at most 20 tuples/s from v2v" in outcome.out


def test_without_a_vehicle_there_is_no_verdict() -> None:
    outcome = headway("compile", QUERY)
    assert (outcome.code, outcome.err) == (0, "")
    assert "Compiled without a vehicle" in outcome.out


def test_json_is_the_plan_and_nothing_else() -> None:
    outcome = headway("compile", QUERY, "--vehicle", PAPER, "--json")
    assert (outcome.code, outcome.err) == (1, "")
    plan = plan_from_json(outcome.out)
    assert [task.name for task in plan.tasks] == [f"T{n}" for n in range(1, 9)]


def test_out_writes_the_plan_a_page_and_a_picture(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "plan"
    outcome = headway("compile", *HELLO, "--out", folder)
    assert outcome.code == 0
    assert f"wrote {folder / 'plan.json'}" in outcome.out
    assert sorted(path.name for path in folder.iterdir()) == ["plan.html", "plan.json", "plan.svg"]
    assert (folder / "plan.json").read_text() == headway("compile", *HELLO, "--json").out
    assert (folder / "plan.html").read_text().startswith("<!DOCTYPE html>")
    assert (folder / "plan.svg").read_text().startswith("<svg ")


def test_out_and_json_together_print_json_only(tmp_path: Path) -> None:
    outcome = headway("compile", *HELLO, "--out", tmp_path, "--json")
    assert json.loads(outcome.out)["query"]["name"] == "hello"
    assert (tmp_path / "plan.svg").is_file()


def test_out_that_cannot_be_written_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    outcome = headway("compile", *HELLO, "--out", tmp_path / "file")
    assert outcome.code == 2
    assert outcome.err.startswith(f"{tmp_path / 'file'}: cannot write here: ")


def test_a_pin_of_no_operator_is_noted(tmp_path: Path) -> None:
    vehicle = tmp_path / "vehicle.yaml"
    vehicle.write_text(PAPER.read_text().replace("union1: node2", "union1: node2\n  mapp3: node3"))
    outcome = headway("compile", QUERY, "--vehicle", vehicle)
    assert outcome.code == 1
    assert outcome.err == (
        f"note: {vehicle}:31:10: pins.mapp3: this query has no such operator; "
        "did you mean 'map3'?\n"
    )


def test_the_same_input_gives_the_same_bytes() -> None:
    arguments = ("compile", QUERY, "--vehicle", PAPER, "--json")
    assert headway(*arguments).out == headway(*arguments).out


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*/query.yaml")), ids=str)
def test_every_example_compiles(example: Path) -> None:
    for vehicle in example.parent.glob("vehicle*.yaml"):
        assert headway("compile", example, "--vehicle", vehicle).code in (0, 1)
