"""Headway: data stream management for vehicles with end-to-end deadlines.

    import headway as hw

    plan = hw.compile("query.yaml", "vehicle.yaml")
    result = hw.run(plan, "recording/")
    result.outputs["alarm"]

What most programs need stands here; the rest is in the packages below. Importing Headway loads
none of them: each name is fetched when it is first used, so that ``import headway`` costs nothing
and a program pays for what it does. Editors and type checkers see the imports below as they stand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.lazily import fetching

if TYPE_CHECKING:
    from headway import testing
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
    from headway.front_door.advice.advising import Advice, advise
    from headway.front_door.compiling import CompiledQuery, compile
    from headway.front_door.query_result import QueryResult
    from headway.front_door.running import run
    from headway.model.query import Component, Query
    from headway.model.schema import Schema, schema
    from headway.model.vehicle import Vehicle

_HOMES = {
    "headway": ("testing",),
    "headway.errors": ("HeadwayError", "InputError", "Place", "Problem"),
    "headway.files": (
        "LoadedQuery",
        "LoadedVehicle",
        "load_query",
        "load_vehicle",
        "parse_query",
        "parse_vehicle",
        "query_to_yaml",
        "vehicle_to_yaml",
    ),
    "headway.fluent": (
        "ComponentBuilder",
        "QueryBuilder",
        "Stream",
        "VehicleBuilder",
        "call",
        "component",
        "cost",
        "shed",
    ),
    "headway.front_door.advice.advising": ("Advice", "advise"),
    "headway.front_door.compiling": ("CompiledQuery", "compile"),
    "headway.front_door.query_result": ("QueryResult",),
    "headway.front_door.running": ("run",),
    "headway.model.query": ("Component", "Query"),
    "headway.model.schema": ("Schema", "schema"),
    "headway.model.vehicle": ("Vehicle",),
}
__all__ = [
    "Advice",
    "CompiledQuery",
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
    "QueryResult",
    "Schema",
    "Stream",
    "Vehicle",
    "VehicleBuilder",
    "advise",
    "call",
    "compile",
    "component",
    "cost",
    "load_query",
    "load_vehicle",
    "parse_query",
    "parse_vehicle",
    "query_to_yaml",
    "run",
    "schema",
    "shed",
    "testing",
    "vehicle_to_yaml",
]


if not TYPE_CHECKING:  # a type checker would take every name for known
    __getattr__ = fetching(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
