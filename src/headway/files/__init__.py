"""Query and vehicle files: YAML to the model and back, JSON Schemas for editors."""

from __future__ import annotations

from headway.files.json_schema import (
    graph_json_schema,
    library_json_schema,
    network_json_schema,
    query_json_schema,
    vehicle_json_schema,
)
from headway.files.load_queries import (
    LoadedQuery,
    LoadedVehicle,
    load_query,
    load_vehicle,
    parse_query,
    parse_vehicle,
)
from headway.files.source_map import SourceMap
from headway.files.write_yaml import query_to_yaml, vehicle_to_yaml

__all__ = [
    "LoadedQuery",
    "LoadedVehicle",
    "SourceMap",
    "graph_json_schema",
    "library_json_schema",
    "load_query",
    "load_vehicle",
    "network_json_schema",
    "parse_query",
    "parse_vehicle",
    "query_json_schema",
    "query_to_yaml",
    "vehicle_json_schema",
    "vehicle_to_yaml",
]
