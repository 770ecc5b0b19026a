"""Headway: data stream management for vehicles with end-to-end deadlines.

What most programs need stands here; the rest is in the packages below.
"""

from __future__ import annotations

from headway.errors import HeadwayError, InputError, Place, Problem
from headway.files import (
    LoadedQuery,
    LoadedVehicle,
    load_query,
    load_vehicle,
    parse_query,
    parse_vehicle,
    query_to_yaml,
    vehicle_to_yaml,
)
from headway.fluent import (
    ComponentBuilder,
    QueryBuilder,
    Stream,
    VehicleBuilder,
    call,
    component,
    cost,
    shed,
)
from headway.model.query import Component, Query
from headway.model.schema import Schema, schema
from headway.model.vehicle import Vehicle

__all__ = [
    "Component",
    "ComponentBuilder",
    "HeadwayError",
    "InputError",
    "LoadedQuery",
    "LoadedVehicle",
    "Place",
    "Problem",
    "Query",
    "QueryBuilder",
    "Schema",
    "Stream",
    "Vehicle",
    "VehicleBuilder",
    "call",
    "component",
    "cost",
    "load_query",
    "load_vehicle",
    "parse_query",
    "parse_vehicle",
    "query_to_yaml",
    "schema",
    "shed",
    "vehicle_to_yaml",
]
