"""``headway check`` and ``headway schema``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from tests.cli.invoke import EXAMPLES, STUDY, headway


def test_a_query_that_holds_together() -> None:
    outcome = headway("check", STUDY / "query.yaml")
    assert (outcome.code, outcome.err) == (0, "")
    assert "✓ collision_warning holds together: 4 sources, 12 operators, 3 outputs." in outcome.out
    assert "collision.map4" in outcome.out
    assert "ttc double" in outcome.out


def test_schemas_as_json() -> None:
    outcome = headway("check", EXAMPLES / "hello" / "query.yaml", "--json")
    assert json.loads(outcome.out) == {
        "ok": True,
        "query": "hello",
        "streams": {
            name: {"timestamp": "timestamp", "v": "double [m/s]"}
            for name in ("speed", "fast", "kmh")
        },
    }


def test_problems_as_json(tmp_path: Path) -> None:
    query = tmp_path / "query.yaml"
    query.write_text((EXAMPLES / "hello" / "query.yaml").read_text().replace("v > 30", "w > 30"))
    outcome = headway("check", query, "--json")
    assert outcome.code == 2
    (problem,) = json.loads(outcome.out)["problems"]
    assert problem == {
        "file": str(query),
        "line": 6,
        "column": 18,
        "at": "operators.fast.filter",
        "what": "unknown column 'w'",
        "got": "",
        "want": "there are timestamp, v",
    }
    assert len(outcome.problems) == 1


@pytest.mark.parametrize("kind", ["query", "vehicle", "library", "graph", "network", "taskset"])
def test_json_schemas(kind: str) -> None:
    outcome = headway("schema", kind)
    assert outcome.code == 0
    Draft202012Validator.check_schema(json.loads(outcome.out))


def test_an_unknown_kind_of_file_is_bad_usage() -> None:
    outcome = headway("schema", "bus")
    assert (outcome.code, outcome.out) == (2, "")
    assert "'bus'" in outcome.err


def test_errors_of_every_command_are_json_where_json_is_asked_for(tmp_path: Path) -> None:
    query = tmp_path / "query.yaml"
    query.write_text((EXAMPLES / "hello" / "query.yaml").read_text().replace("v > 30", "w > 30"))
    vehicle = EXAMPLES / "hello" / "vehicle.yaml"
    outcome = headway("compile", query, "--vehicle", vehicle, "--json")
    assert outcome.code == 2
    (problem,) = json.loads(outcome.out)["problems"]
    assert (problem["line"], problem["at"]) == (6, "operators.fast.filter")
    assert "unknown column 'w'" in outcome.err
