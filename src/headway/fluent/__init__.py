"""Queries and vehicles in Python: the same values as from YAML, with an editor's help.

import headway as hw

q = hw.QueryBuilder("brakes")
speed = q.source("speed", hw.schema(v="double [m/s]"), rate="1 per 10 ms", delay="1 ms")
hard = speed.filter("hard", "v > 30", cost="50 us").map("kmh", {"v": "v * 3.6"}, cost="20 us")
q.output("alarm", hard, deadline="30 ms", criticality="hard")
query = q.build()
"""

from __future__ import annotations

from headway.fluent.accepted_values import call, cost, shed
from headway.fluent.query_builder import ComponentBuilder, Outputs, QueryBuilder, Stream, component
from headway.fluent.vehicle_builder import VehicleBuilder

__all__ = [
    "ComponentBuilder",
    "Outputs",
    "QueryBuilder",
    "Stream",
    "VehicleBuilder",
    "call",
    "component",
    "cost",
    "shed",
]
