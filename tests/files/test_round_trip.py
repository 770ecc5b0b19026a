"""The model to YAML and back, exactly, for random queries and vehicles."""

from __future__ import annotations

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator
from tests.exploring import examples
from tests.files import strategies

from headway.errors import QueryError
from headway.files import (
    parse_query,
    parse_vehicle,
    query_json_schema,
    query_to_yaml,
    vehicle_json_schema,
    vehicle_to_yaml,
)
from headway.files.forms import format_bit_rate, parse_bit_rate
from headway.model.operators import Input, Union
from headway.model.query import Query
from headway.model.vehicle import Vehicle
from headway.yaml_tree import parse_yaml, plain

slow = examples(100)


@slow
@given(strategies.queries)
def test_queries_come_back_equal(query: Query) -> None:
    text = query_to_yaml(query)
    again = parse_query(text).query
    assert again == query
    assert query_to_yaml(again) == text


@slow
@given(strategies.vehicles)
def test_vehicles_come_back_equal(vehicle: Vehicle) -> None:
    text = vehicle_to_yaml(vehicle)
    again = parse_vehicle(text).vehicle
    assert again == vehicle
    assert vehicle_to_yaml(again) == text


@examples(30)
@given(strategies.queries, strategies.vehicles)
def test_what_is_written_fits_the_json_schemas(query: Query, vehicle: Vehicle) -> None:
    QUERY.validate(plain(parse_yaml(query_to_yaml(query), "q").root))
    VEHICLE.validate(plain(parse_yaml(vehicle_to_yaml(vehicle), "v").root))


QUERY = Draft202012Validator(query_json_schema())
VEHICLE = Draft202012Validator(vehicle_json_schema())


def test_names_that_stand_twice_cannot_be_written() -> None:
    union = Union(name="u", inputs=(Input("input1", "a"),))
    query = Query(name="q", sources=(), steps=(union, union), outputs=())
    with pytest.raises(QueryError) as caught:
        query_to_yaml(query)
    assert str(caught.value) == "operators: the name 'u' stands 2 times; rename all but one"


@pytest.mark.parametrize(
    ("text", "bits"),
    [("1 Mbit/s", 10**6), ("500 kbit/s", 500_000), ("1.5 Gbit/s", 1_500_000_000), ("7 bit/s", 7)],
)
def test_bit_rates(text: str, bits: int) -> None:
    assert parse_bit_rate(text) == bits
    assert parse_bit_rate(format_bit_rate(bits)) == bits
