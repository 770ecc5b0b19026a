"""The JSON Schemas are valid, teach, and refuse what the loader refuses."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from headway.errors import FileError
from headway.files import (
    faults_json_schema,
    library_json_schema,
    parse_query,
    query_json_schema,
    taskset_json_schema,
    vehicle_json_schema,
)

SCHEMAS = [
    query_json_schema(),
    library_json_schema(),
    vehicle_json_schema(),
    taskset_json_schema(),
    faults_json_schema(),
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: str(schema["title"]))
def test_every_field_is_described(schema: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(schema)
    forms = {"": schema, **schema["$defs"]}
    bare = [
        f"{name}.{key}"
        for name, form in forms.items()
        for key, field in form.get("properties", {}).items()
        if not field.get("description")
    ]
    assert bare == []
    assert [name for name, form in forms.items() if not form.get("description")] == []


SOUND: dict[str, Any] = {
    "query": "q",
    "sources": {"a": {"schema": {"v": "double"}}},
    "operators": {"f": {"filter": "v > 1", "from": "a"}},
    "outputs": {"o": {"from": "f", "deadline": "1 s"}},
}


@pytest.mark.parametrize(
    "change",
    [
        {"query": 1},
        {"query": None},
        {"extra": 1},
        {"operators": {"f": {"filter": "v > 1"}}},
        {"operators": {"f": {"from": "a"}}},
        {"operators": {"f": {"filter": "v", "map": {}, "from": "a"}}},
        {"operators": {"f g": {"filter": "v", "from": "a"}}},
        {"operators": {"f": {"filter": "v", "from": "a", "cost": 5}}},
        {"operators": {"f": {"filter": "v", "from": "a", "cost": None}}},
        {"operators": {"f": {"filter": "v", "from": "a", "cost": "5 parsecs"}}},
        {"sources": {"a": {"schema": {"v": "double"}, "rate": "often"}}},
        {"outputs": {"o": {"from": "f"}}},
        {"outputs": {"o": {"from": "f", "deadline": "1 s", "criticality": "firm"}}},
    ],
)
def test_schema_and_loader_agree(change: dict[str, Any]) -> None:
    validator = Draft202012Validator(query_json_schema())
    assert validator.is_valid(SOUND)
    parse_query(yaml.safe_dump(SOUND))
    assert not validator.is_valid(SOUND | change)
    with pytest.raises(FileError):
        parse_query(yaml.safe_dump(SOUND | change))
