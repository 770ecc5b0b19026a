"""Plans as JSON and back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headway.compiler.passes import compile_query
from headway.errors import FileError
from headway.files import load_query, load_vehicle
from headway.model.codec import plan_from_json, plan_to_json
from headway.model.plan import Plan

EXAMPLES = Path(__file__).parents[2] / "examples"


def plans() -> list[Plan]:
    found = []
    for path in sorted(EXAMPLES.glob("*/query.yaml")):
        query = load_query(path).query
        found.append(compile_query(query))
        vehicles = sorted(path.parent.glob("vehicle*.yaml"))
        found += [compile_query(query, load_vehicle(vehicle).vehicle) for vehicle in vehicles]
    return found


def test_every_examples_plan_survives_the_round_trip() -> None:
    for plan in plans():
        text = plan_to_json(plan)
        assert plan_from_json(text) == plan
        assert plan_to_json(plan_from_json(text)) == text


def test_another_version_is_refused() -> None:
    plan = json.loads(plan_to_json(plans()[0]))
    plan["version"] = 99
    with pytest.raises(FileError, match=r"plan of another version; got version 99; compile"):
        plan_from_json(json.dumps(plan))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 1}', "nonsense", '{"query": 5}'])
def test_what_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(FileError, match=r"^old\.json.*compile the query again"):
        plan_from_json(text, "old.json")


def test_a_plan_with_a_broken_part_names_it() -> None:
    plan = json.loads(plan_to_json(plans()[0]))
    plan["tasks"][0]["cost"] = "much"
    with pytest.raises(FileError, match=r"tasks\.0\.cost"):
        plan_from_json(json.dumps(plan))
