"""``headway attack``: tables, JSON, the Gantt page, exit codes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.invoke import EXAMPLES, headway

from headway.engine.adversary.search import AttackResult
from headway.engine.adversary.search import attack as search

HELLO = (EXAMPLES / "hello/query.yaml", "--vehicle", EXAMPLES / "hello/vehicle.yaml")


def test_what_was_found_stands_beside_the_bound() -> None:
    outcome = headway("attack", *HELLO, "--tries", "5")
    assert (outcome.code, outcome.err) == (0, "")
    assert "✓ No bound was exceeded in 5 runs." in outcome.out
    (row,) = [line.split() for line in outcome.out.splitlines() if "100 %" in line]
    assert row[:5] == ["alarm", "1.070", "1.070", "100", "%"]
    assert "kmh" in outcome.out


def test_as_json() -> None:
    found = json.loads(headway("attack", *HELLO, "--tries", "3", "--seed", "7", "--json").out)
    assert (found["tries"], found["seed"], found["exceeded"]) == (3, 7, [])
    (output,) = found["outputs"]
    assert output["latest_ns"] == output["bound_ns"] == 1_070_000
    assert output["worst_case"]["schedule"][-1]["what"].endswith("kmh")
    assert output["worst_case"]["arrivals"]


def test_a_page_with_the_schedule(tmp_path: Path) -> None:
    outcome = headway("attack", *HELLO, "--tries", "3", "--out", tmp_path)
    assert outcome.code == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        "attack.html",
        "attack-alarm.svg",
        "attack.json",
    }
    page = (tmp_path / "attack.html").read_text(encoding="utf-8")
    assert "latest tuple" in page
    assert "T1 fast" in page
    assert ">bound<" in (tmp_path / "attack-alarm.svg").read_text(encoding="utf-8")


def test_a_bound_that_is_exceeded_is_1(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_good(*given: object, **options: object) -> AttackResult:
        result = search(*given, **options)  # type: ignore[arg-type]
        promises = {name: replace(one, bound=1) for name, one in result.promises.items()}
        return replace(result, promises=promises)

    monkeypatch.setattr("headway.cli.commands.attack.search", too_good)
    outcome = headway("attack", *HELLO, "--tries", "2")
    assert outcome.code == 1
    assert "✗ A bound was exceeded (alarm)" in outcome.out


def test_bad_input() -> None:
    query = HELLO[0]
    assert "a plan without a vehicle promises nothing" in headway("attack", query).err
    outcome = headway("attack", *HELLO, "--output", "alrm")
    assert outcome.code == 2
    assert "there is no output 'alrm'; one of alarm" in outcome.err
