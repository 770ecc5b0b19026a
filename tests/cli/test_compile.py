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
    said = outcome.out[outcome.out.index("✗ 2 of 3") :]
    assert "output2 is to come within 300 ms, and may take 3" in said
    assert "What would help; each was tried by compiling it:\n\n1. " in said
    sentences = [line for line in said.split("\n") if not line.startswith("   ")]
    assert max(map(len, sentences)) <= 80
    assert f"   headway compile {QUERY} --vehicle {PAPER} --fix 1:" in said


def test_advice_can_be_switched_off() -> None:
    outcome = headway("compile", QUERY, "--vehicle", PAPER, "--no-advice")
    assert (outcome.code, outcome.err) == (1, "")
    assert "output2 is to come within 300 ms, and may take 3" in outcome.out
    assert "What would help" not in outcome.out


BURST = """# a sensor
query: burst
sources: {s: {schema: {v: int}, rate: 1000 per 1 s}}   # in all
operators: {a: {filter: v > 0, from: s, cost: 900 us}}
outputs: {o: {from: a, deadline: 25 ms}}
"""


@pytest.fixture
def burst(tmp_path: Path) -> tuple[Path, Path]:
    folder = tmp_path / ("a_long_way_down_" * 10)  # commands to copy are not folded
    folder.mkdir()
    query, vehicle = folder / "query.yaml", folder / "vehicle.yaml"
    query.write_text(BURST)
    vehicle.write_text("vehicle: v\nnodes: {ecu: {}}\n")
    return query, vehicle


def test_a_fix_is_written_and_the_promise_holds(burst: tuple[Path, Path]) -> None:
    query, vehicle = burst
    before = headway("compile", query, "--vehicle", vehicle)
    assert before.code == 1
    assert (
        "1. Say that s comes evenly, 1 per 1 ms, if it does. o: 900 ms → 900 us of 25 ms.\n"
        f"   {query}:3\n"
        "   - sources: {s: {schema: {v: int}, rate: 1000 per 1 s}}   # in all\n"
        "   + sources: {s: {schema: {v: int}, rate: 1 per 1 ms}}   # in all\n"
    ) in before.out
    mark = before.out.rsplit("--fix 1:", 1)[1].strip()
    outcome = headway("compile", query, "--vehicle", vehicle, "--fix", f"1:{mark}")
    assert (outcome.code, outcome.err) == (0, "")
    assert f"wrote {query}\n" in outcome.out
    assert "✓ The deadline holds" in outcome.out
    assert query.read_text() == BURST.replace("1000 per 1 s", "1 per 1 ms")
    nothing = headway("compile", query, "--vehicle", vehicle, "--fix", "1")
    assert (nothing.code, nothing.out) == (2, "")
    assert nothing.err.startswith("there is nothing to fix")


def test_a_fix_for_other_files_is_refused(burst: tuple[Path, Path]) -> None:
    query, vehicle = burst
    for number, said in {
        "1:000000": "the files are not those that this advice was given for",
        "9": "there is no such fix; got fix 9; known: 1 to ",
        "first": "--fix names no change",
    }.items():
        outcome = headway("compile", query, "--vehicle", vehicle, "--fix", number)
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err.startswith(said)
        assert query.read_text() == BURST


def test_json_has_the_fixes(burst: tuple[Path, Path]) -> None:
    query, vehicle = burst
    outcome = headway("compile", query, "--vehicle", vehicle, "--json")
    fixes = json.loads(outcome.out)["verdict"]["fixes"]
    assert fixes[0]["bounds"] == [
        {
            "output": "o",
            "asked": "deadline",
            "before": 900_000_000,
            "after": 900_000,
            "limit": 25_000_000,
        }
    ]
    assert [line["line"] for line in fixes[0]["lines"]] == [3, 3]


def test_without_a_vehicle_there_is_no_verdict() -> None:
    outcome = headway("compile", QUERY)
    assert (outcome.code, outcome.err) == (0, "")
    assert "Compiled without a vehicle" in outcome.out


def test_json_is_the_plan_and_nothing_else() -> None:
    outcome = headway("compile", QUERY, "--vehicle", PAPER, "--json", "--no-advice")
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
    outcome = headway("compile", QUERY, "--vehicle", vehicle, "--no-advice")
    assert outcome.code == 1
    assert outcome.err == (
        f"note: {vehicle}:31:10: pins.mapp3: this query has no such operator; "
        "did you mean 'map3'?\n"
    )


def test_the_same_input_gives_the_same_bytes() -> None:
    arguments = ("compile", QUERY, "--vehicle", MODERN, "--json")
    assert headway(*arguments).out == headway(*arguments).out


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*/query.yaml")), ids=str)
def test_every_example_compiles(example: Path) -> None:
    for vehicle in example.parent.glob("vehicle*.yaml"):
        done = headway("compile", example, "--vehicle", vehicle, "--no-advice")
        assert done.code in (0, 1)
