"""Query and vehicle files: YAML to the model and back, JSON Schemas for editors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.lazily import fetching

if TYPE_CHECKING:
    from headway.files.json_schema import (
        faults_json_schema,
        graph_json_schema,
        library_json_schema,
        network_json_schema,
        query_json_schema,
        taskset_json_schema,
        vehicle_json_schema,
    )
    from headway.files.load_queries import (
        LoadedQuery,
        LoadedVehicle,
        load_query,
        load_vehicle,
        parse_query,
        parse_vehicle,
        placed,
    )
    from headway.files.source_map import SourceMap
    from headway.files.write_yaml import query_to_yaml, vehicle_to_yaml

__all__ = [
    "LoadedQuery",
    "LoadedVehicle",
    "SourceMap",
    "faults_json_schema",
    "graph_json_schema",
    "library_json_schema",
    "load_query",
    "load_vehicle",
    "network_json_schema",
    "parse_query",
    "parse_vehicle",
    "placed",
    "query_json_schema",
    "query_to_yaml",
    "taskset_json_schema",
    "vehicle_json_schema",
    "vehicle_to_yaml",
]

# Reading a query needs none of what task graphs and JSON Schemas need.
if not TYPE_CHECKING:  # a type checker would take every name for known
    __getattr__ = fetching(
        __name__,
        {
            "headway.files.json_schema": (
                name for name in __all__ if name.endswith("_json_schema")
            ),
            "headway.files.load_queries": (
                "LoadedQuery",
                "LoadedVehicle",
                "load_query",
                "load_vehicle",
                "parse_query",
                "parse_vehicle",
                "placed",
            ),
            "headway.files.source_map": ("SourceMap",),
            "headway.files.write_yaml": ("query_to_yaml", "vehicle_to_yaml"),
        },
    )
