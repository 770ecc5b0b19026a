"""Every example loads, fits the JSON Schemas, comes back from YAML unchanged, and has a page."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from headway.compiler.check_vehicle import vehicle_problems
from headway.files import (
    library_json_schema,
    load_query,
    load_vehicle,
    parse_query,
    parse_vehicle,
    query_json_schema,
    query_to_yaml,
    vehicle_json_schema,
    vehicle_to_yaml,
)

EXAMPLES = Path(__file__).parents[2] / "examples"
QUERIES = sorted(EXAMPLES.glob("*/query.yaml"))
VEHICLES = sorted(EXAMPLES.glob("*/vehicle.yaml"))
LIBRARIES = sorted(EXAMPLES.glob("*/components.yaml"))


def folder(path: Path) -> str:
    return path.parent.name


def test_there_are_examples() -> None:
    assert {folder(path) for path in QUERIES} >= {"collision_warning", "hello", "tyre_watch"}


@pytest.mark.parametrize("path", QUERIES, ids=folder)
def test_a_query_survives_the_round_trip(path: Path) -> None:
    query = load_query(path).query
    text = query_to_yaml(query)
    again = parse_query(text).query
    assert again == query
    assert query_to_yaml(again) == text


@pytest.mark.parametrize("path", VEHICLES, ids=folder)
def test_a_vehicle_survives_the_round_trip_and_holds_together(path: Path) -> None:
    vehicle = load_vehicle(path).vehicle
    assert parse_vehicle(vehicle_to_yaml(vehicle)).vehicle == vehicle
    assert vehicle_problems(vehicle) == []


@pytest.mark.parametrize("path", QUERIES, ids=folder)
def test_every_folder_explains_itself(path: Path) -> None:
    assert (path.parent / "README.md").is_file()


@pytest.mark.parametrize("path", [*QUERIES, *VEHICLES, *LIBRARIES], ids=str)
def test_files_fit_their_json_schema(path: Path) -> None:
    schemas = {
        "query.yaml": query_json_schema,
        "vehicle.yaml": vehicle_json_schema,
        "components.yaml": library_json_schema,
    }
    Draft202012Validator(schemas[path.name]()).validate(yaml.safe_load(path.read_text()))


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*/query.py")), ids=folder)
def test_the_python_form_gives_the_same_query(path: Path) -> None:
    built = runpy.run_path(str(path))["query"]
    loaded = load_query(path.with_suffix(".yaml")).query
    assert query_to_yaml(built) == query_to_yaml(loaded)  # first: shows the lines that differ
    assert built == loaded


def test_components_from_a_library_are_found_in_their_file() -> None:
    places = load_query(EXAMPLES / "collision_warning" / "query.yaml").places
    place = places.locate("components.spc_c.operators.map4.columns.ttc", 40)
    line = Path(place.file).read_text().splitlines()[(place.line or 0) - 1]
    assert place.file.endswith("components.yaml")
    assert line[(place.column or 0) - 1 :].startswith("HEN (dx")
    assert places.locate("operators.collision.map4.columns.ttc", 40) == place
